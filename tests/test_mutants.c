/*
 * Every mistake the lessons' proofs are for, made once: each proof must find its own.
 *
 * What a lesson shares with its replay, such as the weight of a sample, the replay cannot see:
 * there the lesson below must find it, and at the foot of the stairs the slope of the loss does.
 */
#include "tests/mutants.h"
#include "tests/suites.h"

#include <check.h>

/* --- the mean -------------------------------------------------------------------------------- */

START_TEST(a_sum_instead_of_a_mean_is_found_by_the_slope)
{
    static const struct mutant mutant = {
        .file = "lesson01_single/trainer.c",
        .text = "weight = scale_of(trainer) / (float)step->samples.count",
        .mistake = "weight = 1",
        .lesson = {1, 1},
        .arguments = "--steps 1 --batch 32",
        .proof = "verify step 0: gradient ~ slope of the loss",
        .place = "first at fc1.weight[",
        .cause = "32 times the expected one",
    };
    mutant_must_be_caught(&mutant);
}
END_TEST

/* Each rank weights its samples by its own number of them. */
START_TEST(a_sum_of_the_ranks_means_is_found_by_lesson_2)
{
    static const struct mutant mutant = {
        .file = "lesson01_single/trainer.c",
        .text = "weight = scale_of(trainer) / (float)step->samples.count",
        .mistake = "weight = (float)trainer->world / (float)step->samples.count",
        .lesson = {2, 2},
        .arguments = "--steps 2",
        .proof = "verify step 0: gradient after the sum ~ lesson 1's gradient of the whole batch",
        .place = "first at fc1.weight[",
        .cause = "2 times the expected one: summed over 2 ranks, not averaged",
    };
    mutant_must_be_caught(&mutant);
}
END_TEST

START_TEST(a_mean_divided_twice_is_found_by_lesson_2)
{
    static const struct mutant mutant = {
        .file = "lesson01_single/trainer.c",
        .text = "weight = scale_of(trainer) / (float)step->samples.count",
        .mistake = "weight = 1.0f / (float)(trainer->world * step->samples.count)",
        .lesson = {2, 3},
        .arguments = "--steps 2",
        .proof = "verify step 0: gradient after the sum ~ lesson 1's gradient of the whole batch",
        .place = "first at fc1.weight[",
        .cause = "1/3 of the expected one: divided by 3 ranks twice",
    };
    mutant_must_be_caught(&mutant);
}
END_TEST

START_TEST(a_bucket_divided_by_the_ranks_again_is_found_by_lesson_3)
{
    static const struct mutant mutant = {
        .file = "lesson03_ddp/ddp.c",
        .text = "return allreduce(ddp->comm, grad, grad, slice.count, COMM_F32, COMM_SUM);",
        .mistake = "for (size_t i = 0; i < slice.count; i++)\n"
                   "        grad[i] /= (float)comm_world(ddp->comm);\n"
                   "    return allreduce(ddp->comm, grad, grad, slice.count, COMM_F32, COMM_SUM);",
        .lesson = {3, 2},
        .arguments = "--steps 2",
        .proof = "verify step 0: overlapped buckets = lesson 2's all-reduce, bucket by bucket",
        .place = "first at fc1.weight[",
        .cause = "1/2 of the expected one: divided by 2 ranks twice",
    };
    mutant_must_be_caught(&mutant);
}
END_TEST

/* --- micro-batches --------------------------------------------------------------------------- */

START_TEST(a_gradient_of_the_last_micro_batch_only_is_found_by_the_slope)
{
    static const struct mutant mutant = {
        .file = "lesson01_single/trainer.c",
        .text = "        bool last = m + 1 == batches;",
        .mistake = "        memset(trainer->grad, 0, trainer->model->count * sizeof(float));\n"
                   "        bool last = m + 1 == batches;",
        .lesson = {1, 1},
        .arguments = "--steps 1 --accumulate 2",
        .proof = "verify step 0: gradient ~ slope of the loss",
        .place = "first at fc1.weight[",
    };
    mutant_must_be_caught(&mutant);
}
END_TEST

