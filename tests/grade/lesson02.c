/* lesson02: the table of the checks of lesson 2. See grade.h. */
#include "tests/grade/lesson02.h"

const struct check lesson02_checks[] = {
    {"02.1", "tile", KIND_CORRECT, 7, "chunks tile the vector, and are counted around", chunk_tile,
     0},
    {"02.1", "parts", KIND_CORRECT, 5, "parts of a slice tile it and end where it ends",
     chunk_parts, 0},

    {"02.2", "put", KIND_CORRECT, 5, "a hello is laid out byte for byte as wire.h says", hello_put,
     0},
    {"02.2", "get", KIND_CORRECT, 4, "a hello is read as it was laid out", hello_get, 0},
    {"02.2", "refuses", KIND_ROBUST, 3, "what is no hello of ours is refused", hello_refuses, 0},
    {"02.2", "stranger", KIND_ROBUST, 2, "strangers at the door keep no job from starting",
     hello_stranger, 0},

    {"02.3", "whole", KIND_CORRECT, 6, "every byte goes out once, however little a socket takes",
     link_whole, 15},
    {"02.3", "queued", KIND_COUNTED, 4,
     "what the socket did not take is queued, and no more; all else is gone in one write",
     link_queued, 15},
    {"02.3", "broken", KIND_ROBUST, 2, "a peer that is gone is an error of the parcel", link_broken,
     15},
    {"02.3", "shim", KIND_ROBUST, 4, "the same where nearly every system call does less than asked",
     link_shim, 30},

    {"02.4", "sums", KIND_CORRECT, 6, "chunk r ends at rank r, summed in the ring's order",
     scatter_sums, 0},
    {"02.4", "types", KIND_CORRECT, 3, "other types and reductions", scatter_types, 0},
    {"02.4", "counted", KIND_COUNTED, 5,
     "every rank sends every chunk but its own, once, to the right, and of no element nothing",
     scatter_counted, 0},
    {"02.4", "sizes", KIND_ROBUST, 4,
     "no element, fewer than ranks, many, a million; one rank, two, five", scatter_sizes, 0},

    {"02.5", "moves", KIND_CORRECT, 5, "every rank has every chunk, whole", gather_moves, 0},
    {"02.5", "types", KIND_CORRECT, 2, "other types, bit for bit", gather_types, 0},
    {"02.5", "counted", KIND_COUNTED, 5,
     "every rank sends every chunk but its right neighbour's, once, to the right, and of no "
     "element nothing",
     gather_counted, 0},
    {"02.5", "sizes", KIND_ROBUST, 4, "no element, fewer than ranks, many; one rank, two, five",
     gather_sizes, 0},

    {"02.6", "sums", KIND_CORRECT, 5,
     "the sum in the ring's order on every rank, in place and not, of any type", ring_sums, 0},
    {"02.6", "counted", KIND_COUNTED, 5,
     "2 (R - 1) messages and no more bytes than a ring's, and of no element nothing", ring_counted,
     0},
    {"02.6", "sizes", KIND_ROBUST, 3, "no element, fewer than ranks, many; one rank, two, five",
     ring_sizes, 0},
    {"02.6", "step", KIND_CORRECT, 5,
     "the gradients of training are lesson 1's, summed once by any algorithm", ring_step, 0},
    {"02.6", "killed", KIND_ROBUST, 3,
     "a killed rank is an error on all others, that names the call", ring_killed, 0},
    {"02.6", "speed", KIND_SPEED, 3, "on slow links faster than all to rank 0 and back", ring_speed,
     0},
    {0},
};
