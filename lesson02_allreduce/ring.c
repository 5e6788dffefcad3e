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
#include "lesson02_allreduce/collective.h"

#include <errno.h>

/* Broadcast moves this much at a time, so that all links of the chain are busy at once. */
enum { SEGMENT_BYTES = 128 * 1024 };

/* One round: chunk `give` goes to the right, chunk `take` comes from the left. */
static int pass(const struct collective *ring, int give, int take, enum comm_receive how)
{
    // task 02.4 {
    struct slice sent = collective_chunk(ring, give), received = collective_chunk(ring, take);
    struct comm_step step = {.to = (ring->rank + 1) % ring->world,
                             .from = (ring->rank + ring->world - 1) % ring->world,
                             .send = collective_at(ring, sent.begin),
                             .send_count = sent.count,
                             .receive = collective_at(ring, received.begin),
                             .receive_count = received.count,
                             .how = how};
    return comm_exchange(ring->comm, &step);
    // } 02.4
}

/* Chunk c sets out at rank c + 1 and is at home, at rank c, after world - 1 rounds. */
static int reduce_scatter_rounds(const struct collective *ring)
{
    // task 02.4 {
    int error = 0;
    for (int round = 0; round < ring->world - 1 && ring->count > 0 && !error; round++)
        error = pass(ring, ring->rank - 1 - round, ring->rank - 2 - round, COMM_REDUCE);
    return error;
    // } 02.4
}

/* Chunk c sets out at rank c and has been everywhere after world - 1 rounds. */
static int all_gather_rounds(const struct collective *ring)
{
    // task 02.5 {
    int error = 0;
    for (int round = 0; round < ring->world - 1 && ring->count > 0 && !error; round++)
        error = pass(ring, ring->rank - round, ring->rank - 1 - round, COMM_STORE);
    return error;
    // } 02.5
}

int ring_allreduce(struct comm *comm, const void *in, void *out, size_t count, enum comm_type type,
                   enum comm_reduction reduction)
{
    // task 02.6 {
    struct comm_call call = {COMM_ALLREDUCE, ALGORITHM_RING, type, reduction, count};
    struct collective ring;
    int error = collective_begin_allreduce(&ring, comm, &call, in, out);
    if (!error)
        error = reduce_scatter_rounds(&ring);
    if (!error)
        error = all_gather_rounds(&ring);
    return collective_end(&ring, error);
    // } 02.6
}

int ring_reduce_scatter(struct comm *comm, void *data, size_t count, enum comm_type type,
                        enum comm_reduction reduction)
{
    struct comm_call call = {COMM_REDUCE_SCATTER, ALGORITHM_RING, type, reduction, count};
    struct collective ring;
    int error = collective_begin(&ring, comm, &call, data);
    if (!error)
        error = reduce_scatter_rounds(&ring);
    return collective_end(&ring, error);
}

int ring_all_gather(struct comm *comm, void *data, size_t count, enum comm_type type)
{
    struct comm_call call = {COMM_ALL_GATHER, ALGORITHM_RING, type, COMM_SUM, count};
    struct collective ring;
    int error = collective_begin(&ring, comm, &call, data);
    if (!error)
        error = all_gather_rounds(&ring);
    return collective_end(&ring, error);
}

/* Round k of a chain that begins at the root: segment k comes in while segment k - 1 goes out. The
 * root has all of them already; the last rank has nobody to pass them to. */
static int broadcast_rounds(const struct collective *ring, int root)
{
    int world = ring->world, place = (ring->rank - root + world) % world;
    size_t segment = SEGMENT_BYTES / ring->size_bytes;
    size_t segments = (ring->count + segment - 1) / segment;
    int error = 0;
    for (size_t round = 0; round <= segments && !error; round++) {
        struct slice in = slice_of(ring->count, segments, round % segments);
        struct slice out = slice_of(ring->count, segments, (round + segments - 1) % segments);
        if (place > 0 && round < segments)
            comm_receive(ring->comm, (ring->rank + world - 1) % world,
                         collective_at(ring, in.begin), in.count, COMM_STORE);
        if (place < world - 1 && round > 0)
            comm_send(ring->comm, (ring->rank + 1) % world, collective_at(ring, out.begin),
                      out.count);
        error = comm_wait(ring->comm);
    }
    return error;
}

int ring_broadcast(struct comm *comm, void *data, size_t count, enum comm_type type, int root)
{
    struct comm_call call = {COMM_BROADCAST, ALGORITHM_RING, type, COMM_SUM, count};
    struct collective ring;
    if (root < 0 || root >= comm_world(comm))
        return -EINVAL;
    int error = collective_begin(&ring, comm, &call, data);
    if (!error && count > 0)
        error = broadcast_rounds(&ring, root);
    return collective_end(&ring, error);
}
