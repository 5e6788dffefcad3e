/* The replays fold in the order that each algorithm's header promises: checked by hand, with sums
 * that show it. */
#include "lesson02_allreduce/replay.h"
#include "tests/suites.h"

#include <check.h>
#include <string.h>

static void replay_floats(enum algorithm algorithm, const float *const *shares, size_t world,
                          size_t count, float *out)
{
    const void *vectors[8];
    for (size_t rank = 0; rank < world; rank++)
        vectors[rank] = shares[rank];
    struct replay replay = {vectors, world, count, COMM_F32, COMM_SUM};
    replay_allreduce(&replay, algorithm, out);
}

START_TEST(every_chunk_of_the_ring_is_added_from_its_right_neighbour_round_to_its_owner)
{
    /* Three ranks, one element per chunk, 2^24 and ones: ((2^24 + 1) + 1) is 2^24, as each 1 is
     * lost alone, but ((1 + 1) + 2^24) keeps both. So each order shows in the result. */
    const float big = 16777216;
    const float rank0[3] = {big, big, big}, rank1[3] = {1, 1, 1}, rank2[3] = {1, 1, 1};
    const float *shares[3] = {rank0, rank1, rank2};
    float out[3];
    replay_floats(ALGORITHM_RING, shares, 3, 3, out);
    ck_assert_float_eq(out[0], big + 2); // (g1 + g2) + g0
    ck_assert_float_eq(out[1], big);     // (g2 + g0) + g1
    ck_assert_float_eq(out[2], big);     // (g0 + g1) + g2
}
END_TEST

/* What four or five ranks make of 2^24 and ones, one element: by pairs, or one after another. */
static const struct {
    enum algorithm algorithm;
    size_t world;
    float part[5], sum;
} orders[] = {
    {ALGORITHM_ROOT, 4, {16777216, 1, 1, 1}, 16777216},       // ((b + 1) + 1) + 1
    {ALGORITHM_DIRECT, 4, {16777216, 1, 1, 1}, 16777216},     // the same
    {ALGORITHM_TREE, 4, {16777216, 1, 1, 1}, 16777218},       // (b + 1) + (1 + 1)
    {ALGORITHM_HALVING, 4, {16777216, 1, 1, 1}, 16777218},    // (b + 1) + (1 + 1)
    {ALGORITHM_ROOT, 4, {1, 1, 1, 16777216}, 16777220},       // 3 + b, to even
    {ALGORITHM_TREE, 4, {1, 1, 1, 16777216}, 16777218},       // (1 + 1) + (1 + b)
    {ALGORITHM_TREE, 5, {16777216, 1, 1, 1, 1}, 16777220},    // b + 2, + 1: to even
    {ALGORITHM_HALVING, 5, {16777216, 1, 1, 1, 1}, 16777218}, // ((b + 1) + 1) + (1 + 1)
    {ALGORITHM_HALVING, 3, {16777216, 1, 1}, 16777216},       // (b + 1) + 1
    {ALGORITHM_HALVING, 5, {1, 1, 1, 1, 16777216}, 16777220}, // ((1 + 1) + 1) + (1 + b)
};

START_TEST(each_algorithm_has_its_order)
{
    const float *shares[5];
    float out;
    for (size_t rank = 0; rank < orders[_i].world; rank++)
        shares[rank] = &orders[_i].part[rank];
    replay_floats(orders[_i].algorithm, shares, orders[_i].world, 1, &out);
    ck_assert_msg(out == orders[_i].sum, "%s over %zu: %.1f, not %.1f",
                  algorithm_name(orders[_i].algorithm), orders[_i].world, (double)out,
                  (double)orders[_i].sum);
}
END_TEST

START_TEST(one_rank_is_copied_and_empty_chunks_are_left_out)
{
    const float rank0[2] = {3, 4}, rank1[2] = {30, 40}, rank2[2] = {300, 400};
    const float *shares[3] = {rank0, rank1, rank2};
    enum algorithm algorithm = (enum algorithm)_i;
    float out[3] = {-1, -1, -1};
    replay_floats(algorithm, shares, 1, 2, out);
    ck_assert_float_eq(out[0], 3);
    ck_assert_float_eq(out[1], 4);
    replay_floats(algorithm, shares, 3, 2, out);
    ck_assert_float_eq(out[0], 333);
    ck_assert_float_eq(out[1], 444);
    replay_floats(algorithm, shares, 3, 0, out);
    ck_assert_float_eq(out[0], 333);
    ck_assert_float_eq(out[2], -1);
}
END_TEST

/* Five ranks' numbers of many digits, all at once and in two parts. */
START_TEST(only_the_rings_bits_depend_on_where_a_vector_is_cut)
{
    enum { WORLD = 5, COUNT = 40, CUT = 17 };
    float part[WORLD][COUNT], whole[COUNT], parts[COUNT];
    const float *shares[WORLD], *later[WORLD];
    for (int rank = 0; rank < WORLD; rank++) {
        for (int i = 0; i < COUNT; i++)
            part[rank][i] = 1.0f / (float)(7 * i + 3 * rank + 1);
        shares[rank] = part[rank];
        later[rank] = part[rank] + CUT;
    }
    enum algorithm algorithm = (enum algorithm)_i;
    replay_floats(algorithm, shares, WORLD, COUNT, whole);
    replay_floats(algorithm, shares, WORLD, CUT, parts);
    replay_floats(algorithm, later, WORLD, COUNT - CUT, parts + CUT);
    bool equal = memcmp(whole, parts, sizeof whole) == 0;
    ck_assert_int_eq(equal, algorithm_ignores_cuts(algorithm));
    ck_assert_int_eq(equal, algorithm != ALGORITHM_RING);
}
END_TEST

Suite *replay_suite(void)
{
    Suite *suite = suite_create("replay");
    TCase *tcase = tcase_create("replay");
    tcase_add_test(tcase,
                   every_chunk_of_the_ring_is_added_from_its_right_neighbour_round_to_its_owner);
    tcase_add_loop_test(tcase, each_algorithm_has_its_order, 0, sizeof orders / sizeof *orders);
    tcase_add_loop_test(tcase, one_rank_is_copied_and_empty_chunks_are_left_out, 0, ALGORITHM_AUTO);
    tcase_add_loop_test(tcase, only_the_rings_bits_depend_on_where_a_vector_is_cut, 0,
                        ALGORITHM_AUTO);
    suite_add_tcase(suite, tcase);
    return suite;
}
