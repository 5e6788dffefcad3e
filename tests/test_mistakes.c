/*
 * What --inject plants is what the table says, measured in real runs: by what they dump, report and save.
 *
 * Most runs are small enough for the right number and the wrong one to be worked out by hand: y = w x without a
 * bias, from w = 0.5, targets 0, so that a sample's gradient is x^2. Plain SGD with a rate of 1 shows in the
 * parameters which gradient was used, in every lesson and stage alike. With a rate of 0 nothing is learnt, and a
 * loss tells of which samples it is.
 */
#include "common/zoo.h"
#include "tests/lessons.h"
#include "tests/suites.h"

#include <check.h>
#include <math.h>
#include <string.h>

enum { LINE_BYTES = 1024, STEPS_MOST = 64 };
enum { FC1 = 576, B1 = 9, FC2 = 90, B2 = 10, COUNT = FC1 + B1 + FC2 + B2 }; // --hidden 9 on digits

/* Where a mistake is made: those that need whole gradients, in the first three places. */
static const struct place {
    int lesson;
    const char *stage;
} places[] = {{2, ""}, {3, ""}, {4, "--stage 1 "}, {4, "--stage 2 "}, {4, "--stage 3 "}};
enum { PLACES = sizeof places / sizeof *places, WHOLE_GRADIENTS = 3, LESSON_3 = 1, STAGE_1 = 2 };

static const char BY_HAND[] = "--data x.csv --test-data x.csv --task regress --hidden none "
                              "--no-bias --init const:0.5 --no-shuffle --momentum 0 ";

static void run_of(const struct folder *folder, int place, int world, const char *flags,
                   const char *more)
{
    char line[2 * LINE_BYTES];
    snprintf(line, sizeof line, "%s--no-verify %s%s", places[place].stage, flags, more);
    lesson_ok(folder, (struct lesson){places[place].lesson, world}, line);
}

static void check_near(double found, double expected, const char *what)
{
    ck_assert_msg(fabs(found - expected) <= 1e-5 * (1 + fabs(expected)), "%s: %.9g, expected %.9g",
                  what, found, expected);
}

static void read_dump(const struct folder *folder, const char *dump, int rank, size_t step,
                      float param[COUNT])
{
    static const char *const names[] = {"param.fc1.weight", "param.fc1.bias", "param.fc2.weight",
                                        "param.fc2.bias"};
    static const size_t counts[] = {FC1, B1, FC2, B2};
    char path[64];
    snprintf(path, sizeof path, "%s/rank-%d/step-%06zu.safetensors", dump, rank, step);
    for (size_t i = 0; i < 4; i++) {
        lesson_read(folder, path, names[i], param, counts[i]);
        param += counts[i];
    }
}

/* By value: a bias of 0 becomes 0 or -0 at a rate of 0. */
static bool equal(const float *a, const float *b, size_t count)
{
    size_t same = 0;
    while (same < count && a[same] == b[same])
        same++;
    return same == count;
}

static void read_metrics(const struct folder *folder, int rank, const char *key, double *values,
                         size_t count)
{
    char name[32];
    double all[STEPS_MOST];
    snprintf(name, sizeof name, "m.rank-%d.jsonl", rank);
    ck_assert_uint_ge(lesson_values(folder, name, key, all, STEPS_MOST), count);
    memcpy(values, all, count * sizeof *values);
}

/* --- gradients, by hand ----------------------------------------------------------------------- */

