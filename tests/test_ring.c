/* The ring's collectives over real sockets: right sums, the same bits everywhere, any size. With
 * LONG=1 also of more bytes than 31 bits count, for which two ranks take 4.3 GB. */
#include "common/slice.h"
#include "lesson02_allreduce/replay.h"
#include "lesson02_allreduce/ring.h"
#include "tests/ranks.h"
#include "tests/suites.h"

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const int worlds[] = {1, 2, 3, 4, 5, 7};
enum { WORLDS = sizeof worlds / sizeof *worlds };

/* 0, 1, 2, the counts around the world, one that fits no world, one beyond the socket buffers. */
static size_t awkward_count(int world, int index)
{
    const size_t counts[] = {0,  1,      2, (size_t)world - 1, (size_t)world, (size_t)world + 1,
                             17, 1000003};
    return counts[index];
}
enum { AWKWARD_COUNTS = 8 };

/* What rank `rank` contributes at i: small whole numbers, whose sums are exact in any order. */
static float part(int rank, size_t i)
{
    return (float)(rank + 1) * (float)(i % 10 + 1);
}

static float whole(int world, size_t i)
{
    return (float)(world * (world + 1)) / 2 * (float)(i % 10 + 1);
}

static int check_allreduce(struct ranks_self *self, size_t count, bool in_place)
{
    float *in = malloc((count + 1) * sizeof *in);
    float *out = in_place ? in : malloc((count + 1) * sizeof *out);
    for (size_t i = 0; i < count; i++)
        in[i] = part(self->rank, i);
    in[count] = out[count] = -1; // one past the end: nobody may touch it
    int wrong = ring_allreduce(self->comm, in, out, count, COMM_F32, COMM_SUM);
    for (size_t i = 0; i < count && !wrong; i++) {
        wrong = ranks_expect(self, out[i] == whole(self->world, i), "%zu elements: [%zu] is %g",
                             count, i, (double)out[i]);
        if (!in_place && !wrong)
            wrong = ranks_expect(self, in[i] == part(self->rank, i), "input [%zu] changed", i);
    }
    if (!wrong)
        wrong = ranks_expect(self, out[count] == -1, "%zu elements: wrote past the end", count);
    free(in);
    if (!in_place)
        free(out);
    return wrong;
}

static int allreduce_body(struct ranks_self *self)
{
    int wrong = 0;
    for (int i = 0; i < AWKWARD_COUNTS && !wrong; i++) {
        size_t count = awkward_count(self->world, i);
        wrong = check_allreduce(self, count, true);
        if (!wrong)
            wrong = check_allreduce(self, count, false);
    }
    return wrong ? 1 : 0;
}

START_TEST(allreduce_is_exact_for_every_world_and_count_in_place_and_not)
{
    struct ranks_result result;
    ranks_run(worlds[_i], allreduce_body, NULL, &result);
    ranks_assert_ok(&result);
}
END_TEST

static int nothing_body(struct ranks_self *self)
{
    uint64_t messages = comm_messages_sent(self->comm);
    float none = 0;
    int error = ring_reduce_scatter(self->comm, &none, 0, COMM_F32, COMM_SUM);
    if (!error)
        error = ring_all_gather(self->comm, &none, 0, COMM_F32);
    if (!error)
        error = ring_allreduce(self->comm, &none, &none, 0, COMM_F32, COMM_SUM);
    messages = comm_messages_sent(self->comm) - messages;
    return error || ranks_expect(self, messages == 0, "%d messages", (int)messages);
}

START_TEST(a_vector_of_no_elements_sends_nothing)
{
    struct ranks_result result;
    ranks_run(3, nothing_body, NULL, &result);
    ranks_assert_ok(&result);
}
END_TEST

static int small_allreduce_body(struct ranks_self *self)
{
    return check_allreduce(self, 1001, true) ? 1 : 0;
}

START_TEST(sixteen_ranks_meet_and_sum)
{
    struct ranks_result result;
    ranks_run(16, small_allreduce_body, NULL, &result);
    ranks_assert_ok(&result);
}
END_TEST

