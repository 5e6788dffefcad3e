/* The launcher that was built, with small shell scripts as ranks. */
#include "common/launch_plan.h"
#include "common/launch_port.h"
#include "tests/folder.h"
#include "tests/program.h"
#include "tests/suites.h"

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TEXT_BYTES = 1024, MARKS_MOST = 8 };

/* Waits until the command has made this file. */
static void await_file(const struct folder *folder, const char *name)
{
    char path[512];
    folder_path(folder, name, path);
    for (int i = 0; i < 30000 && access(path, F_OK) != 0; i++)
        usleep(2000);
    ck_assert_msg(access(path, F_OK) == 0, "%s never came", name);
}

/* Runs `command`, which must leave nothing behind, return `code`, and say `said`. */
static void expect(const char *command, int code, const char *said)
{
    struct folder folder;
    struct program program;
    folder_open(&folder);
    program_run(&program, folder.path, command);
    ck_assert_msg(program.code == code, "%s: returned %d, not %d; it said: %s", command,
                  program.code, code, program.err);
    ck_assert_msg(strstr(program.err, said) != NULL, "%s: said %s, not %s", command, program.err,
                  said);
    ck_assert(program_gone(&program));
    program_close(&program);
    folder_close(&folder);
}

/* --- what a rank is given -------------------------------------------------------------------- */

START_TEST(ranks_learn_who_they_are_and_where_to_meet)
{
    struct folder folder;
    struct program program;
    folder_open(&folder);
    program_run(&program, folder.path,
                "export RANK=9 RENDEZVOUS_FD=77; exec $LAUNCH -n 2 --nproc-per-node=3 sh -c '"
                "echo $RANK $WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE $MASTER_ADDR "
                "fd${RENDEZVOUS_FD:+set}; cat; echo $MASTER_PORT $JOB_TOKEN > $RANK'");
    ck_assert_msg(program.code == 0, "%s", program.err);
    ck_assert_ptr_nonnull(strstr(program.out, "[0] 0 3 0 3 127.0.0.1 fdset\n"));
    ck_assert_ptr_nonnull(strstr(program.out, "[1] 1 3 1 3 127.0.0.1 fd\n"));
    ck_assert_ptr_nonnull(strstr(program.out, "[2] 2 3 2 3 127.0.0.1 fd\n"));
    ck_assert_str_eq(program.err, "");
    program_close(&program);
    program_run(&program, folder.path, "cmp 0 1 && cmp 1 2 && wc -c < 0");
    ck_assert_int_eq(program.code, 0);
    ck_assert_int_ge(atoi(program.out), 2 + 32 + 1);
    program_close(&program);
    folder_close(&folder);
}
END_TEST

START_TEST(ranks_of_a_second_machine_are_numbered_on)
{
    struct folder folder;
    struct program program;
    folder_open(&folder);
    program_run(&program, folder.path,
                "exec $LAUNCH -n 2 --nnodes 3 --node-rank 2 --master-addr 10.0.0.1 --master-port "
                "4000 sh -c 'echo $RANK $WORLD_SIZE $LOCAL_RANK $MASTER_ADDR:$MASTER_PORT'");
    ck_assert_ptr_nonnull(strstr(program.out, "[4] 4 6 0 10.0.0.1:4000\n"));
    ck_assert_ptr_nonnull(strstr(program.out, "[5] 5 6 1 10.0.0.1:4000\n"));
    program_close(&program);
    folder_close(&folder);
}
END_TEST

/* Two launchers on one machine, as if they were two; the second one begins. */
START_TEST(ranks_of_two_launchers_are_one_job)
{
    static const char *const tokens[] = {"export JOB_TOKEN=00112233445566778899aabbccddeeff; ", ""};
    char command[TEXT_BYTES];
    struct folder folder;
    struct program program;
    int port = program_port();
    snprintf(command, sizeof command,
             "%sjob=\"$LAUNCH --nnodes 2 --master-addr localhost --master-port %d -n 2\"; "
             "lesson=\"${LAUNCH%%/*}/lesson02_allreduce --steps 2\"; "
             "$job --node-rank 1 $lesson & $job --node-rank 0 $lesson && wait $!",
             tokens[_i], port);
    folder_open(&folder);
    program_run(&program, folder.path, command);
    ck_assert_msg(program.code == 0, "%s", program.err);
    ck_assert_ptr_nonnull(strstr(program.out, "[0] result | lesson 2 | world 4 |"));
    bool warned = strstr(program.err, "launch: JOB_TOKEN is not set") != NULL;
    ck_assert_int_eq(warned, tokens[_i][0] == '\0');
    ck_assert(program_gone(&program));
    program_close(&program);
    folder_close(&folder);
}
END_TEST