/* What w's first update was made with; a weight of its own for each rank in lessons 2 and 3, if they differ. */
static const struct by_hand {
    int first, end; // places
    int world;
    const char *rows, *flags, *inject;
    double rank_0, rank_1;
} by_hand[] = {
    {0, PLACES, 2, "1,0\n3,0\n2,0\n4,0\n", "--batch 4", "", 7.5, 7.5},
    {0, PLACES, 2, "1,0\n3,0\n2,0\n4,0\n", "--batch 4", "sum-not-mean", 15, 15},
    {0, PLACES, 3, "1,0\n3,0\n2,0\n", "--batch 3", "sum-not-mean", 14, 14},
    {0, PLACES, 2, "1,0\n3,0\n2,0\n4,0\n", "--batch 4", "mean-twice", 3.75, 3.75},
    {0, PLACES, 3, "1,0\n3,0\n2,0\n", "--batch 3", "mean-twice", 14.0 / 9, 14.0 / 9},
    /* a micro-batch of 1, 1 and 1, and one of 4: 7 / 4; by ranks (1 + 1 + 4) / 4; by micro-batches 5 / 2 */
    {0, PLACES, 2, "1,0\n1,0\n1,0\n2,0\n", "--batch 3 --accumulate 2", "", 1.75, 1.75},
    {0, PLACES, 2, "1,0\n1,0\n1,0\n2,0\n", "--batch 3 --accumulate 2", "last-batch-unweighted", 1.5,
     1.5},
    {0, PLACES, 1, "1,0\n1,0\n1,0\n2,0\n", "--batch 3 --accumulate 2", "last-batch-unweighted", 2.5,
     2.5},
    /* of 1, 4, 9, 16, each by 4, rank 0 has 1 and 9, rank 1 has 4 and 16 */
    {0, PLACES, 2, "1,0\n2,0\n3,0\n4,0\n", "--batch 2 --accumulate 2", "", 7.5, 7.5},
    {0, 2, 2, "1,0\n2,0\n3,0\n4,0\n", "--batch 2 --accumulate 2", "sync-last-microbatch-only", 6.5,
     7.25},
    {0, 2, 2, "1,0\n2,0\n3,0\n4,0\n", "--batch 2 --accumulate 2", "sync-first-microbatch-only", 3.5,
     5.25},
    {2, 3, 2, "1,0\n2,0\n3,0\n4,0\n", "--batch 2 --accumulate 2", "sync-last-microbatch-only", 6.5,
     6.5},
    {2, 3, 2, "1,0\n2,0\n3,0\n4,0\n", "--batch 2 --accumulate 2", "sync-first-microbatch-only", 3.5,
     3.5},
    /* own means 1 and 9 */
    {0, PLACES, 2, "1,0\n3,0\n", "--batch 2 --clip 2", "", 2, 2},
    {0, 3, 2, "1,0\n3,0\n", "--batch 2 --clip 2", "clip-before-reduce", 1.5, 1.5},
    {0, 3, 3, "1,0\n3,0\n", "--batch 3 --clip 2", "clip-before-reduce", 1.5, 1.5},
    /* rank 1's sample is never seen */
    {0, PLACES, 2, "1,0\n3,0\n", "--batch 2", "same-shard", 1, 1},
};
enum { BY_HANDS = sizeof by_hand / sizeof *by_hand };

START_TEST(a_gradient_is_wrong_by_what_the_table_says)
{
    const struct by_hand *row = &by_hand[_i];
    char more[LINE_BYTES];
    struct folder folder;
    folder_open(&folder);
    lesson_write(&folder, "x.csv", row->rows);
    for (int place = row->first; place < row->end; place++) {
        snprintf(more, sizeof more, "--lr 1 --steps 1 --dump d%d %s %s%s", place, row->flags,
                 *row->inject ? "--inject " : "", row->inject);
        run_of(&folder, place, row->world, BY_HAND, more);
        for (int rank = 0; rank < row->world; rank++) {
            char path[64];
            float w;
            snprintf(path, sizeof path, "d%d/rank-%d/step-000000.safetensors", place, rank);
            lesson_read(&folder, path, "param.fc1.weight", &w, 1);
            check_near(0.5 - (double)w, rank == 1 ? row->rank_1 : row->rank_0, more);
        }
    }
    folder_close(&folder);
}
END_TEST

/* Of one sample (3, 4) with w = (0.5, 0.5) the gradient is (21, 28); each rank owns one weight. */
START_TEST(each_shard_is_clipped_by_its_own_norm)
{
    struct folder folder;
    folder_open(&folder);
    lesson_write(&folder, "x.csv", "3,4,0\n3,4,0\n");
    for (int place = STAGE_1; place < PLACES; place++) {
        float w[2];
        run_of(&folder, place, 2, BY_HAND, "--lr 1 --steps 1 --clip 1 --dump a");
        lesson_read(&folder, "a/rank-1/step-000000.safetensors", "param.fc1.weight", w, 2);
        check_near((double)w[0], 0.5 - 0.6, "healthy");
        check_near((double)w[1], 0.5 - 0.8, "healthy");
        run_of(&folder, place, 2, BY_HAND,
               "--lr 1 --steps 1 --clip 1 --dump b --inject clip-per-shard");
        lesson_read(&folder, "b/rank-1/step-000000.safetensors", "param.fc1.weight", w, 2);
        check_near((double)w[0], 0.5 - 1, "planted");
        check_near((double)w[1], 0.5 - 1, "planted");
    }
    folder_close(&folder);
}
END_TEST

