/* Every rank makes the same steps, and together they see each sample once an epoch. */
#include "common/sampler.h"
#include "tests/suites.h"

#include <check.h>
#include <errno.h>
#include <string.h>

enum { SAMPLES_MOST = 256, WORLDS = 7 };

static const struct run {
    size_t count, batch, accumulate;
    bool drop_last;
    size_t steps; // an epoch
} runs[] = {
    {12, 4, 1, false, 3},  {12, 5, 1, false, 3},   {12, 5, 1, true, 2},   {100, 33, 1, false, 4},
    {100, 33, 3, true, 1}, {100, 33, 3, false, 2}, {100, 8, 4, false, 4}, {130, 64, 1, false, 3},
    {1, 64, 1, false, 1},  {3, 64, 8, false, 1},   {64, 64, 1, true, 1},  {101, 1, 1, false, 101},
    {13, 3, 2, false, 3},  {10, 4, 2, true, 1},    {97, 96, 1, false, 2}, {97, 3, 32, false, 2},
};
enum { RUNS = sizeof runs / sizeof *runs };

static struct options options_of(const struct run *run)
{
    return (struct options){.batch = run->batch,
                            .accumulate = run->accumulate,
                            .drop_last = run->drop_last,
                            .shuffle = true,
                            .seed = 1,
                            .epochs = 3};
}

static void start(struct sampler *sampler, const struct run *run)
{
    struct options options = options_of(run);
    struct fail fail = {0};
    ck_assert_msg(sampler_init(sampler, run->count, &options, NULL, &fail) == 0, "%s", fail.text);
}

/* Shares of a step follow one another, rank after rank and micro-batch after micro-batch. Returns
 * the position behind the last. */
static size_t walk_step(const struct sampler *sampler, const struct step *step, size_t world)
{
    size_t end = step->samples.begin;
    size_t micro_batches = sampler_micro_batches(sampler, step);
    ck_assert(micro_batches >= 1 && micro_batches <= sampler->accumulate);
    for (size_t m = 0; m < micro_batches; m++) {
        size_t begin = end, least = SIZE_MAX, most = 0;
        for (size_t rank = 0; rank < world; rank++) {
            struct slice share = sampler_share(sampler, step, m, world, rank);
            ck_assert_uint_eq(share.begin, end);
            end += share.count;
            least = share.count < least ? share.count : least;
            most = share.count > most ? share.count : most;
        }
        ck_assert_uint_le(most - least, 1);
        ck_assert_uint_gt(end, begin);
        if (m + 1 < micro_batches)
            ck_assert_uint_eq(end - begin, sampler->batch);
    }
    ck_assert_uint_eq(end, step->samples.begin + step->samples.count);
    return end;
}

START_TEST(shares_tile_the_epoch_in_every_world)
{
    const struct run *run = &runs[_i];
    size_t window = run->batch * run->accumulate;
    size_t used = run->drop_last ? run->count / window * window : run->count;
    struct sampler sampler;
    start(&sampler, run);
    ck_assert_uint_eq(sampler.steps_per_epoch, run->steps);
    for (size_t world = 1; world <= WORLDS; world++) {
        size_t end = 0;
        for (size_t index = 0; index < run->steps; index++) {
            struct step step = sampler_step(&sampler, index);
            ck_assert_uint_eq(step.samples.begin, end);
            ck_assert_uint_eq(step.epoch, 0);
            ck_assert_int_eq(step.last_of_epoch, index + 1 == run->steps);
            end = walk_step(&sampler, &step, world);
        }
        ck_assert_uint_eq(end, used);
    }
    sampler_release(&sampler);
}
END_TEST

START_TEST(the_next_epoch_begins_with_the_next_step)
{
    const struct run *run = &runs[_i];
    struct sampler sampler;
    start(&sampler, run);
    for (size_t index = 0; index < 3 * run->steps; index++) {
        struct step step = sampler_step(&sampler, index);
        ck_assert_uint_eq(step.index, index);
        ck_assert_uint_eq(step.epoch, index / run->steps);
        ck_assert_uint_eq(step.samples.begin,
                          sampler_step(&sampler, index % run->steps).samples.begin);
    }
    sampler_release(&sampler);
}
END_TEST