START_TEST(cores_are_shared_out_unless_the_user_says_otherwise)
{
    static const char *const settings[] = {"", "OMP_NUM_THREADS=3", "OPENBLAS_NUM_THREADS=3",
                                           "OMP_NUM_THREADS=4 OPENBLAS_NUM_THREADS=5"};
    int cores = launch_plan_threads(1);
    struct folder folder;
    folder_open(&folder);
    for (int ranks = 1; ranks <= 2 * cores && ranks <= 8; ranks *= 2) {
        int share = cores / ranks > 1 ? cores / ranks : 1;
        const int expected[][2] = {{share, share}, {3, 3}, {3, 3}, {4, 5}};
        for (int i = 0; i < 4; i++) {
            char command[TEXT_BYTES], line[64];
            struct program program;
            snprintf(command, sizeof command,
                     "%s exec $LAUNCH -n %d sh -c 'echo $OMP_NUM_THREADS $OPENBLAS_NUM_THREADS'",
                     settings[i], ranks);
            snprintf(line, sizeof line, "[0] %d %d\n", expected[i][0], expected[i][1]);
            program_run(&program, folder.path, command);
            ck_assert_msg(strstr(program.out, line) != NULL, "%s: %s", command, program.out);
            program_close(&program);
        }
    }
    folder_close(&folder);
}
END_TEST

/* --- what is refused ------------------------------------------------------------------------- */

static const struct {
    const char *arguments, *said[2];
} refused[] = {
    {"-n 0 true", {"-n 0", "from 1 to 1024"}},
    {"-n abc true", {"-n abc", "from 1 to 1024"}},
    {"-n 2x true", {"-n 2x", "from 1 to 1024"}},
    {"-n -1 true", {"-n -1", "from 1 to 1024"}},
    {"-n", {"-n", "missing"}},
    {"-n 2", {"program is missing", "-n N"}},
    {"true", {"-n is missing", "1024"}},
    {"-n 2 --frobnicate true", {"--frobnicate", "--help"}},
    {"-n 2 --max-restarts -1 true", {"--max-restarts -1", "from 0 to"}},
    {"-n 2 --grace soon true", {"--grace soon", "seconds"}},
    {"-n 2 --bind core true", {"--bind core", "auto or none"}},
    {"-n 2 --master-port 65536 true", {"--master-port 65536", "65535"}},
    {"-n 2 --master-addr 29500 true", {"--master-addr is '29500'", "127.0.0.1"}},
    {"-n 2 --master-addr 127.0.0.1:29500 true", {"--master-addr is '127", "--master-port"}},
    {"-n 2 --master-addr no-such-host.invalid true", {"no-such-host.invalid", "not resolve"}},
    {"-n 2 --nnodes 0 true", {"--nnodes 0", "from 1 to 1024"}},
    {"-n 2 --nnodes 2 true", {"--nnodes 2", "--master-addr"}},
    {"-n 2 --nnodes 2 --master-addr 127.0.0.1 true", {"--nnodes 2", "--master-port"}},
    {"-n 2 --nnodes 2 --master-port 4000 true", {"--nnodes 2", "--master-addr"}},
    {"-n 2 --node-rank 1 true", {"--node-rank 1", "from 0 to 0"}},
    {"-n 2 --nnodes 2 --node-rank 2 --master-addr 127.0.0.1 --master-port 1 true",
     {"--node-rank 2", "from 0 to 1"}},
    {"-n 600 --nnodes 2 --master-addr 127.0.0.1 --master-port 1 true", {"-n 600", "1024"}},
};
enum { REFUSED = sizeof refused / sizeof *refused };

