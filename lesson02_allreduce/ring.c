/*
 * ring: collectives as rounds of "send to the right, hear from the left". See the header.
 *
 * Reduce-scatter over 3 ranks, each vector cut into chunks 0 1 2. In every round a rank sends one
 * chunk on and adds its own part to the one it hears; a chunk is whole when it comes home:
 *
 *                      rank 0         rank 1         rank 2
 *     round 0   sends  2              0              1
 *               has    1: g2+g0       2: g0+g1       0: g1+g2
 *     round 1   sends  1              2              0
 *               owns   0: g1+g2+g0    1: g2+g0+g1    2: g0+g1+g2
 *
 * All-gather walks the same way with whole chunks: in round s a rank sends on the chunk it got in
 * round s - 1, its own at first. All-reduce is the one after the other.
 */
#include "lesson02_allreduce/ring.h"

#include "common/slice.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* Broadcast moves this much at a time, so that all links of the chain are busy at once. */
enum { SEGMENT_BYTES = 128 * 1024 };

/* A vector cut into chunks, as this rank sees it. */
struct ring {
    struct comm *comm;
    uint8_t *data;
    size_t count, size_bytes; // elements, and of one element
    int rank, world;
};

static struct ring ring_over(struct comm *comm, void *data, size_t count, enum comm_type type)
{
    return (struct ring){.comm = comm,
                         .data = data,
                         .count = count,
                         .size_bytes = comm_type_bytes(type),
                         .rank = comm_rank(comm),
                         .world = comm_world(comm)};
}

/* Chunk `number`, counted around the ring: -1 is the last one. */
static struct slice chunk_of(const struct ring *ring, int number)
{
    int index = (number % ring->world + ring->world) % ring->world;
    return slice_of(ring->count, (size_t)ring->world, (size_t)index);
}

/* One round: chunk `give` goes to the right, chunk `take` comes from the left. */
static int pass(const struct ring *ring, int give, int take, enum comm_receive how)
{
    struct slice sent = chunk_of(ring, give), received = chunk_of(ring, take);
    struct comm_step step = {.send = ring->data + sent.begin * ring->size_bytes,
                             .send_count = sent.count,
                             .receive = ring->data + received.begin * ring->size_bytes,
                             .receive_count = received.count,
                             .how = how};
    return comm_exchange(ring->comm, &step);
}

/* Chunk c sets out at rank c + 1 and is at home, at rank c, after world - 1 rounds. */
static int reduce_scatter_rounds(const struct ring *ring)
{
    int error = 0;
    for (int round = 0; round < ring->world - 1 && !error; round++)
        error = pass(ring, ring->rank - 1 - round, ring->rank - 2 - round, COMM_ADD);
    return error;
}

/* Chunk c sets out at rank c and has been everywhere after world - 1 rounds. */
static int all_gather_rounds(const struct ring *ring)
{
    int error = 0;
    for (int round = 0; round < ring->world - 1 && !error; round++)
        error = pass(ring, ring->rank - round, ring->rank - 1 - round, COMM_STORE);
    return error;
}

static int begin(struct comm *comm, enum comm_operation operation, size_t count,
                 enum comm_type type)
{
    struct comm_call call = {.operation = operation, .type = type, .count = count};
    return comm_begin(comm, &call);
}

int ring_reduce_scatter(struct comm *comm, void *data, size_t count, enum comm_type type)
{
    struct ring ring = ring_over(comm, data, count, type);
    int error = begin(comm, COMM_REDUCE_SCATTER, count, type);
    if (!error && count > 0)
        error = reduce_scatter_rounds(&ring);
    return error ? error : comm_end(comm);
}

int ring_all_gather(struct comm *comm, void *data, size_t count, enum comm_type type)
{
    struct ring ring = ring_over(comm, data, count, type);
    int error = begin(comm, COMM_ALL_GATHER, count, type);
    if (!error && count > 0)
        error = all_gather_rounds(&ring);
    return error ? error : comm_end(comm);
}

static bool overlap_in_part(const void *in, const void *out, size_t size_bytes)
{
    uintptr_t a = (uintptr_t)in, b = (uintptr_t)out;
    return a != b && a < b + size_bytes && b < a + size_bytes;
}

int ring_allreduce(struct comm *comm, const void *in, void *out, size_t count, enum comm_type type)
{
    struct ring ring = ring_over(comm, out, count, type);
    if (overlap_in_part(in, out, count * ring.size_bytes))
        return -EINVAL;
    int error = begin(comm, COMM_ALLREDUCE, count, type);
    if (!error && count > 0) {
        if (in != out)
            memcpy(out, in, count * ring.size_bytes);
        error = reduce_scatter_rounds(&ring);
        if (!error)
            error = all_gather_rounds(&ring);
    }
    return error ? error : comm_end(comm);
}

/* Round k of a chain that begins at the root: segment k comes in while segment k - 1 goes out. The
 * root has all of them already; the last rank has nobody to pass them to. */
static int broadcast_rounds(const struct ring *ring, int root)
{
    int place = (ring->rank - root + ring->world) % ring->world;
    size_t segment = SEGMENT_BYTES / ring->size_bytes;
    size_t segments = (ring->count + segment - 1) / segment;
    int error = 0;
    for (size_t round = 0; round <= segments && !error; round++) {
        struct comm_step step = {.how = COMM_STORE};
        if (place > 0 && round < segments) {
            struct slice in = slice_of(ring->count, segments, round);
            step.receive = ring->data + in.begin * ring->size_bytes;
            step.receive_count = in.count;
        }
        if (place < ring->world - 1 && round > 0) {
            struct slice out = slice_of(ring->count, segments, round - 1);
            step.send = ring->data + out.begin * ring->size_bytes;
            step.send_count = out.count;
        }
        error = comm_exchange(ring->comm, &step);
    }
    return error;
}

int ring_broadcast(struct comm *comm, void *data, size_t count, enum comm_type type, int root)
{
    struct ring ring = ring_over(comm, data, count, type);
    if (root < 0 || root >= ring.world)
        return -EINVAL;
    int error = begin(comm, COMM_BROADCAST, count, type);
    if (!error && count > 0)
        error = broadcast_rounds(&ring, root);
    return error ? error : comm_end(comm);
}

/* After k rounds a rank knows of k others that they have come: each frame vouches for the ones
 * before it. */
int ring_barrier(struct comm *comm)
{
    uint8_t nothing = 0;
    struct comm_step step = {.send = &nothing, .receive = &nothing};
    int error = begin(comm, COMM_BARRIER, 0, COMM_U64);
    for (int round = 0; round < comm_world(comm) - 1 && !error; round++)
        error = comm_exchange(comm, &step);
    return error ? error : comm_end(comm);
}
