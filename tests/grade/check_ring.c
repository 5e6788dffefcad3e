/*
 * check_ring: are the ring's halves right, and are they a ring? See lesson02.h.
 *
 * Each half by itself: reduce-scatter is looked at in chunk r of rank r only; all-gather is given chunks
 * that no reduce-scatter has made.
 */
#include "lesson02_allreduce/comm_inside.h"
#include "lesson02_allreduce/ring.h"
#include "lesson02_allreduce/wire.h"
#include "tests/grade/lesson02.h"
#include "tests/grade/oracle.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const float PAST_END = -7;

enum call { SCATTER, GATHER, ALL, ALL_APART };
static const char *const names[] = {"reduce-scatter", "all-gather", "all-reduce in place",
                                    "all-reduce"};

/* What all ranks of a check are given. */
struct ring_case {
    const struct grade *grade;
    enum call call;
    size_t count;
    double slack; // 0: bit for bit, as in the ring's order
};

/* (count), and one more, which nobody is to touch. free is due. */
static float *new_vector(size_t count)
{
    float *data = malloc((count + 1) * sizeof *data);
    if (!data)
        abort();
    for (size_t i = 0; i <= count; i++)
        data[i] = PAST_END;
    return data;
}

/* What rank has before the call: all of its own vector, or its chunk of what is to be gathered. */
static float *before_call(const struct ring_case *given, int rank, int world)
{
    float *data = new_vector(given->count);
    struct slice mine = oracle_slice(given->count, world, rank);
    if (given->call != GATHER)
        oracle_fill(given->grade, rank, data, given->count);
    for (size_t i = mine.begin; i < mine.begin + mine.count && given->call == GATHER; i++)
        data[i] = oracle_ring_sum(given->grade, world, given->count, i);
    return data;
}

static int make_call(struct ranks_self *self, const struct ring_case *given, float *in, float *out)
{
    if (given->call == SCATTER)
        return ring_reduce_scatter(self->comm, out, given->count, COMM_F32, COMM_SUM);
    if (given->call == GATHER)
        return ring_all_gather(self->comm, out, given->count, COMM_F32);
    return ring_allreduce(self->comm, in, out, given->count, COMM_F32, COMM_SUM);
}

/* Of the elements that are to be right after the call. */
static int compare_sums(struct ranks_self *self, const struct ring_case *given, const float *out)
{
    struct slice right = {0, given->count};
    int wrong = 0;
    if (given->call == SCATTER)
        right = oracle_slice(given->count, self->world, self->rank);
    for (size_t i = right.begin; i < right.begin + right.count && !wrong; i++) {
        float sum = oracle_ring_sum(given->grade, self->world, given->count, i);
        wrong = ranks_expect(self, fabs((double)out[i] - (double)sum) <= given->slack,
                             "%s of %zu elements: [%zu]: expected %.9g, found %.9g",
                             names[given->call], given->count, i, (double)sum, (double)out[i]);
    }
    return wrong ||
           ranks_expect(self, out[given->count] == PAST_END,
                        "%s of %zu elements: expected nothing past the end, found it changed",
                        names[given->call], given->count);
}

/* Only where `in` is not the place of the result. */
static int compare_in(struct ranks_self *self, const struct ring_case *given, const float *in)
{
    int wrong = 0;
    for (size_t i = 0; i < given->count && !wrong; i++)
        wrong = ranks_expect(self, in[i] == oracle_share(given->grade, self->rank, i),
                             "%s: [%zu] of what goes in: expected it as it was, found it changed",
                             names[given->call], i);
    return wrong;
}

static int call_once(struct ranks_self *self, const struct ring_case *given)
{
    bool apart = given->call == ALL_APART;
    float *in = before_call(given, self->rank, self->world),
          *out = apart ? new_vector(given->count) : in;
    int error = make_call(self, given, in, out), wrong = error;
    if (!error)
        wrong = compare_sums(self, given, out) || (apart && compare_in(self, given, in));
    free(in);
    if (apart)
        free(out);
    return wrong ? 1 : 0;
}

/* Some chunks' borders lie elsewhere for each count, and none of them does the world divide. */
static int sums_body(struct ranks_self *self)
{
    enum { COUNTS = 12, APART = 2 * 3 * 5 };
    struct ring_case given = *(const struct ring_case *)self->context, apart = given;
    int wrong = 0;
    apart.call = ALL_APART;
    if (given.call == ALL)
        wrong = call_once(self, &apart);
    for (int i = 0; i < COUNTS && !wrong; i++, given.count += APART)
        wrong = call_once(self, &given);
    return wrong;
}

static int check_sums(struct grade *grade, enum call call)
{
    struct ring_case given = {grade, call, grade_odd(grade, 1000), 0};
    return grade_ranks(grade, grade_world(grade), sums_body, &given);
}