/* A bucket of its own for each tensor: fc1.weight's is the last. */
START_TEST(the_last_bucket_is_of_the_step_before)
{
    static const char flags[] = "--hidden 9 --momentum 0 --lr 1 --steps 2 --bucket-kb 0.25 "
                                "--first-bucket-kb 0.25 --no-shuffle --batch 1438 ";
    static float before[COUNT], healthy[COUNT], first[COUNT], second[COUNT];
    int place = LESSON_3 + _i;
    struct folder folder;
    folder_open(&folder);
    run_of(&folder, place, 2, flags, "--lr 0 --dump z");
    run_of(&folder, place, 2, flags, "--dump a");
    run_of(&folder, place, 2, flags, "--dump b --inject stale-bucket");
    for (int rank = 0; rank < 2; rank++) {
        read_dump(&folder, "z", rank, 0, before);
        read_dump(&folder, "a", rank, 0, healthy);
        read_dump(&folder, "b", rank, 0, first);
        read_dump(&folder, "b", rank, 1, second);
        ck_assert(equal(first, before, FC1)); // of the step before there is nothing yet
        ck_assert(equal(first + FC1, healthy + FC1, COUNT - FC1));
        ck_assert(equal(second, healthy, FC1));
    }
    folder_close(&folder);
}
END_TEST

/* --- which samples ----------------------------------------------------------------------------- */

static const char STANDSTILL[] = "--hidden 9 --lr 0 --momentum 0 --metrics m.jsonl --batch 480 ";
enum { UPDATES = 3 }; // an epoch's

START_TEST(every_epoch_has_the_order_of_the_first)
{
    double healthy[2 * UPDATES], planted[2 * UPDATES];
    struct folder folder;
    folder_open(&folder);
    run_of(&folder, _i, 2, STANDSTILL, "--epochs 2");
    read_metrics(&folder, 0, "loss", healthy, 2 * UPDATES);
    run_of(&folder, _i, 2, STANDSTILL, "--epochs 2 --inject no-set-epoch");
    read_metrics(&folder, 0, "loss", planted, 2 * UPDATES);
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
    run_of(&folder, _i, 3, STANDSTILL, "--epochs 1");
    read_metrics(&folder, 0, "loss_local", healthy, UPDATES);
    run_of(&folder, _i, 3, STANDSTILL, "--epochs 1 --inject same-shard");
    read_metrics(&folder, 0, "loss_local", rank_0, UPDATES);
    for (int rank = 0; rank < 3; rank++) {
        read_metrics(&folder, rank, "loss_local", mine, UPDATES);
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
    run_of(&folder, _i, 2, STANDSTILL, "--epochs 2");
    read_metrics(&folder, 0, "train_loss", healthy, 2);
    check_near(healthy[1], healthy[0], "healthy");
    run_of(&folder, _i, 2, STANDSTILL, "--epochs 2 --inject shuffle-per-rank");
    read_metrics(&folder, 0, "train_loss", planted, 2);
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
        char more[LINE_BYTES];
        snprintf(more, sizeof more, "--inject %s", rows[i].inject);
        run_of(&folder, _i, 3, "--hidden 9 --batch 32 --steps 1 --metrics m.jsonl ", more);
        read_metrics(&folder, 2, "samples", &samples, 1);
        read_metrics(&folder, 2, "lr", &lr, 1);
        check_near(samples, 96, rows[i].inject);
        check_near(lr, rows[i].lr, rows[i].inject);
    }
    folder_close(&folder);
}
END_TEST

