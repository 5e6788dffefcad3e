/*
 * What --inject plants is what the table says, measured in real runs: by what they dump, report and save.
 *
 * Most runs are small enough for the right number and the wrong one to be worked out by hand: y = w x without a
 * bias, from w = 0.5, targets 0, so that a sample's gradient is x^2. Plain SGD with a rate of 1 shows in the
 * parameters which gradient was used, in every lesson and stage alike. With a rate of 0 nothing is learnt, and a
 * loss tells of which samples it is.
 */
#include "common/zoo.h"
#include "tests/planted.h"
#include "tests/suites.h"
#include "tests/watched.h"

#include <check.h>
#include <math.h>
#include <string.h>

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
    char more[PLANTED_LINE_BYTES];
    struct folder folder;
    folder_open(&folder);
    lesson_write(&folder, "x.csv", row->rows);
    for (int place = row->first; place < row->end; place++) {
        snprintf(more, sizeof more, "--lr 1 --steps 1 --dump d%d %s %s%s", place, row->flags,
                 *row->inject ? "--inject " : "", row->inject);
        planted_run(&folder, place, row->world, BY_HAND, more);
        for (int rank = 0; rank < row->world; rank++) {
            char path[64];
            float w;
            snprintf(path, sizeof path, "d%d/rank-%d/step-000000.safetensors", place, rank);
            lesson_read(&folder, path, "param.fc1.weight", &w, 1);
            planted_near(0.5 - (double)w, rank == 1 ? row->rank_1 : row->rank_0, more);
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
        planted_run(&folder, place, 2, BY_HAND, "--lr 1 --steps 1 --clip 1 --dump a");
        lesson_read(&folder, "a/rank-1/step-000000.safetensors", "param.fc1.weight", w, 2);
        planted_near((double)w[0], 0.5 - 0.6, "healthy");
        planted_near((double)w[1], 0.5 - 0.8, "healthy");
        planted_run(&folder, place, 2, BY_HAND,
                    "--lr 1 --steps 1 --clip 1 --dump b --inject clip-per-shard");
        lesson_read(&folder, "b/rank-1/step-000000.safetensors", "param.fc1.weight", w, 2);
        planted_near((double)w[0], 0.5 - 1, "planted");
        planted_near((double)w[1], 0.5 - 1, "planted");
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
    planted_run(&folder, place, 2, flags, "--lr 0 --dump z");
    planted_run(&folder, place, 2, flags, "--dump a");
    planted_run(&folder, place, 2, flags, "--dump b --inject stale-bucket");
    for (int rank = 0; rank < 2; rank++) {
        planted_dump(&folder, "z", rank, 0, before);
        planted_dump(&folder, "a", rank, 0, healthy);
        planted_dump(&folder, "b", rank, 0, first);
        planted_dump(&folder, "b", rank, 1, second);
        ck_assert(planted_equal(first, before, FC1)); // of the step before there is nothing yet
        ck_assert(planted_equal(first + FC1, healthy + FC1, COUNT - FC1));
        ck_assert(planted_equal(second, healthy, FC1));
    }
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
    planted_run(&folder, _i, 2, flags, "--dump a");
    planted_run(&folder, _i, 2, flags, "--dump b --inject decay-biases");
    planted_dump(&folder, "a", 0, 0, healthy);
    planted_dump(&folder, "b", 0, 0, planted);
    for (size_t i = 0; i < COUNT; i++) {
        bool bias = (i >= FC1 && i < FC1 + B1) || i >= FC1 + B1 + FC2;
        planted_near((double)(healthy[i] - planted[i]), bias ? 0.05 : 0, "decay");
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
    planted_run(&folder, _i, 2, flags, "");
    planted_metrics(&folder, 0, "test_loss", &loss, 1);
    planted_near(loss, 14.0 / 3, "healthy");
    planted_run(&folder, _i, 2, flags, "--inject eval-padding-counted");
    planted_metrics(&folder, 1, "test_loss", &loss, 1);
    planted_near(loss, 15.0 / 4, "2 ranks");
    planted_run(&folder, _i, 5, flags, "--inject eval-padding-counted");
    planted_metrics(&folder, 4, "test_loss", &loss, 1);
    planted_near(loss, 19.0 / 5, "5 ranks");
    folder_close(&folder);
}
END_TEST

START_TEST(a_resume_at_the_end_of_an_epoch_repeats_nothing)
{
    struct lesson lesson = {places[_i].lesson, 3};
    struct folder folder;
    folder_open(&folder);
    planted_run(&folder, _i, 3, STANDSTILL, "--epochs 1 --save s");
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
    planted_run(&folder, _i, 2, STANDSTILL, "--batch 360 --steps 7"); // 4 updates an epoch
    planted_metrics(&folder, 0, "loss", all, 7);
    planted_run(&folder, _i, 2, STANDSTILL, "--batch 360 --steps 2 --save s");
    planted_run(&folder, _i, 2, STANDSTILL,
                "--batch 360 --steps 7 --resume s --inject resume-repeats-data");
    planted_metrics(&folder, 0, "loss", resumed, 7);
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
    planted_run(&folder, _i, 2, flags, "--lr 0 --steps 2 --save s --dump z");
    planted_run(&folder, _i, 2, flags, "--lr 1 --steps 1 --dump a");
    planted_dump(&folder, "z", 0, 0, before);
    planted_dump(&folder, "a", 0, 0, once);
    for (int planted = 0; planted < 2; planted++) {
        planted_run(&folder, _i, 2, flags,
                    planted ? "--lr 1 --steps 3 --dump-steps 3 --resume s --dump c "
                              "--inject resume-without-momentum"
                            : "--lr 1 --steps 3 --dump-steps 3 --resume s --dump b");
        planted_dump(&folder, planted ? "c" : "b", 0, 2, resumed);
        for (size_t i = 0; i < COUNT; i++)
            planted_near((double)(resumed[i] - before[i]),
                         (planted ? 1 : 2.71) * (double)(once[i] - before[i]), "update");
    }
    folder_close(&folder);
}
END_TEST

/* --- the proof ---------------------------------------------------------------------------------- */

static void verify_planted(const struct folder *folder, const struct zoo_row *row, int lesson)
{
    char line[PLANTED_LINE_BYTES];
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
    tcase_add_loop_test(tcase, biases_decay, 0, PLACES);
    tcase_add_loop_test(tcase, copies_of_the_first_samples_are_counted, 0, PLACES);
    tcase_add_loop_test(tcase, a_resume_at_the_end_of_an_epoch_repeats_nothing, 0, WHOLE_GRADIENTS);
    tcase_add_loop_test(tcase, a_resumed_epoch_begins_anew, 0, PLACES);
    tcase_add_loop_test(tcase, a_resumed_run_has_no_momentum, 0, PLACES);
    watched_add_rows(tcase, the_proof_catches_what_the_table_says, ZOO_MEMBERS);
    suite_add_tcase(suite, tcase);
    return suite;
}
