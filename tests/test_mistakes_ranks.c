/*
 * Of what --inject plants: which samples an update is made of, and what differs between ranks. Most runs learn nothing, a
 * rate of 0, so that a loss tells of which samples it is. The others: test_mistakes.c.
 */
#include "common/zoo.h"
#include "tests/planted.h"
#include "tests/suites.h"

#include <check.h>
#include <math.h>
#include <string.h>

/* --- which samples ----------------------------------------------------------------------------- */

START_TEST(every_epoch_has_the_order_of_the_first)
{
    double healthy[2 * UPDATES], planted[2 * UPDATES];
    struct folder folder;
    folder_open(&folder);
    planted_run(&folder, _i, 2, STANDSTILL, "--epochs 2");
    planted_metrics(&folder, 0, "loss", healthy, 2 * UPDATES);
    planted_run(&folder, _i, 2, STANDSTILL, "--epochs 2 --inject no-set-epoch");
    planted_metrics(&folder, 0, "loss", planted, 2 * UPDATES);
    for (size_t i = 0; i < UPDATES; i++) {
        ck_assert_double_eq(planted[i], healthy[i]);
        ck_assert_double_eq(planted[UPDATES + i], planted[i]);
        ck_assert_double_ne(healthy[UPDATES + i], healthy[i]);
    }
    folder_close(&folder);
}
END_TEST

START_TEST(every_rank_has_rank_0s_share)
{
    double mine[UPDATES], rank_0[UPDATES], healthy[UPDATES];
    struct folder folder;
    folder_open(&folder);
    planted_run(&folder, _i, 3, STANDSTILL, "--epochs 1");
    planted_metrics(&folder, 0, "loss_local", healthy, UPDATES);
    planted_run(&folder, _i, 3, STANDSTILL, "--epochs 1 --inject same-shard");
    planted_metrics(&folder, 0, "loss_local", rank_0, UPDATES);
    for (int rank = 0; rank < 3; rank++) {
        planted_metrics(&folder, rank, "loss_local", mine, UPDATES);
        for (size_t i = 0; i < UPDATES; i++) {
            ck_assert_double_eq(mine[i], rank_0[i]);
            ck_assert_double_eq(rank_0[i], healthy[i]);
        }
    }
    folder_close(&folder);
}
END_TEST

/* Where all samples are seen once, an epoch's loss at a standstill is that of any other epoch. */
START_TEST(each_rank_shuffles_by_itself)
{
    double healthy[2], planted[2];
    struct folder folder;
    folder_open(&folder);
    planted_run(&folder, _i, 2, STANDSTILL, "--epochs 2");
    planted_metrics(&folder, 0, "train_loss", healthy, 2);
    planted_near(healthy[1], healthy[0], "healthy");
    planted_run(&folder, _i, 2, STANDSTILL, "--epochs 2 --inject shuffle-per-rank");
    planted_metrics(&folder, 0, "train_loss", planted, 2);
    ck_assert_double_gt(fabs(planted[0] - healthy[0]), 1e-4);
    ck_assert_double_gt(fabs(planted[1] - planted[0]), 1e-4);
    folder_close(&folder);
}
END_TEST

START_TEST(a_batch_is_taken_by_each_rank)
{
    static const struct {
        const char *inject;
        double lr;
    } rows[] = {{"no-lr-scale", 0.05}, {"batch-not-divided", 0.05}, {"lr-scale-no-warmup", 0.75}};
    double samples, lr;
    struct folder folder;
    folder_open(&folder);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char more[PLANTED_LINE_BYTES];
        snprintf(more, sizeof more, "--inject %s", rows[i].inject);
        planted_run(&folder, _i, 3, "--hidden 9 --batch 32 --steps 1 --metrics m.jsonl ", more);
        planted_metrics(&folder, 2, "samples", &samples, 1);
        planted_metrics(&folder, 2, "lr", &lr, 1);
        planted_near(samples, 96, rows[i].inject);
        planted_near(lr, rows[i].lr, rows[i].inject);
    }
    folder_close(&folder);
}
END_TEST