/* Backward clears what it is about to announce. */
START_TEST(only_the_last_micro_batch_reduced_is_found_by_lesson_3)
{
    static const struct mutant mutant = {
        .file = "lesson01_single/trainer.c",
        .text = "        bool last = m + 1 == batches;",
        .mistake = "        bool last = m + 1 == batches;\n"
                   "        if (last && trainer->listener.on_ready)\n"
                   "            memset(trainer->grad, 0, trainer->model->count * sizeof(float));",
        .lesson = {3, 2},
        .arguments = "--steps 2 --accumulate 2",
        .proof = "verify step 0: overlapped buckets = lesson 2's all-reduce, bucket by bucket",
        .place = "first at fc1.weight[",
    };
    mutant_must_be_caught(&mutant);
}
END_TEST

/* --- buckets and chunks ---------------------------------------------------------------------- */

/* As if every order went down the slab. The first plan's does; the rebuilt one goes up to fc4.weight. */
START_TEST(a_rebuilt_bucket_that_begins_at_its_last_tensor_is_found_by_lesson_3)
{
    static const struct mutant mutant = {
        .file = "lesson03_ddp/bucket.c",
        .text = "if (tensor.begin < bucket->slice.begin)",
        .mistake = "",
        .lesson = {3, 2},
        .arguments = "--hidden 8,8,8,8 --tie fc2=fc4 --first-bucket-kb 0.2 --bucket-kb 0.57 "
                     "--steps 2",
        .proof = "verify step 1: overlapped buckets = lesson 2's all-reduce on the whole gradient",
        .place = "first at fc",
    };
    mutant_must_be_caught(&mutant);
}
END_TEST

/* Rank 1 takes part in the ring, and keeps what it had after the step before. */
START_TEST(a_bucket_stale_by_a_step_on_one_rank_is_found_by_lesson_3)
{
    static const struct mutant mutant = {
        .file = "lesson03_ddp/ddp.c",
        .text = "    return ddp->reduce(ddp, index);",
        .mistake = "    static float kept[1 << 16];\n"
                   "    static int calls;\n"
                   "    struct slice slice = ddp->plan.buckets[index].slice;\n"
                   "    float *bucket = ddp->grad + slice.begin;\n"
                   "    int error = ddp->reduce(ddp, index);\n"
                   "    for (size_t i = 0; i < slice.count && index == 0; i++) {\n"
                   "        float now = bucket[i];\n"
                   "        if (comm_rank(ddp->comm) == 1 && calls > 0)\n"
                   "            bucket[i] = kept[i];\n"
                   "        kept[i] = now;\n"
                   "    }\n"
                   "    calls += index == 0;\n"
                   "    return error;",
        .lesson = {3, 2},
        .arguments = "--steps 3",
        .proof =
            "verify step 1, rank 1: overlapped buckets = lesson 2's all-reduce, bucket by bucket",
        .place = "first at fc1.bias[0] of rank 1: found ",
        .cause = "that of the step before: a stale bucket",
    };
    mutant_must_be_caught(&mutant);
}
END_TEST

START_TEST(a_bucket_that_is_not_reduced_on_any_rank_is_found_by_lesson_3)
{
    static const struct mutant mutant = {
        .file = "lesson03_ddp/ddp.c",
        .text = "    return ddp->reduce(ddp, index);",
        .mistake = "    return index == 0 ? 0 : ddp->reduce(ddp, index);",
        .lesson = {3, 2},
        .arguments = "--steps 2",
        .proof = "verify step 0: overlapped buckets = lesson 2's all-reduce, bucket by bucket",
        .place = "first at fc1.bias[0] of rank",
    };
    mutant_must_be_caught(&mutant);
}
END_TEST

