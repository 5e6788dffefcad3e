/* What a rank keeps at stages 2 and 3, and when parameters come and go: against tables written by hand.
 * (That an update sends the messages which follow from them, test_explain_buckets.c shows.) */
#include "lesson04_zero/explain_stage.h"
#include "tests/suites.h"

#include <check.h>
#include <stdlib.h>

/* Three layers, floats 12 4 | 16 4 | 8 2; a bucket for each. */
struct bench {
    struct model model;
    struct bucket_plan plan;
    struct script script;
    struct explain_stage explain;
};

static void bench_open(struct bench *bench)
{
    static const size_t widths[] = {3, 4, 4, 2};
    model_plan(&bench->model, widths, 3, true);
    struct bucket_order order = bucket_order_reverse(&bench->model);
    bucket_plan_make(&bench->plan, &bench->model, &order, 40, 80);
    ck_assert_uint_eq(bench->plan.count, 3);
    bench->script =
        (struct script){.uses = {0, 1, 2, 2, 1, 0}, .use_count = 6, .open_with = {1, 2, 4}};
    bench->explain = (struct explain_stage){.stage = 3,
                                            .model = &bench->model,
                                            .plan = &bench->plan,
                                            .script = &bench->script,
                                            .sharded = 7,
                                            .world = 3,
                                            .accumulate = 1};
}

static void check_text(const struct explain_stage *explain, const char *expected)
{
    char *text = NULL;
    size_t size_bytes = 0;
    FILE *out = open_memstream(&text, &size_bytes);
    ck_assert_ptr_nonnull(out);
    explain_stage(out, explain);
    fclose(out);
    ck_assert_str_eq(text, expected);
    free(text);
}

static void check_gathers(const struct explain_stage *explain, size_t a, size_t b, size_t c)
{
    size_t gathers[MODEL_TENSORS_MOST];
    explain_stage_gathers(explain, gathers);
    ck_assert_msg(gathers[0] == a && gathers[1] == b && gathers[2] == c, "%zu %zu %zu", gathers[0],
                  gathers[1], gathers[2]);
}

/* The last layer is used twice running, and gathered once; so is the first, by micro-batches. */
START_TEST(the_walk_of_three_layers_is_that_by_hand)
{
    struct bench bench;
    bench_open(&bench);
    check_text(
        &bench.explain,
        "\nAt stage 3 a rank keeps:\n\n"
        "    bucket   elements  of rank 0  state    gradient  parameters\n"
        "         0         10          4  a chunk  a chunk   a chunk\n"
        "         1         20          7  a chunk  a chunk   a chunk\n"
        "         2         16          6  a chunk  a chunk   a chunk\n"
        "\n"
        "Gradients are filled in 3 buffers of 20, 16, 10 floats, which buckets take turns in.\n"
        "Parameters are gathered into 2 buffers of 20, 16 floats.\n"
        "\nBefore a layer computes, buckets are dropped; while it computes, those of the next "
        "are gathered:\n\n"
        "    use     gathers    drops      here\n"
        "    begin   2          -          2\n"
        "    fc1     1          -          1 2\n"
        "    fc2     0          2          0 1\n"
        "    fc3     -          1          0\n"
        "    fc3     1          -          0 1\n"
        "    fc2     2          0          1 2\n"
        "    fc1     -          1          2\n");
    check_gathers(&bench.explain, 1, 2, 2);
    bench.explain.accumulate = 3;
    check_gathers(&bench.explain, 3, 6, 4);
}
END_TEST

/* Buckets 0 and 2 are small; what stays is gathered once, after the update. */
START_TEST(a_bucket_that_stays_is_never_dropped)
{
    struct bench bench;
    bench_open(&bench);
    bench.explain.sharded = 2;
    bench.explain.accumulate = 2;
    bench.explain.keeps_all = true;
    check_text(
        &bench.explain,
        "\nAt stage 3 a rank keeps:\n\n"
        "    bucket   elements  of rank 0  state    gradient  parameters\n"
        "         0         10          4  a chunk  a chunk   a chunk, and the whole: it stays\n"
        "         1         20          7  a chunk  a chunk   a chunk\n"
        "         2         16          6  a chunk  a chunk   a chunk, and the whole: it stays\n"
        "\n"
        "Gradients are filled in 3 buffers of 20, 16, 10 floats: all are kept until the last of "
        "2 micro-batches.\n"
        "Parameters are gathered into 1 buffer of 20 floats.\n"
        "\nBefore a layer computes, buckets are dropped; while it computes, those of the next "
        "are gathered:\n\n"
        "    use     gathers    drops      here\n"
        "    begin   -          -          -\n"
        "    fc1     1          -          1\n"
        "    fc2     -          -          1\n"
        "    fc3     -          1          -\n"
        "    fc3     1          -          1\n"
        "    fc2     -          -          1\n"
        "    fc1     -          1          -\n"
        "\nEach of 2 micro-batches goes through it, from fc1 on.\n");
    check_gathers(&bench.explain, 1, 4, 1);
}
END_TEST

START_TEST(stage_2_keeps_parameters_whole_and_gathers_once)
{
    struct bench bench;
    bench_open(&bench);
    bench.explain.stage = 2;
    bench.explain.sharded = 0;
    bench.explain.keeps_all = true;
    check_text(
        &bench.explain,
        "\nAt stage 2 a rank keeps:\n\n"
        "    bucket   elements  of rank 0  state    gradient  parameters\n"
        "         0         10          4  a chunk  a chunk   the whole\n"
        "         1         20          7  a chunk  a chunk   the whole\n"
        "         2         16          6  a chunk  a chunk   the whole\n"
        "\n"
        "Gradients are filled in 3 buffers of 20, 16, 10 floats: all are kept until backward "
        "has ended.\n");
    check_gathers(&bench.explain, 1, 1, 1);
}
END_TEST

Suite *explain_stage_suite(void)
{
    Suite *suite = suite_create("explain_stage");
    TCase *tcase = tcase_create("explain_stage");
    tcase_add_test(tcase, the_walk_of_three_layers_is_that_by_hand);
    tcase_add_test(tcase, a_bucket_that_stays_is_never_dropped);
    tcase_add_test(tcase, stage_2_keeps_parameters_whole_and_gathers_once);
    suite_add_tcase(suite, tcase);
    return suite;
}
