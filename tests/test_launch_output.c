/* What ranks print, on its way through the launcher: whole lines, marked, in order, and nothing lost. */
#include "tests/folder.h"
#include "tests/program.h"
#include "tests/suites.h"

#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_BYTES = 1024 };

enum { RANKS = 4, LINES = 10000, WIDTH = 200 };

/* "[2] 00017xxx...x": rank, number, filler. */
static void check_lines(const char *text)
{
    int next[RANKS] = {0};
    for (int i = 0; i < RANKS * LINES; i++) {
        int rank = text[1] - '0';
        ck_assert_msg(text[0] == '[' && rank >= 0 && rank < RANKS && text[2] == ']', "%.20s", text);
        ck_assert_int_eq(atoi(text + 4), next[rank]++);
        ck_assert_uint_eq(strspn(text + 4, "0123456789x"), WIDTH);
        ck_assert_int_eq(text[4 + WIDTH], '\n');
        text += 4 + WIDTH + 1;
    }
    ck_assert_str_eq(text, "");
}

static const char *const readers[] = {"", "| cat", "2>&1 | { sleep 0.3; cat; }"};

START_TEST(lines_stay_whole_marked_and_in_order)
{
    char command[TEXT_BYTES];
    struct folder folder;
    struct program program;
    folder_open(&folder);
    snprintf(command, sizeof command,
             "$LAUNCH -n %d awk 'BEGIN { x = sprintf(\"%%0195d\", 0); gsub(\"0\", \"x\", x); "
             "for (i = 0; i < %d; i++) printf \"%%05d%%s\\n\", i, x }' %s",
             RANKS, LINES, readers[_i]);
    program_run(&program, folder.path, command);
    ck_assert_msg(program.code == 0, "%s", program.err);
    check_lines(program.out);
    program_close(&program);
    folder_close(&folder);
}
END_TEST

START_TEST(ranks_wait_for_a_slow_reader)
{
    struct folder folder;
    struct program program;
    folder_open(&folder);
    program_run(&program, folder.path,
                "$LAUNCH -n 2 sh -c 'yes | head -c 4000000; : > done-$RANK' | "
                "{ sleep 0.5; ls; wc -l; }");
    ck_assert_msg(program.code == 0, "%s", program.err);
    ck_assert_int_eq(atoi(program.out), 4000000); // 2 ranks, 2 bytes a line; and no file before
    program_close(&program);
    folder_close(&folder);
}
END_TEST

START_TEST(the_last_words_of_a_rank_are_shown)
{
    struct folder folder;
    struct program program;
    folder_open(&folder);
    program_run(&program, folder.path,
                "$LAUNCH -n 1 sh -c 'echo first; printf \"last words\"; kill -ABRT $$'");
    ck_assert_str_eq(program.out, "[0] first\n[0] last words\n");
    ck_assert_int_eq(program.code, 128 + SIGABRT);
    program_close(&program);
    folder_close(&folder);
}
END_TEST

START_TEST(a_line_longer_than_the_buffer_comes_in_marked_pieces)
{
    struct folder folder;
    struct program program;
    folder_open(&folder);
    program_run(&program, folder.path,
                "$LAUNCH -n 1 --log-dir logs awk 'BEGIN { for (i = 0; i < 20000; i++) "
                "printf \"0123456789\"; print \"\"; print \"end\" }' > out; grep -c '^.0. ' out; "
                "tail -n 1 out; tr -d -c 0-9 < logs/rank-0.log | wc -c; wc -l < logs/rank-0.log; "
                "rm -r logs");
    int pieces, digits, lines;
    ck_assert_int_eq(sscanf(program.out, "%d [0] end %d %d", &pieces, &digits, &lines), 3);
    ck_assert_int_ge(pieces, 5); // 200,000 bytes in at most 64 KiB, and the end
    ck_assert_int_eq(digits, 200000);
    ck_assert_int_eq(lines, 2);
    program_close(&program);
    folder_close(&folder);
}
END_TEST

START_TEST(log_files_hold_each_ranks_own_lines)
{
    struct folder folder;
    struct program program;
    folder_open(&folder);
    program_run(&program, folder.path,
                "$LAUNCH -n 2 --log-dir logs sh -c 'echo from $RANK; printf bye >&2' > /dev/null "
                "2> err; sort logs/rank-0.log; sort logs/rank-1.log; sort err; rm -r logs");
    ck_assert_str_eq(program.out, "bye\nfrom 0\nbye\nfrom 1\n[0] bye\n[1] bye\n");
    program_close(&program);
    folder_close(&folder);
}
END_TEST

START_TEST(a_reader_that_leaves_ends_the_job)
{
    struct folder folder;
    struct program program;
    folder_open(&folder);
    program_run(&program, folder.path,
                "{ $LAUNCH -n 2 yes; echo $? > code; } | head -n 1; cat code");
    ck_assert_msg(strcmp(program.out + 3, " y\n141\n") == 0, "%s", program.out);
    ck_assert(program_gone(&program));
    program_close(&program);
    folder_close(&folder);
}
END_TEST

START_TEST(an_output_that_cannot_be_written_is_a_failure)
{
    if (access("/dev/full", W_OK) != 0)
        return; // no Linux
    program_expect("exec $LAUNCH -n 2 yes > /dev/full", 1, "No space left");
    program_expect("exec $LAUNCH --help > /dev/full", 1,
                   "launch: cannot write to the standard output: No");
    program_expect("exec $LAUNCH --version > /dev/full", 1,
                   "launch: cannot write to the standard output");
}
END_TEST

/* As a shell's > >(tee) does. */
START_TEST(what_a_rank_leaves_behind_may_finish_its_sentence)
{
    struct folder folder;
    struct program program;
    folder_open(&folder);
    program_run(&program, folder.path,
                "exec $LAUNCH -n 1 sh -c '(while kill -0 $$; do sleep 0.01; done 2> /dev/null; "
                "echo late) & exit 0'");
    ck_assert_str_eq(program.out, "[0] late\n");
    ck_assert_int_eq(program.code, 0);
    program_close(&program);
    folder_close(&folder);
}
END_TEST

Suite *launch_output_suite(void)
{
    Suite *suite = suite_create("launch_output");
    TCase *tcase = tcase_create("launch_output");
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, lines_stay_whole_marked_and_in_order, 0, 3);
    tcase_add_test(tcase, ranks_wait_for_a_slow_reader);
    tcase_add_test(tcase, the_last_words_of_a_rank_are_shown);
    tcase_add_test(tcase, a_line_longer_than_the_buffer_comes_in_marked_pieces);
    tcase_add_test(tcase, log_files_hold_each_ranks_own_lines);
    tcase_add_test(tcase, a_reader_that_leaves_ends_the_job);
    tcase_add_test(tcase, an_output_that_cannot_be_written_is_a_failure);
    tcase_add_test(tcase, what_a_rank_leaves_behind_may_finish_its_sentence);
    suite_add_tcase(suite, tcase);
    return suite;
}
