/*
 * Mistakes that only show with layers or units left out, tied weights or recomputed activations: each
 * lesson's proof must find them as it finds the others (test_mutants.c).
 */
#include "tests/mutants.h"
#include "tests/suites.h"

#include <check.h>

START_TEST(masks_that_differ_by_rank_are_found_by_lesson_2)
{
    static const struct mutant mutant = {
        .file = "lesson01_single/trainer.c",
        .text = "pass.dropout.step = step->index;",
        .mistake = "pass.dropout.step = step->index + 1000 * trainer->rank;",
        .lesson = {2, 2},
        .arguments = "--steps 2 --dropout 0.3",
        .proof = "verify step 0: gradient after the sum ~ lesson 1's gradient of the whole batch",
        .place = "first at fc1.",
    };
    mutant_must_be_caught(&mutant);
}
END_TEST

/* The reference draws its masks by the data set's index, not by the row. */
START_TEST(masks_that_belong_to_rows_are_found_by_the_slope)
{
    static const struct mutant mutant = {
        .file = "lesson01_single/dropout.c",
        .text = "rng.sub = dropout->by_row ? (uint32_t)row : dropout->samples[row];",
        .mistake = "rng.sub = (uint32_t)row;",
        .lesson = {1, 1},
        .arguments = "--steps 1 --dropout 0.3",
        .proof = "verify step 0: gradient ~ slope of the loss",
        .place = "first at fc",
    };
    mutant_must_be_caught(&mutant);
}
END_TEST

START_TEST(a_gradient_that_was_not_scaled_back_is_found_by_the_slope)
{
    static const struct mutant mutant = {
        .file = "lesson01_single/dropout.c",
        .text = "dy[i] *= scale;",
        .mistake = "dy[i] *= 1;",
        .lesson = {1, 1},
        .arguments = "--steps 1 --dropout 0.5",
        .proof = "verify step 0: gradient ~ slope of the loss",
        .place = "first at fc1.",
    };
    mutant_must_be_caught(&mutant);
}
END_TEST

/* What a layer that is left out had in the step before goes on as its gradient. */
START_TEST(an_unused_gradient_that_is_the_last_steps_is_found_by_lesson_2)
{
    static const struct mutant mutant = {
        .file = "lesson01_single/trainer.c",
        .text = "    memset(trainer->grad, 0, trainer->model->count * sizeof *trainer->grad);",
        .mistake = "    for (size_t i = 0; i < trainer->model->tensor_count; i++) {\n"
                   "        struct tensor tensor = trainer->model->tensors[i];\n"
                   "        if (!(pass.skipped >> tensor.last_use & 1))\n"
                   "            memset(trainer->grad + tensor.slice.begin, 0,\n"
                   "                   tensor.slice.count * sizeof(float));\n"
                   "    }",
        .lesson = {2, 2},
        .arguments = "--steps 6 --verify 6 --hidden 16,16 --layer-drop 0.5",
        .proof = "gradient after the sum ~ the whole batch in double, each rank's layers left out",
        .place = "first at fc2.",
    };
    mutant_must_be_caught(&mutant);
}
END_TEST

START_TEST(the_gradient_of_one_use_only_is_found_by_the_slope)
{
    static const struct mutant mutant = {
        .file = "lesson01_single/model.c",
        .text = "    if (!weight->frozen && !skipped)\n",
        .mistake = "    if (weight->uses > 1)\n"
                   "        memset(walk->grad + weight->slice.begin, 0,\n"
                   "               weight->slice.count * sizeof(float));\n"
                   "    if (!weight->frozen && !skipped)\n",
        .lesson = {1, 1},
        .arguments = "--steps 1 --hidden 16,16,16 --tie fc3=fc2",
        .proof = "verify step 0: gradient ~ slope of the loss",
        .place = "first at fc2.weight[",
    };
    mutant_must_be_caught(&mutant);
}
END_TEST

START_TEST(a_mask_drawn_anew_in_recomputation_is_found_by_the_slope)
{
    static const struct mutant mutant = {
        .file = "lesson01_single/model.c",
        .text = "    for (size_t again = kept; again < layer; again++)\n"
                "        go_forward(walk, again);",
        .mistake = "    struct pass other = *walk->pass;\n"
                   "    struct walk wrong = *walk;\n"
                   "    wrong.pass = &other;\n"
                   "    other.dropout.step++;\n"
                   "    for (size_t again = kept; again < layer; again++)\n"
                   "        go_forward(&wrong, again);",
        .lesson = {1, 1},
        .arguments = "--steps 1 --hidden 16,16,16,16 --dropout 0.3 --recompute 2",
        .proof = "verify step 0: gradient ~ slope of the loss",
        .place = "first at fc",
    };
    mutant_must_be_caught(&mutant);
}
END_TEST

/* The replay keeps everything. */
START_TEST(a_layer_that_is_not_computed_again_is_found_by_lesson_2)
{
    static const struct mutant mutant = {
        .file = "lesson01_single/model.c",
        .text = "    if (kept == layer || kept == activations->held)",
        .mistake = "    if (kept == layer || kept == activations->held || kept == 0)",
        .lesson = {2, 2},
        .arguments = "--steps 1 --hidden 16,16,16,16 --recompute 2",
        .proof = "verify step 0: gradient after the ring = lesson 1's shares added in ring order",
        .place = "first at fc",
    };
    mutant_must_be_caught(&mutant);
}
END_TEST

START_TEST(a_layer_that_is_not_computed_again_is_found_under_compression_too)
{
    static const struct mutant mutant = {
        .file = "lesson01_single/model.c",
        .text = "    if (kept == layer || kept == activations->held)",
        .mistake = "    if (kept == layer || kept == activations->held || kept == 0)",
        .lesson = {3, 2},
        .arguments = "--steps 1 --hidden 16,16,16,16 --recompute 2 --compress bf16",
        .proof = "verify step 0: compressed buckets = the same compression after backward",
        .place = "first at fc",
    };
    mutant_must_be_caught(&mutant);
}
END_TEST

Suite *model_mutants_suite(void)
{
    Suite *suite = suite_create("model_mutants");
    TCase *tcase = tcase_create("model_mutants");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, masks_that_differ_by_rank_are_found_by_lesson_2);
    tcase_add_test(tcase, masks_that_belong_to_rows_are_found_by_the_slope);
    tcase_add_test(tcase, a_gradient_that_was_not_scaled_back_is_found_by_the_slope);
    tcase_add_test(tcase, an_unused_gradient_that_is_the_last_steps_is_found_by_lesson_2);
    tcase_add_test(tcase, the_gradient_of_one_use_only_is_found_by_the_slope);
    tcase_add_test(tcase, a_mask_drawn_anew_in_recomputation_is_found_by_the_slope);
    tcase_add_test(tcase, a_layer_that_is_not_computed_again_is_found_by_lesson_2);
    tcase_add_test(tcase, a_layer_that_is_not_computed_again_is_found_under_compression_too);
    suite_add_tcase(suite, tcase);
    return suite;
}