START_TEST(wrong_command_lines_are_refused_by_name)
{
    char command[TEXT_BYTES];
    snprintf(command, sizeof command, "exec $LAUNCH %s", refused[_i].arguments);
    for (int i = 0; i < 2; i++)
        expect(command, 2, refused[_i].said[i]);
}
END_TEST

START_TEST(a_program_that_cannot_be_started_is_named)
{
    expect("exec $LAUNCH -n 3 ./missing --flag", 127, "cannot start './missing': No such file");
    expect(": > script; exec $LAUNCH -n 3 ./script", 127, "cannot start './script': Permission");
}
END_TEST

START_TEST(a_log_folder_that_cannot_be_made_is_named)
{
    expect("exec $LAUNCH -n 1 --log-dir none/logs true", 1, "--log-dir none/logs");
}
END_TEST

/* --- ports ----------------------------------------------------------------------------------- */

START_TEST(a_port_that_is_taken_is_named_at_once)
{
    char command[TEXT_BYTES], said[64];
    struct fail fail = {0};
    int port = program_port(), fd = launch_port_listen("127.0.0.1", &port, &fail);
    ck_assert_msg(fd >= 0, "%s", fail.text);
    snprintf(command, sizeof command, "exec $LAUNCH -n 2 --master-port %d true", port);
    snprintf(said, sizeof said, "port %d of 127.0.0.1 is taken", port);
    expect(command, 1, said);
    close(fd);
    expect(command, 0, "");
}
END_TEST

START_TEST(a_first_node_that_is_elsewhere_is_named_at_once)
{
    expect("exec $LAUNCH -n 1 --nnodes 2 --master-addr 203.0.113.7 --master-port 4000 true", 1,
           "203.0.113.7 is no address of it");
}
END_TEST

/* The side that closes first keeps the port busy for a minute, unless it asks not to. */
START_TEST(a_port_that_was_just_used_is_used_again)
{
    struct fail fail = {0};
    int port = 0;
    for (int i = 0; i < 20; i++) {
        int listener = launch_port_listen("127.0.0.1", &port, &fail);
        ck_assert_msg(listener >= 0, "%s", fail.text);
        struct sockaddr_in address = {.sin_family = AF_INET,
                                      .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                      .sin_port = htons((uint16_t)port)};
        int client = socket(AF_INET, SOCK_STREAM, 0);
        ck_assert_int_eq(connect(client, (struct sockaddr *)&address, sizeof address), 0);
        int server = accept(listener, NULL, NULL);
        ck_assert_int_ge(server, 0);
        close(server);
        close(client);
        close(listener);
    }
}
END_TEST

START_TEST(fifty_jobs_at_once_all_succeed)
{
    expect("i=0; while [ $i -lt 50 ]; do $LAUNCH -n 2 true & pids=\"$pids $!\"; i=$((i+1)); done; "
           "for p in $pids; do wait $p || exit 1; done",
           0, "");
}
END_TEST

/* --- output ---------------------------------------------------------------------------------- */

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
    expect("exec $LAUNCH -n 2 yes > /dev/full", 1, "No space left");
    expect("exec $LAUNCH --help > /dev/full", 1, "launch: cannot write to the standard output: No");
    expect("exec $LAUNCH --version > /dev/full", 1, "launch: cannot write to the standard output");
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

/* --- failures -------------------------------------------------------------------------------- */

#define AWAIT(condition) "until " condition "; do sleep 0.01; done; "

static const struct {
    const char *script;
    int code;
    const char *said;
} failures[] = {
    {"[ $RANK = 1 ] && exit 7; exec sleep 1000", 7, "first cause: rank 1 exited with code 7\n"},
    {"[ $RANK = 1 ] && exit 7; exit 0", 7, "first cause: rank 1 exited with code 7\n"},
    {"[ $RANK = 2 ] && kill -9 $$; exec sleep 1000", 137,
     "first cause: rank 2 was killed by signal 9"},
    /* its neighbours notice, and may be seen first */
    {"[ $RANK = 1 ] && { : > up; sleep 0.03; kill -9 $$; }; " AWAIT("[ -e up ]") "exit 1", 137,
     "first cause: rank 1 was killed by signal 9"},
    {"[ $RANK = 1 ] && { : > up; kill -9 $$; }; " AWAIT("[ -e up ]") "exit 1", 137,
     "in consequence rank 0 exited with code 1, rank 2"},
    {"[ $RANK = 0 ] && { echo $$ > pid; exit 0; }; " // and has been seen to
     AWAIT("[ -s pid ] && ! kill -0 $(cat pid) 2> /dev/null") "exit 1",
     1, "rank 0 had left before with code 0"},
    {"[ $RANK = 0 ] && exit 3; exec sleep 1000", 3,
     "in consequence rank 1 was stopped, rank 2 was stopped\n"},
};
enum { FAILURES = sizeof failures / sizeof *failures };

