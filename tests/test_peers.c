/* The benchmark against peers: its arithmetic on times that are given, and that it reads ours. Nothing
 * here depends on how fast anything is. */
#include "tests/folder.h"
#include "tests/program.h"
#include "tests/suites.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

/* Runs `command` in the folder of the benchmark's scripts' times; $PEERS_AT is where the scripts are. */
static void run(struct program *program, const char *command)
{
    struct folder folder;
    char whole[4096];
    folder_open(&folder);
    snprintf(
        whole, sizeof whole,
        "unset ROUNDS WORLDS OURS PEERS DATA NETWORKS; at='%s/tests/peers' build=${LAUNCH%%/*}; %s",
        SOURCE_DIR, command);
    program_run(program, folder.path, whole);
    folder_close(&folder);
}

/* With 2 ranks the ratios of the rounds at 4 bytes are 2, 4 and 3, so 3; the ratio of the medians
 * would be 4. At 64 MiB they are 12, and the geometric mean is 6; a floor of Unix sockets says nothing
 * of TCP. With 4 ranks there are two rounds, and the median is between them; no floor was run, and none
 * has a column. */
static const char times[] = "cat > times <<'END'\n"
                            "tcp:ring 2 1 4 10\n"
                            "gloo 2 1 4 20\n"
                            "tcp:ring 2 1 67108864 100\n"
                            "gloo 2 1 67108864 1200\n"
                            "floor 2 1 67108864 80\n"
                            "tcp:ring 2 2 4 20\n"
                            "gloo 2 2 4 80\n"
                            "tcp:ring 2 2 67108864 200\n"
                            "gloo 2 2 67108864 2400\n"
                            "floor 2 2 67108864 150\n"
                            "tcp:ring 2 3 4 40\n"
                            "gloo 2 3 4 120\n"
                            "tcp:ring 2 3 67108864 400\n"
                            "gloo 2 3 67108864 4800\n"
                            "floor 2 3 67108864 360\n"
                            "floor-unix 2 3 67108864 300\n"
                            "tcp:ring 4 1 4 10\n"
                            "gloo 4 1 4 10\n"
                            "tcp:ring 4 2 4 10\n"
                            "gloo 4 2 4 20\n"
                            "END\n";

START_TEST(ratios_are_taken_round_by_round)
{
    static const char expected[] =
        "\n2 ranks: time of the column / time of the row, median (least-most) of 3 rounds\n\n"
        "| bytes | row | its us | gloo | floor | floor-unix |\n"
        "|--:|:--|--:|--:|--:|--:|\n"
        "| 4 | tcp:ring | 20.0 | 3.00 (2.00-4.00) |  |  |\n"
        "| 67108864 | tcp:ring | 200.0 | 12.00 (12.00-12.00) | 80 % (75-90) |  |\n"
        "| geometric mean | tcp:ring | | 6.00 |  |  |\n"
        "\n4 ranks: time of the column / time of the row, median (least-most) of 2 rounds\n\n"
        "| bytes | row | its us | gloo |\n"
        "|--:|:--|--:|--:|\n"
        "| 4 | tcp:ring | 10.0 | 1.50 (1.00-2.00) |\n"
        "| 67108864 | tcp:ring |  |  |\n"
        "| geometric mean | tcp:ring | | 1.50 |\n";
    struct program program;
    char command[2048];
    snprintf(command, sizeof command,
             "%sLC_ALL=C awk -v rows=tcp:ring -v columns='gloo floor floor-unix' -f $at/ratios.awk "
             "times",
             times);
    run(&program, command);
    ck_assert_str_eq(program.err, "");
    ck_assert_str_eq(program.out, expected);
    program_close(&program);
}
END_TEST

/* Of our own benchmark the first rows will do: `head` leaves, and the launcher ends. */
START_TEST(the_table_of_our_benchmark_is_read)
{
    static const char *const sizes[] = {"4", "1024"};
    struct program program;
    run(&program, "printf '#!/bin/sh\n\"$LAUNCH\" \"$@\" | head -n 4\n' > launch; chmod +x launch; "
                  "ln -s $build/lesson02_allreduce .; "
                  "ROUNDS=1 WORLDS=2 OURS=tcp:ring PEERS= sh $at/bench_peers.sh .");
    ck_assert_msg(program.code == 0, "%s", program.err);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char row[64], *found;
        double us = 0;
        snprintf(row, sizeof row, "\n| %s | tcp:ring | ", sizes[i]);
        found = strstr(program.out, row);
        ck_assert_msg(found != NULL, "no row of %s bytes in %s", sizes[i], program.out);
        ck_assert_int_eq(sscanf(found + strlen(row), "%lf", &us), 1);
        ck_assert_double_gt(us, 0);
    }
    ck_assert(program_gone(&program));
    program_close(&program);
}
END_TEST

