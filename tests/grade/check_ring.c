/* check_ring: are the ring's halves right, and are they a ring? See the header. */
#include "tests/grade/check_ring.h"
#include "lesson02_allreduce/ring.h"
#include "lesson02_allreduce/wire.h"
#include "tests/grade/oracle.h"

#include <stdlib.h>

/* What all ranks of a check are given. */
struct ring_case {
    const struct grade *grade;
    size_t count;
};

/* data (count): this rank's vector, and -7 one past its end. free is due. */
static float *own_vector(const struct ring_case *given, int rank)
{
    float *data = malloc((given->count + 1) * sizeof *data);
    if (!data)
        abort();
    oracle_fill(given->grade, rank, data, given->count);
    data[given->count] = -7;
    return data;
}

/* Chunk r at rank r has the ring's sum in the ring's order. */
static int scatter_body(struct ranks_self *self)
{
    const struct ring_case *given = self->context;
    struct slice mine = oracle_slice(given->count, self->world, self->rank);
    float *data = own_vector(given, self->rank);
    int wrong = ring_reduce_scatter(self->comm, data, given->count, COMM_F32, COMM_SUM);
    for (size_t i = mine.begin; i < mine.begin + mine.count && !wrong; i++) {
        float sum = oracle_ring_sum(given->grade, self->world, given->count, i);
        wrong = ranks_expect(self, data[i] == sum,
                             "%zu elements: [%zu] of its own chunk: expected %.9g, found %.9g",
                             given->count, i, (double)sum, (double)data[i]);
    }
    if (!wrong)
        wrong = ranks_expect(self, data[given->count] == -7, "%zu elements: wrote past the end",
                             given->count);
    free(data);
    return wrong ? 1 : 0;
}

int scatter_sums(struct grade *grade)
{
    struct ring_case given = {grade, grade_odd(grade, 1000)};
    return grade_ranks(grade, grade_world(grade), scatter_body, &given);
}

/* Sent: every chunk but this rank's own, each in one message. */
static int scatter_counted_body(struct ranks_self *self)
{
    const struct ring_case *given = self->context;
    struct slice mine = oracle_slice(given->count, self->world, self->rank);
    uint64_t bytes = comm_bytes_sent(self->comm), messages = comm_messages_sent(self->comm);
    uint64_t rounds = (uint64_t)self->world - 1;
    uint64_t expected = (given->count - mine.count) * sizeof(float) + rounds * WIRE_FRAME_BYTES;
    float *data = own_vector(given, self->rank);
    int wrong = ring_reduce_scatter(self->comm, data, given->count, COMM_F32, COMM_SUM);
    bytes = comm_bytes_sent(self->comm) - bytes;
    messages = comm_messages_sent(self->comm) - messages;
    if (!wrong)
        wrong = ranks_expect(
            self, bytes == expected && messages == rounds,
            "%zu elements: expected %llu bytes sent in %llu messages, found %llu in %llu",
            given->count, (unsigned long long)expected, (unsigned long long)rounds,
            (unsigned long long)bytes, (unsigned long long)messages);
    free(data);
    return wrong ? 1 : 0;
}

int scatter_counted(struct grade *grade)
{
    struct ring_case given = {grade, grade_odd(grade, 1000)};
    return grade_ranks(grade, grade_world(grade), scatter_counted_body, &given);
}