START_TEST(one_rank_that_fails_ends_the_job_and_is_named)
{
    char command[TEXT_BYTES];
    snprintf(command, sizeof command, "exec $LAUNCH -n 3 sh -c '%s'", failures[_i].script);
    expect(command, failures[_i].code, failures[_i].said);
}
END_TEST

START_TEST(ranks_that_do_not_heed_sigterm_are_killed_after_the_grace)
{
    struct folder folder;
    struct program program;
    folder_open(&folder);
    program_run(&program, folder.path,
                "exec $LAUNCH -n 2 --grace 0.5 sh -c 'trap \"\" TERM; "
                "if [ $RANK = 1 ]; then sleep 0.2; exit 7; fi; sleep 1000; sleep 1000'");
    ck_assert_msg(program.code == 7, "%s", program.err);
    ck_assert(program.seconds >= 0.7);
    ck_assert(program_gone(&program));
    program_close(&program);
    folder_close(&folder);
}
END_TEST

/* --- the end of the launcher ----------------------------------------------------------------- */

/* Ranks that have a child of their own and say when they run. */
static const char *const family = "exec $LAUNCH -n 3 --grace %s sh -c '%s sleep 1000 & "
                                  ": > up-$RANK; wait; exit 0'";

static void start_family(struct program *program, struct folder *folder, const char *grace,
                         const char *first)
{
    char command[TEXT_BYTES];
    folder_open(folder);
    snprintf(command, sizeof command, family, grace, first);
    program_start(program, folder->path, command);
    await_file(folder, "up-0");
    await_file(folder, "up-1");
    await_file(folder, "up-2");
}

static void end_family(struct program *program, struct folder *folder, int code)
{
    program_wait(program);
    ck_assert_msg(program->code == code, "%d: %s", program->code, program->err);
    ck_assert(program_gone(program));
    program_close(program);
    folder_close(folder);
}

static const int stops[] = {SIGINT, SIGTERM, SIGHUP, SIGKILL};

START_TEST(a_signal_to_the_launcher_leaves_no_process)
{
    struct folder folder;
    struct program program;
    start_family(&program, &folder, "1000", "");
    kill(program.pid, stops[_i]);
    end_family(&program, &folder, 128 + stops[_i]);
}
END_TEST

START_TEST(a_second_interrupt_waits_for_no_grace)
{
    struct folder folder;
    struct program program;
    start_family(&program, &folder, "1000",
                 "[ $RANK = 1 ] && { trap \": > asked\" TERM; : > up-1; "
                 "while :; do sleep 0.01; done; }; trap \"\" TERM;");
    kill(program.pid, SIGINT);
    await_file(&folder, "asked"); // the ranks have been told to end, and do not
    usleep(100000);               // a second that comes at once may be the first one's echo
    ck_assert_int_eq(kill(program.pid, 0), 0);
    kill(program.pid, SIGINT);
    end_family(&program, &folder, 130);
}
END_TEST

START_TEST(two_interrupts_at_once_leave_no_process)
{
    struct folder folder;
    struct program program;
    start_family(&program, &folder, "0.3", "trap \"\" TERM;");
    kill(program.pid, SIGINT);
    kill(program.pid, SIGINT);
    end_family(&program, &folder, 130);
}
END_TEST

START_TEST(an_interrupt_ends_a_stopped_rank_too)
{
    struct folder folder;
    struct program program;
    start_family(&program, &folder, "1000", "[ $RANK = 1 ] && { : > up-1; kill -STOP $$; };");
    kill(program.pid, SIGINT);
    end_family(&program, &folder, 130);
}
END_TEST