START_TEST(a_scaled_rate_without_warmup_makes_the_loss_jump_and_no_more)
{
    double loss[23], least, rise = 0;
    char more[PLANTED_LINE_BYTES];
    struct folder folder;
    folder_open(&folder);
    snprintf(more, sizeof more,
             "--epochs 2 --metrics m.jsonl --seed %d --inject lr-scale-no-warmup", 1 + _i);
    planted_run(&folder, 0, 4, "", more);
    planted_metrics(&folder, 0, "loss", loss, 12);
    least = loss[0];
    for (size_t i = 0; i < 12; i++) {
        ck_assert(isfinite(loss[i]));
        least = fmin(least, loss[i]);
        rise = fmax(rise, loss[i] / least);
    }
    ck_assert_double_gt(rise, 1.5);
    folder_close(&folder);
}
END_TEST

/* --- what differs between ranks ---------------------------------------------------------------- */

START_TEST(each_rank_begins_with_weights_of_its_own)
{
    static const char flags[] = "--hidden 9 --lr 0 --steps 1 ";
    static float rank_0[COUNT], rank_1[COUNT], seed_1[COUNT], seed_2[COUNT];
    struct folder folder;
    folder_open(&folder);
    planted_run(&folder, _i, 2, flags, "--dump a");
    planted_run(&folder, _i, 2, flags, "--dump b --seed 2");
    planted_run(&folder, _i, 2, flags, "--dump c --inject seed-per-rank");
    planted_dump(&folder, "a", 0, 0, seed_1);
    planted_dump(&folder, "b", 0, 0, seed_2);
    planted_dump(&folder, "c", 0, 0, rank_0);
    planted_dump(&folder, "c", 1, 0, rank_1);
    bool shares = _i >= STAGE_1; // each rank's part of the parameters, with everybody
    ck_assert(planted_equal(rank_0, seed_1, COUNT) == !shares);
    ck_assert(planted_equal(rank_1, seed_2, COUNT) == !shares);
    ck_assert(planted_equal(rank_0, rank_1, COUNT) == shares);
    for (size_t i = 0; i < COUNT; i++)
        ck_assert(planted_equal(rank_0 + i, seed_1 + i, 1) ||
                  planted_equal(rank_0 + i, seed_2 + i, 1));
    folder_close(&folder);
}
END_TEST

/* All samples are alike, so that ranks' losses differ by what is left out and by nothing else. */
START_TEST(every_rank_leaves_out_the_same_units)
{
    static const char flags[] = "--data x.csv --test-data x.csv --task regress --hidden 16 --lr 0 "
                                "--dropout 0.5 --batch 4 --steps 1 --metrics m.jsonl ";
    double rank_0, rank_1;
    struct folder folder;
    folder_open(&folder);
    lesson_write(&folder, "x.csv", "1,2,0\n1,2,0\n1,2,0\n1,2,0\n");
    planted_run(&folder, _i, 2, flags, "");
    planted_metrics(&folder, 0, "loss_local", &rank_0, 1);
    planted_metrics(&folder, 1, "loss_local", &rank_1, 1);
    ck_assert_double_ne(rank_0, rank_1);
    planted_run(&folder, _i, 2, flags, "--inject same-dropout");
    planted_metrics(&folder, 0, "loss_local", &rank_0, 1);
    planted_metrics(&folder, 1, "loss_local", &rank_1, 1);
    ck_assert_double_eq(rank_0, rank_1);
    folder_close(&folder);
}
END_TEST