int scatter_sums(struct grade *grade)
{
    return check_sums(grade, SCATTER);
}

int gather_moves(struct grade *grade)
{
    return check_sums(grade, GATHER);
}

/* --- awkward sizes --------------------------------------------------------------------------- */

static int sizes_body(struct ranks_self *self)
{
    struct ring_case given = *(const struct ring_case *)self->context;
    const size_t counts[] = {0, 1, (size_t)self->world - 1, (size_t)self->world + 1, given.count};
    int wrong = 0;
    for (size_t i = 0; i < sizeof counts / sizeof *counts && !wrong; i++) {
        given.count = counts[i];
        wrong = call_once(self, &given);
    }
    return wrong;
}

/* More than sockets and links hold of what nobody receives yet. Whole numbers, exact in any order. */
enum { LONG_COUNT = 1 << 20 };

static int long_body(struct ranks_self *self)
{
    const struct ring_case *given = self->context;
    struct slice mine = oracle_slice(given->count, self->world, self->rank);
    float *data = new_vector(given->count);
    for (size_t i = 0; i < given->count; i++)
        data[i] = (float)(i % 1000);
    int error = make_call(self, given, data, data);
    int wrong = ranks_expect(self, error == 0, "%s of %zu elements: expected 0, found %d%s: %s",
                             names[given->call], given->count, error,
                             error == -ETIMEDOUT ? ", as when all send before they receive" : "",
                             comm_fail(self->comm)->text);
    for (size_t i = mine.begin; i < mine.begin + mine.count && !wrong; i++) {
        float sum = (float)(i % 1000) * (float)self->world;
        wrong =
            ranks_expect(self, data[i] == sum, "%s of %zu elements: [%zu]: expected %g, found %g",
                         names[given->call], given->count, i, (double)sum, (double)data[i]);
    }
    free(data);
    return wrong;
}

static int check_sizes(struct grade *grade, enum call call)
{
    struct ring_case given = {grade, call, grade_odd(grade, 15000), 1e-5};
    return grade_ranks(grade, 1, sizes_body, &given) || grade_ranks(grade, 2, sizes_body, &given) ||
           grade_ranks(grade, 5, sizes_body, &given);
}

/* A long vector once: how a round sends and receives is the same for both halves. */
int scatter_sizes(struct grade *grade)
{
    struct ring_case given = {grade, SCATTER, LONG_COUNT, 0};
    return check_sizes(grade, SCATTER) || grade_ranks(grade, 2, long_body, &given);
}

int gather_sizes(struct grade *grade)
{
    return check_sizes(grade, GATHER);
}

int ring_sizes(struct grade *grade)
{
    return check_sizes(grade, ALL);
}

/* --- other types ----------------------------------------------------------------------------- */

/* Numbers that no float holds, of which the largest is another rank's from element to element. */
static int64_t whole_number(int rank, size_t i)
{
    return ((int64_t)1 << 60) + (int64_t)i * 3 + (int64_t)((i * 7 + (size_t)rank * 5) % 11) * 1000;
}

static int64_t largest_of(int world, size_t i)
{
    int64_t most = whole_number(0, i);
    for (int rank = 1; rank < world; rank++)
        most = whole_number(rank, i) > most ? whole_number(rank, i) : most;
    return most;
}

static int types_body(struct ranks_self *self)
{
    enum { COUNT = 997 };
    struct ring_case long_case = *(const struct ring_case *)self->context, *given = &long_case;
    given->count = COUNT;
    struct slice mine = oracle_slice(COUNT, self->world, self->rank),
                 right = given->call == SCATTER ? mine : (struct slice){0, COUNT};
    int64_t data[COUNT];
    memset(data, 255, sizeof data);
    for (size_t i = 0; i < COUNT && given->call != GATHER; i++)
        data[i] = whole_number(self->rank, i);
    for (size_t i = mine.begin; i < mine.begin + mine.count && given->call == GATHER; i++)
        data[i] = largest_of(self->world, i);
    int wrong =
        given->call == SCATTER  ? ring_reduce_scatter(self->comm, data, COUNT, COMM_I64, COMM_MAX)
        : given->call == GATHER ? ring_all_gather(self->comm, data, COUNT, COMM_I64)
                                : ring_allreduce(self->comm, data, data, COUNT, COMM_I64, COMM_MAX);
    for (size_t i = right.begin; i < right.begin + right.count && !wrong; i++)
        wrong = ranks_expect(self, data[i] == largest_of(self->world, i),
                             "%s of i64%s: [%zu]: expected %lld, found %lld", names[given->call],
                             given->call == GATHER ? "" : ", the largest", i,
                             (long long)largest_of(self->world, i), (long long)data[i]);
    return wrong ? 1 : 0;
}