START_TEST(a_scaled_rate_without_warmup_makes_the_loss_jump_and_no_more)
{
    double loss[23], least, rise = 0;
    char more[LINE_BYTES];
    struct folder folder;
    folder_open(&folder);
    snprintf(more, sizeof more,
             "--epochs 2 --metrics m.jsonl --seed %d --inject lr-scale-no-warmup", 1 + _i);
    run_of(&folder, 0, 4, "", more);
    read_metrics(&folder, 0, "loss", loss, 12);
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
    run_of(&folder, _i, 2, flags, "--dump a");
    run_of(&folder, _i, 2, flags, "--dump b --seed 2");
    run_of(&folder, _i, 2, flags, "--dump c --inject seed-per-rank");
    read_dump(&folder, "a", 0, 0, seed_1);
    read_dump(&folder, "b", 0, 0, seed_2);
    read_dump(&folder, "c", 0, 0, rank_0);
    read_dump(&folder, "c", 1, 0, rank_1);
    bool shares = _i >= STAGE_1; // each rank's part of the parameters, with everybody
    ck_assert(equal(rank_0, seed_1, COUNT) == !shares);
    ck_assert(equal(rank_1, seed_2, COUNT) == !shares);
    ck_assert(equal(rank_0, rank_1, COUNT) == shares);
    for (size_t i = 0; i < COUNT; i++)
        ck_assert(equal(rank_0 + i, seed_1 + i, 1) || equal(rank_0 + i, seed_2 + i, 1));
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
    run_of(&folder, _i, 2, flags, "");
    read_metrics(&folder, 0, "loss_local", &rank_0, 1);
    read_metrics(&folder, 1, "loss_local", &rank_1, 1);
    ck_assert_double_ne(rank_0, rank_1);
    run_of(&folder, _i, 2, flags, "--inject same-dropout");
    read_metrics(&folder, 0, "loss_local", &rank_0, 1);
    read_metrics(&folder, 1, "loss_local", &rank_1, 1);
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
    run_of(&folder, _i, 2, "--hidden 9 --steps 3 --dump-steps 3 --metrics m.jsonl ", "--dump a");
    run_of(&folder, _i, 2, "--hidden 9 --steps 3 --dump-steps 3 --metrics m.jsonl ",
           "--dump b --inject rank0-loss-only");
    read_metrics(&folder, 0, "loss", loss, 3);
    read_metrics(&folder, 0, "loss_local", local, 3);
    read_metrics(&folder, 1, "loss", other, 3);
    for (size_t i = 0; i < 3; i++) {
        ck_assert_double_eq(loss[i], local[i]);
        ck_assert_double_ne(loss[i], other[i]);
    }
    read_dump(&folder, "a", 0, 2, healthy);
    read_dump(&folder, "b", 0, 2, planted);
    ck_assert(equal(planted, healthy, COUNT));
    folder_close(&folder);
}
END_TEST

/* How many of the parameters a rank holds a step has changed. */
static size_t changed(const struct folder *folder, int rank, size_t step)
{
    static float before[COUNT], after[COUNT];
    size_t count = 0;
    read_dump(folder, "d", rank, step - 1, before);
    read_dump(folder, "d", rank, step, after);
    for (size_t i = 0; i < COUNT; i++)
        count += !equal(before + i, after + i, 1);
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
    run_of(&folder, _i, 2,
           "--hidden 9 --batch 360 --steps 5 --dump-steps 5 --dump d --metrics m.jsonl ",
           "--inject skip-one-rank");
    read_metrics(&folder, 0, "loss", loss, 5);
    for (size_t step = 1; step < 5; step++) {
        size_t a = changed(&folder, 0, step), b = changed(&folder, 1, step);
        skips += (a == 0) != (b == 0);
        halves += a == b && a < COUNT / 3 * 2;
        ck_assert(isfinite(loss[step]));
    }
    read_dump(&folder, "d", 0, 4, rank_0);
    read_dump(&folder, "d", 1, 4, rank_1);
    ck_assert_uint_le(skips, _i < STAGE_1 ? 2 : 0);
    ck_assert_uint_ge(_i < STAGE_1 ? skips : halves, 1);
    ck_assert(equal(rank_0, rank_1, COUNT) == (_i >= STAGE_1));
    folder_close(&folder);
}
END_TEST

/* --- the optimizer, the evaluation, resuming ---------------------------------------------------- */