/* A pager that shows its first page, and stays while `up` is there. */
START_TEST(an_interrupt_is_heeded_while_nobody_reads)
{
    struct folder folder;
    struct program program;
    folder_open(&folder);
    program_start(&program, folder.path,
                  "mkfifo full; : > up; while [ -e up ]; do sleep 0.1; done < full & "
                  "exec > full; exec $LAUNCH -n 2 sh -c ': > up-$RANK; exec yes'");
    await_file(&folder, "up-1");
    usleep(300000); // by then the pipe is full
    kill(program.pid, SIGINT);
    program_wait(&program);
    ck_assert_msg(program.code == 130, "%d: %s", program.code, program.err);
    program_close(&program);
    folder_close(&folder);
}
END_TEST

/* At any moment of the start. */
START_TEST(an_interrupt_during_the_start_leaves_no_process)
{
    struct folder folder;
    struct program program;
    folder_open(&folder);
    program_start(&program, folder.path, "exec $LAUNCH -n 8 sleep 1000");
    usleep((useconds_t)(_i * 3000));
    kill(program.pid, SIGINT);
    program_wait(&program);
    ck_assert_int_eq(program.code, 130);
    ck_assert(program_gone(&program));
    program_close(&program);
    folder_close(&folder);
}
END_TEST

START_TEST(nothing_that_a_rank_started_outlives_the_job)
{
    expect("exec $LAUNCH -n 2 sh -c 'sleep 1000 & exit 0'", 0, "");
    expect("exec $LAUNCH -n 2 sh -c 'sleep 1000 > /dev/null 2>&1 & exit 0'", 0, "");
}
END_TEST

Suite *launch_suite(void)
{
    Suite *suite = suite_create("launch");
    TCase *tcase = tcase_create("launch");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, ranks_learn_who_they_are_and_where_to_meet);
    tcase_add_test(tcase, ranks_of_a_second_machine_are_numbered_on);
    tcase_add_loop_test(tcase, ranks_of_two_launchers_are_one_job, 0, 2);
    tcase_add_test(tcase, cores_are_shared_out_unless_the_user_says_otherwise);
    tcase_add_loop_test(tcase, wrong_command_lines_are_refused_by_name, 0, REFUSED);
    tcase_add_test(tcase, a_program_that_cannot_be_started_is_named);
    tcase_add_test(tcase, a_log_folder_that_cannot_be_made_is_named);
    tcase_add_test(tcase, a_port_that_is_taken_is_named_at_once);
    tcase_add_test(tcase, a_first_node_that_is_elsewhere_is_named_at_once);
    tcase_add_test(tcase, a_port_that_was_just_used_is_used_again);
    tcase_add_test(tcase, fifty_jobs_at_once_all_succeed);
    tcase_add_loop_test(tcase, lines_stay_whole_marked_and_in_order, 0, 3);
    tcase_add_test(tcase, ranks_wait_for_a_slow_reader);
    tcase_add_test(tcase, the_last_words_of_a_rank_are_shown);
    tcase_add_test(tcase, a_line_longer_than_the_buffer_comes_in_marked_pieces);
    tcase_add_test(tcase, log_files_hold_each_ranks_own_lines);
    tcase_add_test(tcase, a_reader_that_leaves_ends_the_job);
    tcase_add_test(tcase, an_output_that_cannot_be_written_is_a_failure);
    tcase_add_test(tcase, what_a_rank_leaves_behind_may_finish_its_sentence);
    tcase_add_loop_test(tcase, one_rank_that_fails_ends_the_job_and_is_named, 0, FAILURES);
    tcase_add_test(tcase, ranks_that_do_not_heed_sigterm_are_killed_after_the_grace);
    tcase_add_loop_test(tcase, a_signal_to_the_launcher_leaves_no_process, 0, 4);
    tcase_add_test(tcase, a_second_interrupt_waits_for_no_grace);
    tcase_add_test(tcase, two_interrupts_at_once_leave_no_process);
    tcase_add_test(tcase, an_interrupt_ends_a_stopped_rank_too);
    tcase_add_test(tcase, an_interrupt_is_heeded_while_nobody_reads);
    tcase_add_loop_test(tcase, an_interrupt_during_the_start_leaves_no_process, 0, 6);
    tcase_add_test(tcase, nothing_that_a_rank_started_outlives_the_job);
    suite_add_tcase(suite, tcase);
    return suite;
}