int scatter_types(struct grade *grade)
{
    struct ring_case given = {grade, SCATTER, 0, 0};
    return grade_ranks(grade, grade_world(grade), types_body, &given);
}

int gather_types(struct grade *grade)
{
    struct ring_case given = {grade, GATHER, 0, 0};
    return grade_ranks(grade, grade_world(grade), types_body, &given);
}

/* Arrays that overlap in part are refused, and the next call finds all as it was. */
static int overlap_body(struct ranks_self *self)
{
    enum { COUNT = 50 };
    float data[COUNT + 1] = {0};
    int wrong = 0;
    for (int in = 0; in < 2 && !wrong; in++) {
        int error = ring_allreduce(self->comm, data + in, data + 1 - in, COUNT, COMM_F32, COMM_SUM);
        wrong = ranks_expect(
            self, error == -EINVAL,
            "all-reduce of arrays that overlap in part: expected -EINVAL, found %d", error);
    }
    if (wrong)
        return 1;
    int error = ring_allreduce(self->comm, data, data, COUNT, COMM_F32, COMM_SUM);
    return ranks_expect(self, error == 0, "after a call that was refused: expected 0, found %d",
                        error);
}

int ring_sums(struct grade *grade)
{
    struct ring_case given = {grade, ALL, 0, 0};
    int world = grade_world(grade);
    return check_sums(grade, ALL) || grade_ranks(grade, world, types_body, &given) ||
           grade_ranks(grade, world, overlap_body, NULL);
}

/* --- what goes over the wire ----------------------------------------------------------------- */

/* Reduce-scatter: every chunk but one's own. All-gather: every chunk but the right neighbour's, which has
 * that already. */
static uint64_t elements_sent(const struct ring_case *given, int rank, int world)
{
    uint64_t elements = 0;
    if (given->call != GATHER)
        elements += given->count - oracle_slice(given->count, world, rank).count;
    if (given->call != SCATTER)
        elements += given->count - oracle_slice(given->count, world, rank + 1).count;
    return elements;
}

static int counted_body(struct ranks_self *self)
{
    const struct ring_case *given = self->context;
    uint64_t bytes = comm_bytes_sent(self->comm), messages = comm_messages_sent(self->comm);
    uint64_t rounds =
        given->count == 0 ? 0 : (uint64_t)(self->world - 1) * (given->call == ALL ? 2 : 1);
    uint64_t expected =
        elements_sent(given, self->rank, self->world) * sizeof(float) + rounds * WIRE_FRAME_BYTES;
    float *data = before_call(given, self->rank, self->world);
    int wrong = make_call(self, given, data, data);
    bytes = comm_bytes_sent(self->comm) - bytes;
    messages = comm_messages_sent(self->comm) - messages;
    if (!wrong)
        wrong = ranks_expect(
            self, bytes == expected && messages == rounds,
            "%s of %zu elements: expected %llu bytes sent in %llu messages, found %llu in %llu",
            names[given->call], given->count, (unsigned long long)expected,
            (unsigned long long)rounds, (unsigned long long)bytes, (unsigned long long)messages);
    for (int to = 0; to < self->world && !wrong; to++) {
        unsigned frames = self->comm->peers[to].outgoing.frames, // of the call that was last
            due = to == (self->rank + 1) % self->world ? (unsigned)rounds : 0;
        wrong = ranks_expect(self, given->count == 0 || frames == due,
                             "%s of %zu elements: expected %u messages from rank %d to rank %d, "
                             "found %u in the last call",
                             names[given->call], given->count, due, self->rank, to, frames);
    }
    free(data);
    return wrong ? 1 : 0;
}

/* One chunk is a float longer than another, so that whose is not sent shows. Few elements, some and many: none
 * of them goes another way. Of no element nothing is sent. */
static int check_counted(struct grade *grade, enum call call)
{
    const size_t counts[] = {grade_odd(grade, 7), grade_odd(grade, 1000), grade_odd(grade, 20000),
                             0};
    int wrong = 0;
    for (size_t i = 0; i < sizeof counts / sizeof *counts && !wrong; i++) {
        struct ring_case given = {grade, call, counts[i], 0};
        wrong = grade_ranks(grade, 3, counted_body, &given) ||
                grade_ranks(grade, 5, counted_body, &given);
    }
    return wrong;
}

int scatter_counted(struct grade *grade)
{
    return check_counted(grade, SCATTER);
}

int gather_counted(struct grade *grade)
{
    return check_counted(grade, GATHER);
}

int ring_counted(struct grade *grade)
{
    return check_counted(grade, ALL);
}