static int long_allreduce_body(struct ranks_self *self)
{
    return check_allreduce(self, ((size_t)1 << 29) + 3, true) ? 1 : 0;
}

START_TEST(a_vector_of_two_gibibytes_and_more_is_exact)
{
    struct ranks_plan plan = {
        .world = 2, .body = long_allreduce_body, .transport = _i ? COMM_UNIX : COMM_TCP};
    struct ranks_result result;
    if (!getenv("LONG"))
        return;
    ranks_run_plan(&plan, &result);
    ranks_assert_ok(&result);
}
END_TEST

/* Every rank knows every rank's vector, so each can replay the ring without one. */
static int replay_body(struct ranks_self *self)
{
    enum { COUNT = 100003 };
    float *all = malloc(sizeof(float) * COUNT * (size_t)self->world);
    float *expected = malloc(sizeof(float) * COUNT);
    const void *shards[RANKS_MOST];
    for (int rank = 0; rank < self->world; rank++) {
        float *shard = all + (size_t)rank * COUNT;
        shards[rank] = shard;
        for (size_t i = 0; i < COUNT; i++)
            shard[i] = 1.0f / (float)(i % 997 + 3 * (size_t)rank + 1) - 0.3f * (float)(rank % 3);
    }
    struct replay replay = {shards, (size_t)self->world, COUNT, COMM_F32, COMM_SUM};
    replay_allreduce(&replay, ALGORITHM_RING, expected);
    float *own = all + (size_t)self->rank * COUNT;
    int wrong = ring_allreduce(self->comm, own, own, COUNT, COMM_F32, COMM_SUM);
    if (!wrong)
        wrong = ranks_expect(self, memcmp(own, expected, sizeof(float) * COUNT) == 0,
                             "the ring and its replay differ");
    free(all);
    free(expected);
    return wrong ? 1 : 0;
}

START_TEST(the_ring_adds_in_the_order_of_its_replay_bit_for_bit)
{
    struct ranks_result result;
    ranks_run(worlds[_i], replay_body, NULL, &result);
    ranks_assert_ok(&result);
}
END_TEST

/* 3e8, 1, -3e8, 2: the sum depends on where the ring starts, but not on the rank that asks. */
static int cancelling_body(struct ranks_self *self)
{
    static const float values[4] = {3e8f, 1, -3e8f, 2};
    float data[16], everyone[4][16] = {{0}};
    for (int i = 0; i < 16; i++)
        data[i] = values[self->rank];
    int wrong = ring_allreduce(self->comm, data, data, 16, COMM_F32, COMM_SUM);
    for (int i = 0; i < 16 && !wrong; i++)
        wrong = ranks_expect(self, data[i] == 0 || data[i] == 1 || data[i] == 2, "[%d] is %g", i,
                             (double)data[i]);
    memcpy(everyone[self->rank], data, sizeof data);
    if (!wrong)
        wrong = ring_all_gather(self->comm, everyone, 64, COMM_F32);
    for (int rank = 0; rank < 4 && !wrong; rank++)
        wrong = ranks_expect(self, memcmp(everyone[rank], data, sizeof data) == 0,
                             "rank %d has other bits", rank);
    return wrong ? 1 : 0;
}

START_TEST(all_ranks_hold_the_same_bits)
{
    struct ranks_result result;
    ranks_run(4, cancelling_body, NULL, &result);
    ranks_assert_ok(&result);
}
END_TEST

static int halves_body(struct ranks_self *self)
{
    enum { COUNT = 1003 };
    double data[COUNT];
    int world = self->world, wrong;
    for (size_t i = 0; i < COUNT; i++)
        data[i] = part(self->rank, i);
    wrong = ring_reduce_scatter(self->comm, data, COUNT, COMM_F64, COMM_SUM);
    struct slice mine = slice_of(COUNT, (size_t)world, (size_t)self->rank);
    for (size_t i = mine.begin; i < mine.begin + mine.count && !wrong; i++)
        wrong =
            ranks_expect(self, data[i] == (double)whole(world, i), "own [%zu] is %g", i, data[i]);
    if (!wrong)
        wrong = ring_all_gather(self->comm, data, COUNT, COMM_F64);
    for (size_t i = 0; i < COUNT && !wrong; i++)
        wrong = ranks_expect(self, data[i] == (double)whole(world, i), "[%zu] is %g", i, data[i]);
    return wrong ? 1 : 0;
}

