/* What a pass will ask for: hand-worked, and what a pass really asks for. */
#include "lesson04_zero/script.h"
#include "lesson04_zero/zero2.h"
#include "lesson04_zero/zero3.h"
#include "tests/suites.h"

#include <check.h>
#include <string.h>

/* Buckets are tensors here, the last one first: fc3.weight is 0, fc2.weight 1, fc1.weight 2. */
struct script_row {
    const char *why, *arguments;
    size_t uses[12];  // from 1, ends in 0
    size_t open_most; // buckets being filled at the same time, at most
    size_t buffers;   // of parameters
};

static const struct script_row rows[] = {
    {"up and down", "--hidden 4,4", {1, 2, 3, 3, 2, 1}, 1, 2},
    {"one layer", "--hidden none", {1, 1}, 1, 1},
    {"nothing below fc2 learns", "--hidden 4,4 --freeze fc1", {1, 2, 3, 3, 2}, 1, 2},
    /* a[3] is still there; a[1] is computed again, from a[0], before layer 2 comes back. */
    {"again for activations",
     "--hidden 4,4,4,4 --recompute 2",
     {1, 2, 3, 4, 5, 5, 4, 3, 1, 2, 1},
     1,
     3}, // each of fc1, fc2 and fc3 follows another: three buffers, of which two are in use
    /* fc2's is open from layer 3 to layer 2. */
    {"a weight used twice", "--hidden 4,4,4 --tie fc3=fc2", {1, 2, 3, 4, 4, 3, 2, 1}, 1, 2},
    /* fc2 uses fc4's weight: open from layer 4 to layer 2, while fc3's passes. */
    {"a later weight used again",
     "--hidden 4,4,4,4 --tie fc2=fc4",
     {1, 2, 3, 4, 5, 5, 4, 3, 2, 1},
     2,
     2},
};
enum { ROWS = sizeof rows / sizeof *rows };

static size_t most_of(const script_buckets *with)
{
    size_t most = 0;
    for (size_t i = 0; i < MODEL_TENSORS_MOST; i++) {
        size_t count = 0;
        for (size_t j = 0; j < MODEL_TENSORS_MOST; j++)
            count += with[i] >> j & 1;
        most = count > most ? count : most;
    }
    return most;
}

START_TEST(a_script_is_the_hand_worked_one)
{
    const struct script_row *row = &rows[_i];
    char text[256], *words[32] = {0}; // ends in NULL, as a program's do
    int count = 0;
    snprintf(text, sizeof text, "lesson --no-bias --steps 1 --quiet %s", row->arguments);
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
        words[count++] = word;
    struct run run;
    ck_assert_int_eq(run_open(&run, 1, count, words), 0);
    struct bucket_plan plan;
    struct bucket_order order = bucket_order_reverse(&run.model);
    bucket_plan_make(&plan, &run.model, &order, 0, 0);
    struct script script;
    script_rehearse(&script, &run.model, run.options.recompute, &plan);
    size_t uses = 0;
    for (; row->uses[uses]; uses++)
        ck_assert_msg(script.uses[uses] + 1 == row->uses[uses], "%s: use %zu is layer %zu",
                      row->why, uses, script.uses[uses] + 1);
    ck_assert_msg(script.use_count == uses, "%s: %zu uses", row->why, script.use_count);
    size_t open = most_of(script.open_with);
    ck_assert_msg(open == row->open_most, "%s: %zu open", row->why, open);
    struct pool_plan pool;
    zero3_plan(&pool, &script, &run.model, &plan, zero3_sharded(&plan, 0));
    ck_assert_msg(pool.count == row->buffers, "%s: %zu buffers", row->why, pool.count);
    run_close(&run);
}
END_TEST

/* 64-4-4-10-4 without biases: the first bucket sent, fc4.weight, has 40 floats; then 40, 16 and 256. */
START_TEST(buffers_are_as_many_and_as_large_as_must_be)
{
    struct model model;
    struct bucket_plan plan;
    struct pool_plan pool;
    size_t widths[5] = {64, 4, 4, 10, 4};
    model_plan(&model, widths, 4, false);
    struct bucket_order order = bucket_order_reverse(&model);
    bucket_plan_make(&plan, &model, &order, 0, 0);
    struct script script = {
        .uses = {0, 1, 2, 3, 3, 2, 1, 0}, .use_count = 8, .open_with = {1, 2, 4, 8}};
    zero2_plan(&pool, &script, &plan, false); // fc4's and fc1's are three apart: they share
    ck_assert(pool.count == 3 && pool.of_bucket[0] == 0 && pool.of_bucket[3] == 0);
    ck_assert(pool.rooms[0] == 256 && pool.rooms[1] == 40 && pool.rooms[2] == 16);
    zero2_plan(&pool, &script, &plan, true); // for each bucket its own
    ck_assert(pool.count == 4 && pool.rooms[1] == 40 && pool.rooms[2] == 40);
    ck_assert_uint_eq(zero3_sharded(&plan, 0), 15);
    ck_assert_uint_eq(zero3_sharded(&plan, 16 * sizeof(float)), 11); // fc2's stays
    zero3_plan(&pool, &script, &model, &plan, 15);                   // neighbours meet
    ck_assert(pool.count == 3 && pool.of_bucket[0] == 0 && pool.of_bucket[3] == 0);
    ck_assert(pool.rooms[0] == 256 && pool.rooms[1] == 40 && pool.rooms[2] == 16);
    zero3_plan(&pool, &script, &model, &plan, 11);
    ck_assert(pool.count == 2 && pool.of_bucket[3] == pool.of_bucket[0]);
    zero3_plan(&pool, &script, &model, &plan, 0);
    ck_assert_uint_eq(pool.count, 0);
}
END_TEST

/* Buckets that are sent while backward still adds to others take turns; else each has a place of its own. */
START_TEST(buffers_take_turns_unless_all_buckets_are_kept)
{
    struct options options = {.accumulate = 1, .overlap = true};
    ck_assert(!zero2_keeps_all(&options));
    options.accumulate = 2;
    ck_assert(zero2_keeps_all(&options));
    options = (struct options){.accumulate = 1, .overlap = false};
    ck_assert(zero2_keeps_all(&options));
}
END_TEST

Suite *script_suite(void)
{
    Suite *suite = suite_create("script");
    TCase *tcase = tcase_create("script");
    tcase_add_loop_test(tcase, a_script_is_the_hand_worked_one, 0, ROWS);
    tcase_add_test(tcase, buffers_take_turns_unless_all_buckets_are_kept);
    tcase_add_test(tcase, buffers_are_as_many_and_as_large_as_must_be);
    suite_add_tcase(suite, tcase);
    return suite;
}