START_TEST(two_chunks_swapped_are_found_by_lesson_2)
{
    static const struct mutant mutant = {
        .file = "lesson02_allreduce/ring.c",
        .text = "error = reduce_scatter_rounds(&ring);\n    if (!error)\n"
                "        error = all_gather_rounds(&ring);",
        .mistake = "error = reduce_scatter_rounds(&ring);\n    if (!error)\n"
                   "        error = all_gather_rounds(&ring);\n"
                   "    float *a = (float *)out + collective_chunk(&ring, 0).begin;\n"
                   "    float *b = (float *)out + collective_chunk(&ring, 1).begin;\n"
                   "    for (size_t i = 0; i < collective_chunk(&ring, 1).count; i++) {\n"
                   "        float kept = a[i];\n"
                   "        a[i] = b[i];\n"
                   "        b[i] = kept;\n"
                   "    }",
        .lesson = {2, 3},
        .arguments = "--steps 2 --hidden 13",
        .proof = "gradient after the ring = lesson 1's shares added in ring order",
        .place = "first at fc1.weight[",
        .cause = "chunks 0 and 1 of 3 are swapped",
    };
    mutant_must_be_caught(&mutant);
}
END_TEST

/* The last round stores its chunk one place off. Only equal chunks pass the ring's own checks. */
START_TEST(a_chunk_stored_in_anothers_place_is_found_by_lesson_2)
{
    static const struct mutant mutant = {
        .file = "lesson02_allreduce/ring.c",
        .text = "error = pass(ring, ring->rank - round, ring->rank - 1 - round, COMM_STORE);",
        .mistake = "error = pass(ring, ring->rank - round,\n"
                   "                     ring->rank - 1 - round - (round == ring->world - 2),\n"
                   "                     COMM_STORE);",
        .lesson = {2, 4},
        .arguments = "--steps 2 --data synthetic --no-bias",
        .proof = "gradient after the ring = lesson 1's shares added in ring order",
        .place = "first at fc1.weight[",
    };
    mutant_must_be_caught(&mutant);
}
END_TEST

/* --- shards ---------------------------------------------------------------------------------- */

/* --- what is not finite ---------------------------------------------------------------------- */

START_TEST(a_nan_on_one_side_is_found_by_lesson_2)
{
    static const struct mutant mutant = {
        .file = "lesson02_allreduce/ring.c",
        .text = "error = reduce_scatter_rounds(&ring);\n    if (!error)\n"
                "        error = all_gather_rounds(&ring);",
        .mistake = "error = reduce_scatter_rounds(&ring);\n    if (!error)\n"
                   "        error = all_gather_rounds(&ring);\n"
                   "    if (ring.rank == 1)\n"
                   "        ((float *)out)[count - 1] = 0.0f / 0.0f;",
        .lesson = {2, 2},
        .arguments = "--steps 2",
        .proof = "rank 1: gradient after the ring = lesson 1's shares added in ring order",
        .place = "first at fc2.bias[9] of rank 1: found ",
        .cause = "nan found at element 4809",
    };
    mutant_must_be_caught(&mutant);
}
END_TEST

/* --- the other algorithms -------------------------------------------------------------------- */

START_TEST(a_tree_that_forgets_its_own_part_is_found_by_lesson_2)
{
    static const struct mutant mutant = {
        .file = "lesson02_allreduce/tree.c",
        .text = "all->rank + bit, all->data, all->count, COMM_REDUCE);",
        .mistake = "all->rank + bit, all->data, all->count, COMM_STORE);",
        .lesson = {2, 3},
        .arguments = "--steps 2 --algorithm tree",
        .proof = "verify step 0: gradient after the tree = lesson 1's shares added in tree order",
        .place = "first at fc1.weight[",
    };
    mutant_must_be_caught(&mutant);
}
END_TEST

START_TEST(halves_given_in_another_order_are_found_by_lesson_2)
{
    static const struct mutant mutant = {
        .file = "lesson02_allreduce/halving.c",
        .text = "for (int distance = 1; distance < power && !error; distance *= 2, round++) {",
        .mistake = "for (int turn = 1; turn < power && !error; turn *= 2, round++) {\n"
                   "        int distance = power / 2 / turn;",
        .lesson = {2, 4},
        .arguments = "--steps 2 --hidden 62 --algorithm halving",
        .proof = "verify step 0: gradient after the halving = lesson 1's shares",
        .place = "first at fc1.weight[",
    };
    mutant_must_be_caught(&mutant);
}
END_TEST

