/* The learning rate of an update, by hand: counted in updates, and nothing else. */
#include "lesson01_single/schedule.h"
#include "tests/suites.h"

#include <check.h>
#include <math.h>
#include <stdbool.h>

enum { UPDATES = 20 };

static struct options options_for(enum schedule_kind schedule)
{
    return (struct options){
        .schedule = schedule, .lr = 0.1, .batch = 64, .accumulate = 1, .halve_every = 15};
}

static bool near(double found, double expected)
{
    return fabs(found - expected) <= 0x1p-50;
}

START_TEST(constant_stays)
{
    struct options options = options_for(SCHEDULE_CONSTANT);
    for (size_t update = 0; update < UPDATES; update++)
        ck_assert(schedule_lr(&options, update, UPDATES) == 0.1);
}
END_TEST

/* A scheduler that is advanced by each of 3 ranks would halve after 5 updates. */
START_TEST(halve_halves_after_fifteen_updates_and_not_before)
{
    struct options options = options_for(SCHEDULE_HALVE);
    for (size_t update = 0; update < 60; update++)
        ck_assert(schedule_lr(&options, update, 60) == ldexp(0.1, -(int)(update / 15)));
    ck_assert(schedule_lr(&options, 14, 60) == 0.1);
    ck_assert(schedule_lr(&options, 15, 60) == 0.05);
}
END_TEST

START_TEST(linear_falls_in_equal_steps_to_one_step_above_zero)
{
    struct options options = options_for(SCHEDULE_LINEAR);
    ck_assert(schedule_lr(&options, 0, UPDATES) == 0.1);
    ck_assert(near(schedule_lr(&options, 10, UPDATES), 0.05));
    ck_assert(near(schedule_lr(&options, 19, UPDATES), 0.005));
}
END_TEST

START_TEST(cosine_starts_full_and_is_halved_in_the_middle)
{
    struct options options = options_for(SCHEDULE_COSINE);
    ck_assert(schedule_lr(&options, 0, UPDATES) == 0.1);
    ck_assert(near(schedule_lr(&options, 5, UPDATES), 0.1 * (1 + sqrt(0.5)) / 2));
    ck_assert(near(schedule_lr(&options, 10, UPDATES), 0.05));
    ck_assert(schedule_lr(&options, 19, UPDATES) > 0);
}
END_TEST

START_TEST(warmup_rises_to_the_full_rate_and_the_schedule_starts_there)
{
    struct options options = options_for(_i);
    options.warmup = 4;
    for (size_t update = 0; update < 4; update++)
        ck_assert(near(schedule_lr(&options, update, UPDATES), 0.025 * (double)(update + 1)));
    ck_assert(near(schedule_lr(&options, 4, UPDATES), 0.1));
}
END_TEST

START_TEST(a_run_of_one_update_trains_at_the_full_rate)
{
    struct options options = options_for(_i);
    ck_assert(schedule_lr(&options, 0, 1) == 0.1);
    options.warmup = 1;
    ck_assert(schedule_lr(&options, 0, 1) == 0.1);
}
END_TEST

START_TEST(a_warmup_longer_than_the_run_never_arrives)
{
    struct options options = options_for(SCHEDULE_LINEAR);
    options.warmup = 40;
    ck_assert(near(schedule_lr(&options, 19, UPDATES), 0.05));
}
END_TEST

START_TEST(scaling_counts_the_samples_of_a_full_update)
{
    struct options options = options_for(SCHEDULE_CONSTANT);
    options.batch = 128;
    options.accumulate = 2; // 256 samples: 4 times 64
    ck_assert(schedule_lr(&options, 0, UPDATES) == 0.1);
    options.lr_scale = LR_SCALE_LINEAR;
    ck_assert(near(schedule_lr(&options, 0, UPDATES), 0.4));
    options.lr_scale = LR_SCALE_SQRT;
    ck_assert(near(schedule_lr(&options, 0, UPDATES), 0.2));
}
END_TEST

Suite *schedule_suite(void)
{
    Suite *suite = suite_create("schedule");
    TCase *tcase = tcase_create("schedule");
    tcase_add_test(tcase, constant_stays);
    tcase_add_test(tcase, halve_halves_after_fifteen_updates_and_not_before);
    tcase_add_test(tcase, linear_falls_in_equal_steps_to_one_step_above_zero);
    tcase_add_test(tcase, cosine_starts_full_and_is_halved_in_the_middle);
    tcase_add_loop_test(tcase, warmup_rises_to_the_full_rate_and_the_schedule_starts_there, 0, 4);
    tcase_add_loop_test(tcase, a_run_of_one_update_trains_at_the_full_rate, 0, 4);
    tcase_add_test(tcase, a_warmup_longer_than_the_run_never_arrives);
    tcase_add_test(tcase, scaling_counts_the_samples_of_a_full_update);
    suite_add_tcase(suite, tcase);
    return suite;
}