START_TEST(the_halves_of_an_allreduce_leave_chunk_r_at_rank_r_in_double)
{
    struct ranks_result result;
    ranks_run(worlds[_i], halves_body, NULL, &result);
    ranks_assert_ok(&result);
}
END_TEST

static int gather_body(struct ranks_self *self)
{
    uint64_t data[7];
    int wrong;
    memset(data, 255, sizeof data);
    struct slice mine = slice_of(7, (size_t)self->world, (size_t)self->rank);
    for (size_t i = mine.begin; i < mine.begin + mine.count; i++)
        data[i] = ((uint64_t)1 << 60) + i;
    wrong = ring_all_gather(self->comm, data, 7, COMM_I64);
    for (size_t i = 0; i < 7 && !wrong; i++)
        wrong = ranks_expect(self, data[i] == ((uint64_t)1 << 60) + i, "[%zu] is %llu", i,
                             (unsigned long long)data[i]);
    return wrong ? 1 : 0;
}

START_TEST(all_gather_moves_whole_numbers_untouched)
{
    struct ranks_result result;
    ranks_run(worlds[_i], gather_body, NULL, &result);
    ranks_assert_ok(&result);
}
END_TEST

/* Counts below, at and beyond several segments. */
static int broadcast_body(struct ranks_self *self)
{
    static const size_t counts[] = {0, 1, 5, 32768, 32769, 200001};
    float *data = malloc(200001 * sizeof *data);
    int wrong = 0;
    for (size_t c = 0; c < sizeof counts / sizeof *counts && !wrong; c++) {
        int root = (int)c % self->world;
        for (size_t i = 0; i < counts[c]; i++)
            data[i] = self->rank == root ? (float)i + 0.5f : -1;
        wrong = ring_broadcast(self->comm, data, counts[c], COMM_F32, root);
        for (size_t i = 0; i < counts[c] && !wrong; i++)
            wrong = ranks_expect(self, data[i] == (float)i + 0.5f, "%zu from %d: [%zu] is %g",
                                 counts[c], root, i, (double)data[i]);
    }
    free(data);
    return wrong ? 1 : 0;
}

START_TEST(broadcast_brings_the_roots_data_to_every_rank)
{
    struct ranks_result result;
    ranks_run(worlds[_i], broadcast_body, NULL, &result);
    ranks_assert_ok(&result);
}
END_TEST

Suite *ring_suite(void)
{
    Suite *suite = suite_create("ring");
    TCase *tcase = tcase_create("collectives");
    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, allreduce_is_exact_for_every_world_and_count_in_place_and_not, 0,
                        WORLDS);
    tcase_add_test(tcase, a_vector_of_no_elements_sends_nothing);
    tcase_add_test(tcase, sixteen_ranks_meet_and_sum);
    tcase_add_loop_test(tcase, a_vector_of_two_gibibytes_and_more_is_exact, 0, 2);
    tcase_add_loop_test(tcase, the_ring_adds_in_the_order_of_its_replay_bit_for_bit, 0, WORLDS);
    tcase_add_test(tcase, all_ranks_hold_the_same_bits);
    tcase_add_loop_test(tcase, the_halves_of_an_allreduce_leave_chunk_r_at_rank_r_in_double, 0,
                        WORLDS);
    tcase_add_loop_test(tcase, all_gather_moves_whole_numbers_untouched, 0, WORLDS);
    tcase_add_loop_test(tcase, broadcast_brings_the_roots_data_to_every_rank, 0, WORLDS);
    suite_add_tcase(suite, tcase);
    return suite;
}