/* The data set indices that all ranks train on in an epoch, rank after rank within a step. */
static size_t indices_of(size_t epoch, size_t world, const struct run *run, uint32_t *indices)
{
    struct sampler samplers[WORLDS];
    size_t count = 0;
    for (size_t rank = 0; rank < world; rank++)
        start(&samplers[rank], run);
    for (size_t i = 0; i < run->steps; i++) {
        struct step step = sampler_step(&samplers[0], epoch * run->steps + i);
        for (size_t m = 0; m < sampler_micro_batches(&samplers[0], &step); m++)
            for (size_t rank = 0; rank < world; rank++) {
                struct slice share = sampler_share(&samplers[rank], &step, m, world, rank);
                const uint32_t *order = sampler_order(&samplers[rank], step.epoch);
                memcpy(indices + count, order + share.begin, share.count * sizeof *order);
                count += share.count;
            }
    }
    for (size_t rank = 0; rank < world; rank++)
        sampler_release(&samplers[rank]);
    return count;
}

START_TEST(ranks_cover_the_data_once_an_epoch_in_another_order_each_time)
{
    enum { COUNT = 12, EPOCHS = 3 };
    static const struct run run = {COUNT, 4, 1, false, 3};
    uint32_t orders[EPOCHS][COUNT], again[COUNT];
    for (size_t epoch = 0; epoch < EPOCHS; epoch++) {
        int seen[COUNT] = {0};
        ck_assert_uint_eq(indices_of(epoch, 2, &run, orders[epoch]), COUNT);
        for (size_t i = 0; i < COUNT; i++)
            seen[orders[epoch][i]]++;
        for (size_t i = 0; i < COUNT; i++)
            ck_assert_int_eq(seen[i], 1);
        for (size_t earlier = 0; earlier < epoch; earlier++)
            ck_assert_mem_ne(orders[epoch], orders[earlier], sizeof again);
        indices_of(epoch, 2, &run, again);
        ck_assert_mem_eq(orders[epoch], again, sizeof again);
    }
}
END_TEST

START_TEST(any_world_trains_on_the_same_batches)
{
    const struct run *run = &runs[_i];
    uint32_t alone[SAMPLES_MOST], together[SAMPLES_MOST];
    for (size_t epoch = 0; epoch < 2; epoch++) {
        size_t count = indices_of(epoch, 1, run, alone);
        for (size_t world = 2; world <= WORLDS; world++) {
            ck_assert_uint_eq(indices_of(epoch, world, run, together), count);
            ck_assert_mem_eq(alone, together, count * sizeof *alone);
        }
    }
}
END_TEST

START_TEST(a_rank_with_less_to_do_takes_part_in_every_step)
{
    /* 100 samples in batches of 33 over 3 ranks: 11 each, and the last sample on rank 0 alone. */
    static const struct run run = {100, 33, 1, false, 4};
    struct sampler sampler;
    start(&sampler, &run);
    ck_assert_uint_eq(sampler.steps_per_epoch, 4);
    for (size_t rank = 0; rank < 3; rank++) {
        for (size_t index = 0; index < 3; index++) {
            struct step step = sampler_step(&sampler, index);
            ck_assert_uint_eq(sampler_share(&sampler, &step, 0, 3, rank).count, 11);
        }
        struct step last = sampler_step(&sampler, 3);
        ck_assert_uint_eq(sampler_share(&sampler, &last, 0, 3, rank).count, rank == 0 ? 1 : 0);
    }
    sampler_release(&sampler);
}
END_TEST

START_TEST(unshuffled_micro_batches_follow_the_file)
{
    static const struct run run = {13, 3, 2, false, 3};
    struct options options = options_of(&run);
    struct sampler sampler;
    struct fail fail = {0};
    options.shuffle = false;
    ck_assert_int_eq(sampler_init(&sampler, run.count, &options, NULL, &fail), 0);
    for (size_t epoch = 0; epoch < 2; epoch++)
        for (size_t i = 0; i < run.count; i++)
            ck_assert_uint_eq(sampler_order(&sampler, epoch)[i], i);
    struct step step = sampler_step(&sampler, 1);
    ck_assert_uint_eq(sampler_share(&sampler, &step, 1, 1, 0).begin, 9);
    ck_assert_uint_eq(sampler_share(&sampler, &step, 1, 1, 0).count, 3);
    sampler_release(&sampler);
}
END_TEST

START_TEST(an_epoch_asked_for_again_has_its_order_again)
{
    static const struct run run = {100, 8, 1, false, 13};
    struct sampler sampler;
    uint32_t first[100];
    start(&sampler, &run);
    memcpy(first, sampler_order(&sampler, 0), sizeof first);
    ck_assert_mem_ne(sampler_order(&sampler, 1), first, sizeof first);
    ck_assert_mem_eq(sampler_order(&sampler, 0), first, sizeof first);
    sampler_release(&sampler);
}
END_TEST