/* Each rank begins with its own part, and so each chunk at another rank. */
static const char in_rank_order[] =
    "    for (int rank = 0; rank < all->world && !error; rank++) {\n"
    "        enum comm_receive how = rank == 0 ? COMM_STORE : COMM_REDUCE;\n"
    "        if (rank != all->rank)\n"
    "            comm_receive(all->comm, rank, folded, part.count, how);\n"
    "        else if (rank == 0)";
static const char from_its_own_on[] =
    "    for (int turn = 0; turn < all->world && !error; turn++) {\n"
    "        int rank = (all->rank + turn) % all->world;\n"
    "        if (turn > 0)\n"
    "            comm_receive(all->comm, rank, folded, part.count, COMM_REDUCE);\n"
    "        else if (turn == 0)";

START_TEST(direct_parts_folded_from_their_owner_on_are_found_by_lesson_2)
{
    static const struct mutant mutant = {
        .file = "lesson02_allreduce/direct.c",
        .text = in_rank_order,
        .mistake = from_its_own_on,
        .lesson = {2, 3},
        .arguments = "--steps 2 --algorithm direct",
        .proof = "gradient after the direct = lesson 1's shares added in direct order",
        .place = "first at fc1.weight[",
        .cause = "last bit",
    };
    mutant_must_be_caught(&mutant);
}
END_TEST

/* Of buckets one by one both sides are wrong alike. */
START_TEST(an_order_that_depends_on_the_cut_is_found_by_lesson_3)
{
    static const struct mutant mutant = {
        .file = "lesson02_allreduce/direct.c",
        .text = in_rank_order,
        .mistake = from_its_own_on,
        .lesson = {3, 3},
        .arguments = "--steps 2 --algorithm direct",
        .proof = "verify step 0: overlapped buckets = lesson 2's all-reduce on the whole gradient",
        .place = "first at fc1.weight[",
        .cause = "last bit",
    };
    mutant_must_be_caught(&mutant);
}
END_TEST

Suite *mutants_suite(void)
{
    Suite *suite = suite_create("mutants");
    TCase *tcase = tcase_create("mutants");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, a_sum_instead_of_a_mean_is_found_by_the_slope);
    tcase_add_test(tcase, a_sum_of_the_ranks_means_is_found_by_lesson_2);
    tcase_add_test(tcase, a_mean_divided_twice_is_found_by_lesson_2);
    tcase_add_test(tcase, a_bucket_divided_by_the_ranks_again_is_found_by_lesson_3);
    tcase_add_test(tcase, a_gradient_of_the_last_micro_batch_only_is_found_by_the_slope);
    tcase_add_test(tcase, only_the_last_micro_batch_reduced_is_found_by_lesson_3);
    tcase_add_test(tcase, a_rebuilt_bucket_that_begins_at_its_last_tensor_is_found_by_lesson_3);
    tcase_add_test(tcase, a_bucket_stale_by_a_step_on_one_rank_is_found_by_lesson_3);
    tcase_add_test(tcase, a_bucket_that_is_not_reduced_on_any_rank_is_found_by_lesson_3);
    tcase_add_test(tcase, two_chunks_swapped_are_found_by_lesson_2);
    tcase_add_test(tcase, a_chunk_stored_in_anothers_place_is_found_by_lesson_2);
    tcase_add_test(tcase, a_nan_on_one_side_is_found_by_lesson_2);
    tcase_add_test(tcase, a_tree_that_forgets_its_own_part_is_found_by_lesson_2);
    tcase_add_test(tcase, halves_given_in_another_order_are_found_by_lesson_2);
    tcase_add_test(tcase, direct_parts_folded_from_their_owner_on_are_found_by_lesson_2);
    tcase_add_test(tcase, an_order_that_depends_on_the_cut_is_found_by_lesson_3);
    suite_add_tcase(suite, tcase);
    return suite;
}
