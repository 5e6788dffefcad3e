/*
 * What each rank of a program gets: its samples, every epoch others; the same classes, whatever it
 * has seen; and its share of the cores.
 */
#include "tests/lessons.h"
#include "tests/suites.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SAMPLES = 12, EPOCHS = 3, WORLD = 2, STEPS = EPOCHS * SAMPLES / WORLD, LESSONS = 3 };

/* --- the samples ----------------------------------------------------------------------------- */

/* Sample i is the number i: every rank trains on one in a step, and its own loss is i squared, for
 * all features are 0 and nothing is learnt. */
static void record(const struct folder *folder, int lesson, size_t indices[WORLD][STEPS])
{
    double losses[STEPS];
    lesson_ok(
        folder, (struct lesson){lesson, WORLD},
        "--data a.csv --test-data a.csv --task regress --hidden none --no-bias --init const:0 "
        "--batch 2 --epochs 3 --seed 5 --no-verify --metrics m.jsonl");
    for (int rank = 0; rank < WORLD; rank++) {
        char name[32];
        snprintf(name, sizeof name, "m.rank-%d.jsonl", rank);
        ck_assert_uint_eq(lesson_values(folder, name, "loss_local", losses, STEPS), STEPS);
        for (size_t i = 0; i < STEPS; i++)
            indices[rank][i] = (size_t)lround(sqrt(losses[i]));
    }
}

START_TEST(ranks_cover_the_data_in_every_epoch_and_each_in_another_order)
{
    char rows[256] = "", row[32];
    size_t first[WORLD][STEPS], again[WORLD][STEPS], epoch_steps = STEPS / EPOCHS;
    struct folder folder;
    folder_open(&folder);
    for (int i = 0; i < SAMPLES; i++) {
        snprintf(row, sizeof row, "0,%d\n", i);
        lesson_row(rows, sizeof rows, row);
    }
    lesson_write(&folder, "a.csv", rows);
    record(&folder, 2 + _i, first);
    record(&folder, 2 + _i, again);
    ck_assert_mem_eq(first, again, sizeof first);
    for (size_t epoch = 0; epoch < EPOCHS; epoch++) {
        unsigned seen = 0;
        for (int rank = 0; rank < WORLD; rank++)
            for (size_t i = 0; i < epoch_steps; i++)
                seen |= 1u << first[rank][epoch * epoch_steps + i];
        ck_assert_msg(seen == (1u << SAMPLES) - 1, "epoch %zu: %x", epoch, seen);
        for (size_t other = 0; other < epoch; other++)
            ck_assert_int_ne(memcmp(&first[0][epoch * epoch_steps], &first[0][other * epoch_steps],
                                    epoch_steps * sizeof **first),
                             0);
    }
    folder_close(&folder);
}
END_TEST

/* --- the classes ----------------------------------------------------------------------------- */

/* Three ranks, and each sees one class only: all of them train a network of three outputs, to the
 * same bits, and so does a rerun. */
START_TEST(the_classes_do_not_depend_on_what_a_rank_has_seen)
{
    struct folder folder;
    float bias[3], first[3] = {0};
    folder_open(&folder);
    lesson_write(&folder, "a.csv", "1,0\n2,0\n1,1\n2,1\n1,2\n2,2\n");
    for (int run = 0; run < 5; run++) {
        lesson_ok(&folder, (struct lesson){2 + _i, 3},
                  "--data a.csv --test-data a.csv --task classify --hidden none --no-shuffle "
                  "--batch 6 --steps 1 --dump d --dump-steps 1");
        for (int rank = 0; rank < 3; rank++) {
            char path[64];
            snprintf(path, sizeof path, "d/rank-%d/step-000000.safetensors", rank);
            lesson_read(&folder, path, "param.fc1.bias", bias, 3);
            if (run + rank == 0)
                memcpy(first, bias, sizeof first);
            ck_assert_mem_eq(bias, first, sizeof first);
        }
    }
    folder_close(&folder);
}
END_TEST

/* --- the cores ------------------------------------------------------------------------------- */

/* As many ranks as cores, and twice as many, with thread variables that the launcher sets and with
 * the user's own. Without shares this takes minutes. */
START_TEST(twice_as_many_ranks_as_cores_end_too)
{
    static const char *const set[] = {"", "export OPENBLAS_NUM_THREADS=2 OMP_NUM_THREADS=2; "};
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int most = cores < 4 ? (int)cores : 4;
    struct folder folder;
    folder_open(&folder);
    for (int twice = 1; twice <= 2; twice++) {
        char command[512];
        struct program program;
        snprintf(command, sizeof command,
                 "unset OPENBLAS_NUM_THREADS OMP_NUM_THREADS; %sexec $LAUNCH -n %d "
                 "\"${LAUNCH%%/*}/lesson03_ddp\" --hidden 200,100 --batch 120 --steps 40",
                 set[_i], most * twice);
        program_run(&program, folder.path, command);
        ck_assert_msg(program.code == 0 && strstr(program.out, "all hold"), "%s: %d: %s%s", command,
                      program.code, program.out, program.err);
        program_close(&program);
    }
    folder_close(&folder);
}
END_TEST

Suite *shares_suite(void)
{
    Suite *suite = suite_create("shares");
    TCase *tcase = tcase_create("shares");
    tcase_add_loop_test(tcase, ranks_cover_the_data_in_every_epoch_and_each_in_another_order, 0,
                        LESSONS);
    tcase_add_loop_test(tcase, the_classes_do_not_depend_on_what_a_rank_has_seen, 0, LESSONS);
    tcase_add_loop_test(tcase, twice_as_many_ranks_as_cores_end_too, 0, 2);
    suite_add_tcase(suite, tcase);
    return suite;
}