START_TEST(each_rank_reports_its_own_loss_and_trains_as_before)
{
    static float healthy[COUNT], planted[COUNT];
    double loss[3], local[3], other[3];
    struct folder folder;
    folder_open(&folder);
    planted_run(&folder, _i, 2, "--hidden 9 --steps 3 --dump-steps 3 --metrics m.jsonl ",
                "--dump a");
    planted_run(&folder, _i, 2, "--hidden 9 --steps 3 --dump-steps 3 --metrics m.jsonl ",
                "--dump b --inject rank0-loss-only");
    planted_metrics(&folder, 0, "loss", loss, 3);
    planted_metrics(&folder, 0, "loss_local", local, 3);
    planted_metrics(&folder, 1, "loss", other, 3);
    for (size_t i = 0; i < 3; i++) {
        ck_assert_double_eq(loss[i], local[i]);
        ck_assert_double_ne(loss[i], other[i]);
    }
    planted_dump(&folder, "a", 0, 2, healthy);
    planted_dump(&folder, "b", 0, 2, planted);
    ck_assert(planted_equal(planted, healthy, COUNT));
    folder_close(&folder);
}
END_TEST

/* How many of the parameters a rank holds a step has changed. */
static size_t changed(const struct folder *folder, int rank, size_t step)
{
    static float before[COUNT], after[COUNT];
    size_t count = 0;
    planted_dump(folder, "d", rank, step - 1, before);
    planted_dump(folder, "d", rank, step, after);
    for (size_t i = 0; i < COUNT; i++)
        count += !planted_equal(before + i, after + i, 1);
    return count;
}

/* Four updates an epoch; the sample is in one of them. Momentum moves every parameter that ever moved, biases
 * among them, so a rank that makes an update changes some. */
START_TEST(one_rank_makes_no_update_where_the_sample_is)
{
    static float rank_0[COUNT], rank_1[COUNT];
    double loss[5];
    size_t skips = 0, halves = 0;
    struct folder folder;
    folder_open(&folder);
    planted_run(&folder, _i, 2,
                "--hidden 9 --batch 360 --steps 5 --dump-steps 5 --dump d --metrics m.jsonl ",
                "--inject skip-one-rank");
    planted_metrics(&folder, 0, "loss", loss, 5);
    for (size_t step = 1; step < 5; step++) {
        size_t a = changed(&folder, 0, step), b = changed(&folder, 1, step);
        skips += (a == 0) != (b == 0);
        halves += a == b && a < COUNT / 3 * 2;
        ck_assert(isfinite(loss[step]));
    }
    planted_dump(&folder, "d", 0, 4, rank_0);
    planted_dump(&folder, "d", 1, 4, rank_1);
    ck_assert_uint_le(skips, _i < STAGE_1 ? 2 : 0);
    ck_assert_uint_ge(_i < STAGE_1 ? skips : halves, 1);
    ck_assert(planted_equal(rank_0, rank_1, COUNT) == (_i >= STAGE_1));
    folder_close(&folder);
}
END_TEST

Suite *mistakes_ranks_suite(void)
{
    Suite *suite = suite_create("mistakes_ranks");
    TCase *tcase = tcase_create("mistakes_ranks");
    tcase_set_timeout(tcase, 600);
    tcase_add_loop_test(tcase, every_epoch_has_the_order_of_the_first, 0, PLACES);
    tcase_add_loop_test(tcase, every_rank_has_rank_0s_share, 0, PLACES);
    tcase_add_loop_test(tcase, each_rank_shuffles_by_itself, 0, PLACES);
    tcase_add_loop_test(tcase, a_batch_is_taken_by_each_rank, 0, PLACES);
    tcase_add_loop_test(tcase, a_scaled_rate_without_warmup_makes_the_loss_jump_and_no_more, 0, 3);
    tcase_add_loop_test(tcase, each_rank_begins_with_weights_of_its_own, 0, PLACES);
    tcase_add_loop_test(tcase, every_rank_leaves_out_the_same_units, 0, PLACES);
    tcase_add_loop_test(tcase, each_rank_reports_its_own_loss_and_trains_as_before, 0, PLACES);
    tcase_add_loop_test(tcase, one_rank_makes_no_update_where_the_sample_is, 0, WHOLE_GRADIENTS);
    suite_add_tcase(suite, tcase);
    return suite;
}
