/* The replay adds in the order that ring.h promises: checked by hand, and by a sum that shows
 * it. */
#include "lesson02_allreduce/replay.h"
#include "tests/suites.h"

#include <check.h>

START_TEST(every_chunk_is_added_from_its_right_neighbour_round_to_its_owner)
{
    /* Three ranks, one element per chunk, 2^24 and ones: ((2^24 + 1) + 1) is 2^24, as each 1 is
     * lost alone, but ((1 + 1) + 2^24) keeps both. So each order shows in the result. */
    const float big = 16777216;
    const float rank0[3] = {big, big, big}, rank1[3] = {1, 1, 1}, rank2[3] = {1, 1, 1};
    const float *shards[3] = {rank0, rank1, rank2};
    float out[3];
    replay_ring_allreduce(shards, 3, 3, out);
    ck_assert_float_eq(out[0], big + 2); // (g1 + g2) + g0
    ck_assert_float_eq(out[1], big);     // (g2 + g0) + g1
    ck_assert_float_eq(out[2], big);     // (g0 + g1) + g2
}
END_TEST

START_TEST(one_rank_is_copied_and_empty_chunks_are_left_out)
{
    const float rank0[2] = {3, 4}, rank1[2] = {30, 40}, rank2[2] = {300, 400};
    const float *shards[3] = {rank0, rank1, rank2};
    float out[3] = {-1, -1, -1};
    replay_ring_allreduce(shards, 1, 2, out);
    ck_assert_float_eq(out[0], 3);
    ck_assert_float_eq(out[1], 4);
    replay_ring_allreduce(shards, 3, 2, out);
    ck_assert_float_eq(out[0], 333);
    ck_assert_float_eq(out[1], 444);
    replay_ring_allreduce(shards, 3, 0, out);
    ck_assert_float_eq(out[0], 333);
    ck_assert_float_eq(out[2], -1);
}
END_TEST

Suite *replay_suite(void)
{
    Suite *suite = suite_create("replay");
    TCase *tcase = tcase_create("replay");
    tcase_add_test(tcase, every_chunk_is_added_from_its_right_neighbour_round_to_its_owner);
    tcase_add_test(tcase, one_rank_is_copied_and_empty_chunks_are_left_out);
    suite_add_tcase(suite, tcase);
    return suite;
}
