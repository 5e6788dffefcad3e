/* lesson02: the table of the checks of lesson 2. See grade.h. */
#include "tests/grade/check_ring.h"

const struct check lesson02_checks[] = {
    {"02.4", "sums", KIND_CORRECT, 10, "chunk r ends at rank r, summed in the ring's order",
     scatter_sums, 0},
    {"02.4", "counted", KIND_COUNTED, 10, "every rank sends every chunk but its own, once",
     scatter_counted, 0},
    {0},
};