START_TEST(biases_decay)
{
    static const char flags[] = "--hidden 9 --init const:0.5 --lr 1 --momentum 0 --steps 1 "
                                "--weight-decay 0.1 ";
    static float healthy[COUNT], planted[COUNT];
    struct folder folder;
    folder_open(&folder);
    run_of(&folder, _i, 2, flags, "--dump a");
    run_of(&folder, _i, 2, flags, "--dump b --inject decay-biases");
    read_dump(&folder, "a", 0, 0, healthy);
    read_dump(&folder, "b", 0, 0, planted);
    for (size_t i = 0; i < COUNT; i++) {
        bool bias = (i >= FC1 && i < FC1 + B1) || i >= FC1 + B1 + FC2;
        check_near((double)(healthy[i] - planted[i]), bias ? 0.05 : 0, "decay");
    }
    folder_close(&folder);
}
END_TEST

/* The losses of x = 2, 4, 6 are 1, 4, 9; 5 ranks need two copies. */
START_TEST(copies_of_the_first_samples_are_counted)
{
    double loss;
    struct folder folder;
    folder_open(&folder);
    lesson_write(&folder, "x.csv", "1,0\n1,0\n1,0\n1,0\n");
    lesson_write(&folder, "t.csv", "2,0\n4,0\n6,0\n");
    static const char flags[] = "--data x.csv --test-data t.csv --task regress --hidden none "
                                "--no-bias --init const:0.5 --lr 0 --epochs 1 --metrics m.jsonl ";
    run_of(&folder, _i, 2, flags, "");
    read_metrics(&folder, 0, "test_loss", &loss, 1);
    check_near(loss, 14.0 / 3, "healthy");
    run_of(&folder, _i, 2, flags, "--inject eval-padding-counted");
    read_metrics(&folder, 1, "test_loss", &loss, 1);
    check_near(loss, 15.0 / 4, "2 ranks");
    run_of(&folder, _i, 5, flags, "--inject eval-padding-counted");
    read_metrics(&folder, 4, "test_loss", &loss, 1);
    check_near(loss, 19.0 / 5, "5 ranks");
    folder_close(&folder);
}
END_TEST

START_TEST(a_resume_at_the_end_of_an_epoch_repeats_nothing)
{
    struct lesson lesson = {places[_i].lesson, 3};
    struct folder folder;
    folder_open(&folder);
    run_of(&folder, _i, 3, STANDSTILL, "--epochs 1 --save s");
    lesson_fails(&folder, lesson,
                 "--hidden 9 --momentum 0 --batch 480 --epochs 2 --resume s "
                 "--inject resume-repeats-data",
                 2, "nothing would be repeated");
    folder_close(&folder);
}
END_TEST

START_TEST(a_resumed_epoch_begins_anew)
{
    double all[7], resumed[7];
    struct folder folder;
    folder_open(&folder);
    run_of(&folder, _i, 2, STANDSTILL, "--batch 360 --steps 7"); // 4 updates an epoch
    read_metrics(&folder, 0, "loss", all, 7);
    run_of(&folder, _i, 2, STANDSTILL, "--batch 360 --steps 2 --save s");
    run_of(&folder, _i, 2, STANDSTILL,
           "--batch 360 --steps 7 --resume s --inject resume-repeats-data");
    read_metrics(&folder, 0, "loss", resumed, 7);
    for (size_t i = 0; i < 7; i++)
        ck_assert_double_eq(resumed[i], all[i == 2 || i == 3 ? i - 2 : i]);
    folder_close(&folder);
}
END_TEST

/* One batch of all samples: each gradient is the first one, g, until the rate is no longer 0. Momentum makes it
 * g (1 + 0.9 + 0.81). */
START_TEST(a_resumed_run_has_no_momentum)
{
    static const char flags[] = "--hidden 9 --no-shuffle --batch 1438 ";
    static float before[COUNT], once[COUNT], resumed[COUNT];
    struct folder folder;
    folder_open(&folder);
    run_of(&folder, _i, 2, flags, "--lr 0 --steps 2 --save s --dump z");
    run_of(&folder, _i, 2, flags, "--lr 1 --steps 1 --dump a");
    read_dump(&folder, "z", 0, 0, before);
    read_dump(&folder, "a", 0, 0, once);
    for (int planted = 0; planted < 2; planted++) {
        run_of(&folder, _i, 2, flags,
               planted ? "--lr 1 --steps 3 --dump-steps 3 --resume s --dump c "
                         "--inject resume-without-momentum"
                       : "--lr 1 --steps 3 --dump-steps 3 --resume s --dump b");
        read_dump(&folder, planted ? "c" : "b", 0, 2, resumed);
        for (size_t i = 0; i < COUNT; i++)
            check_near((double)(resumed[i] - before[i]),
                       (planted ? 1 : 2.71) * (double)(once[i] - before[i]), "update");
    }
    folder_close(&folder);
}
END_TEST