START_TEST(what_is_planted_is_drawn_and_cut_as_the_header_says)
{
    static const struct run run = {100, 8, 1, false, 13};
    struct sampler right, planted;
    start(&right, &run);
    start(&planted, &run);
    planted.same_order = planted.same_share = true;
    ck_assert_mem_eq(sampler_order(&planted, 5), sampler_order(&right, 0), 100 * sizeof(uint32_t));
    struct step step = sampler_step(&planted, 0);
    ck_assert_uint_eq(sampler_share(&planted, &step, 0, 3, 2).begin, 0);
    ck_assert_uint_eq(sampler_share(&planted, &step, 0, 3, 2).count, 3);
    sampler_release(&planted);
    start(&planted, &run);
    planted.order_seed++;
    ck_assert_mem_ne(sampler_order(&planted, 0), sampler_order(&right, 0), 100 * sizeof(uint32_t));
    sampler_release(&planted);
    sampler_release(&right);
}
END_TEST

/* Runs without an update, and what the refusal names. */
static const struct {
    struct run run;
    size_t epochs;
    const char *words[3];
} refusals[] = {
    {{0, 64, 1, false, 0}, 1, {"0 samples"}},
    {{100, 64, 2, true, 0}, 1, {"--batch 64", "--accumulate 2", "100 samples"}},
    {{100, SIZE_MAX, 2, true, 0}, 1, {"--drop-last", "--accumulate 2", "100 samples"}},
    {{100, 0, 1, false, 0}, 1, {"--batch"}},
    {{100, 64, 1, false, 0}, 0, {"--epochs", "--steps", "0"}},
    {{(size_t)UINT32_MAX + 1, 64, 1, false, 0}, 1, {"4294967296", "4294967295"}},
};
enum { REFUSALS = sizeof refusals / sizeof *refusals };

START_TEST(a_run_that_would_make_no_update_is_refused)
{
    struct options options = options_of(&refusals[_i].run);
    struct sampler sampler;
    struct fail fail = {0};
    options.epochs = refusals[_i].epochs;
    ck_assert_int_eq(sampler_init(&sampler, refusals[_i].run.count, &options, NULL, &fail),
                     -EINVAL);
    for (size_t i = 0; i < 3 && refusals[_i].words[i]; i++)
        ck_assert_msg(strstr(fail.text, refusals[_i].words[i]), "'%s' is not named in: %s",
                      refusals[_i].words[i], fail.text);
    sampler_release(&sampler);
}
END_TEST

START_TEST(a_window_past_what_a_count_can_hold_is_one_step)
{
    static const struct run run = {100, SIZE_MAX, SIZE_MAX, false, 1};
    struct sampler sampler;
    start(&sampler, &run);
    struct step step = sampler_step(&sampler, 7);
    ck_assert_uint_eq(step.epoch, 7);
    ck_assert_uint_eq(step.samples.count, 100);
    ck_assert_uint_eq(sampler_micro_batches(&sampler, &step), 1);
    sampler_release(&sampler);
}
END_TEST

Suite *sampler_suite(void)
{
    Suite *suite = suite_create("sampler");
    TCase *tcase = tcase_create("sampler");
    tcase_add_loop_test(tcase, shares_tile_the_epoch_in_every_world, 0, RUNS);
    tcase_add_loop_test(tcase, the_next_epoch_begins_with_the_next_step, 0, RUNS);
    tcase_add_test(tcase, ranks_cover_the_data_once_an_epoch_in_another_order_each_time);
    tcase_add_loop_test(tcase, any_world_trains_on_the_same_batches, 0, RUNS);
    tcase_add_test(tcase, a_rank_with_less_to_do_takes_part_in_every_step);
    tcase_add_test(tcase, unshuffled_micro_batches_follow_the_file);
    tcase_add_test(tcase, an_epoch_asked_for_again_has_its_order_again);
    tcase_add_test(tcase, what_is_planted_is_drawn_and_cut_as_the_header_says);
    tcase_add_loop_test(tcase, a_run_that_would_make_no_update_is_refused, 0, REFUSALS);
    tcase_add_test(tcase, a_window_past_what_a_count_can_hold_is_one_step);
    suite_add_tcase(suite, tcase);
    return suite;
}