START_TEST(of_our_table_the_median_is_taken)
{
    struct program program;
    run(&program,
        "cat > launch <<'END'\n"
        "#!/bin/sh\n"
        "echo '[0] |     bytes |    min us | median us |    p99 us | alg GB/s | bus GB/s |'\n"
        "echo '[0] |         4 |       1.5 |       2.5 |      99.0 |    0.000 |    0.000 |'\n"
        "END\n"
        "chmod +x launch; ROUNDS=1 WORLDS=2 OURS=tcp:ring PEERS= sh $at/bench_peers.sh .");
    ck_assert_msg(strstr(program.out, "\n| 4 | tcp:ring | 2.5 |") != NULL, "%s%s", program.out,
                  program.err);
    program_close(&program);
}
END_TEST

START_TEST(a_peer_that_is_not_installed_is_named_and_left_out)
{
    struct program program;
    run(&program, "CXX=./none ROUNDS=0 PEERS=gloo sh $at/bench_peers.sh $build");
    ck_assert_int_eq(program.code, 0);
    ck_assert_msg(strstr(program.err, "libgloo-dev") != NULL, "%s", program.err);
    program_close(&program);
}
END_TEST

START_TEST(what_fails_is_named_with_what_it_said)
{
    struct program program;
    run(&program, "OURS=tcp:sideways PEERS= sh $at/bench_peers.sh $build");
    ck_assert_int_eq(program.code, 1);
    ck_assert_msg(strstr(program.err, "tcp:sideways failed with 2 ranks: ") != NULL, "%s",
                  program.err);
    ck_assert_msg(strstr(program.err, "--algorithm") != NULL, "%s", program.err);
    program_close(&program);
    run(&program, "ROUNDS=0 PEERS=nobody sh $at/bench_peers.sh $build");
    ck_assert_int_eq(program.code, 1);
    ck_assert_msg(strstr(program.err, "there is no peer 'nobody'") != NULL, "%s", program.err);
    program_close(&program);
}
END_TEST

/* Our own times are real, of a small network; PyTorch's is given: a second for each step. */
START_TEST(training_is_timed_against_pytorch)
{
    static const char *const rows[] = {"1 rank: ", "| 16/64 | single | ",
                                       "2 ranks: ", "| 16/64 | tcp:ring | "};
    struct program program;
    run(&program, "printf '#!/bin/sh\necho 1000000.0\n' > python; chmod +x python; "
                  "PYTHON=./python ROUNDS=1 WORLDS='1 2' OURS=tcp:ring DATA=digits "
                  "NETWORKS=16/64/20 sh $at/bench_train.sh $build");
    ck_assert_msg(program.code == 0, "%s", program.err);
    const char *at = program.out;
    double us = 0, ratio = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        at = strstr(at, rows[i]);
        ck_assert_msg(at != NULL, "no '%s' in %s", rows[i], program.out);
        at += strlen(rows[i]);
        if (i % 2 == 0)
            continue;
        ck_assert_int_eq(sscanf(at, "%lf | %lf", &us, &ratio), 2);
        ck_assert_double_gt(us, 0);
        ck_assert_double_eq_tol(us * ratio, 1e6, 1e6 * (0.06 / us + 0.006 / ratio));
    }
    program_close(&program);
}
END_TEST

Suite *peers_suite(void)
{
    Suite *suite = suite_create("peers");
    TCase *tcase = tcase_create("peers");
    tcase_set_timeout(tcase, 30);
    tcase_add_test(tcase, ratios_are_taken_round_by_round);
    tcase_add_test(tcase, the_table_of_our_benchmark_is_read);
    tcase_add_test(tcase, of_our_table_the_median_is_taken);
    tcase_add_test(tcase, a_peer_that_is_not_installed_is_named_and_left_out);
    tcase_add_test(tcase, what_fails_is_named_with_what_it_said);
    tcase_add_test(tcase, training_is_timed_against_pytorch);
    suite_add_tcase(suite, tcase);
    return suite;
}