/* --- the proof ---------------------------------------------------------------------------------- */

static void verify_planted(const struct folder *folder, const struct zoo_row *row, int lesson)
{
    char line[LINE_BYTES];
    struct program program;
    bool resumes = row->needs && strstr(row->needs, "--resume");
    snprintf(line, sizeof line, "--hidden 9 --batch 96 --steps 5 --no-verify --save s%d", lesson);
    if (resumes)
        lesson_ok(folder, (struct lesson){lesson, 3}, line);
    snprintf(line, sizeof line, "--hidden 9 --batch 96 --steps 16 --verify 2 --inject %s %s",
             row->name, row->needs ? row->needs : "");
    if (resumes)
        snprintf(line, sizeof line,
                 "--hidden 9 --batch 96 --steps 16 --verify 2 --inject %s --resume s%d", row->name,
                 lesson);
    lesson_run(&program, folder, (struct lesson){lesson, 3}, line);
    bool caught = row->caught >> lesson & 1;
    ck_assert_msg(program.code == (caught ? 3 : 0), "lesson %d, %s: exit code %d\n%s%s", lesson,
                  line, program.code, program.out, program.err);
    program_close(&program);
}

START_TEST(the_proof_catches_what_the_table_says)
{
    const struct zoo_row *row = &zoo_table[_i];
    struct folder folder;
    folder_open(&folder);
    for (int lesson = 2; lesson <= 4; lesson++)
        if (row->lessons >> lesson & 1)
            verify_planted(&folder, row, lesson);
    folder_close(&folder);
}
END_TEST

Suite *mistakes_suite(void)
{
    Suite *suite = suite_create("mistakes");
    TCase *tcase = tcase_create("mistakes");
    tcase_set_timeout(tcase, 600);
    tcase_add_loop_test(tcase, a_gradient_is_wrong_by_what_the_table_says, 0, BY_HANDS);
    tcase_add_test(tcase, each_shard_is_clipped_by_its_own_norm);
    tcase_add_loop_test(tcase, the_last_bucket_is_of_the_step_before, 0, 2);
    tcase_add_loop_test(tcase, every_epoch_has_the_order_of_the_first, 0, PLACES);
    tcase_add_loop_test(tcase, every_rank_has_rank_0s_share, 0, PLACES);
    tcase_add_loop_test(tcase, each_rank_shuffles_by_itself, 0, PLACES);
    tcase_add_loop_test(tcase, a_batch_is_taken_by_each_rank, 0, PLACES);
    tcase_add_loop_test(tcase, a_scaled_rate_without_warmup_makes_the_loss_jump_and_no_more, 0, 3);
    tcase_add_loop_test(tcase, each_rank_begins_with_weights_of_its_own, 0, PLACES);
    tcase_add_loop_test(tcase, every_rank_leaves_out_the_same_units, 0, PLACES);
    tcase_add_loop_test(tcase, each_rank_reports_its_own_loss_and_trains_as_before, 0, PLACES);
    tcase_add_loop_test(tcase, one_rank_makes_no_update_where_the_sample_is, 0, WHOLE_GRADIENTS);
    tcase_add_loop_test(tcase, biases_decay, 0, PLACES);
    tcase_add_loop_test(tcase, copies_of_the_first_samples_are_counted, 0, PLACES);
    tcase_add_loop_test(tcase, a_resume_at_the_end_of_an_epoch_repeats_nothing, 0, WHOLE_GRADIENTS);
    tcase_add_loop_test(tcase, a_resumed_epoch_begins_anew, 0, PLACES);
    tcase_add_loop_test(tcase, a_resumed_run_has_no_momentum, 0, PLACES);
    tcase_add_loop_test(tcase, the_proof_catches_what_the_table_says, 0, ZOO_MEMBERS);
    suite_add_tcase(suite, tcase);
    return suite;
}
