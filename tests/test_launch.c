/* The launcher that was built, with small shell scripts as ranks. */
#include "common/launch_plan.h"
#include "common/launch_port.h"
#include "tests/folder.h"
#include "tests/program.h"
#include "tests/suites.h"

#include <arpa/inet.h>
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TEXT_BYTES = 1024, MARKS_MOST = 8 };

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
        program_expect(command, 2, refused[_i].said[i]);
}
END_TEST

START_TEST(a_program_that_cannot_be_started_is_named)
{
    program_expect("exec $LAUNCH -n 3 ./missing --flag", 127,
                   "cannot start './missing': No such file");
    program_expect(": > script; exec $LAUNCH -n 3 ./script", 127,
                   "cannot start './script': Permission");
}
END_TEST

START_TEST(a_log_folder_that_cannot_be_made_is_named)
{
    program_expect("exec $LAUNCH -n 1 --log-dir none/logs true", 1, "--log-dir none/logs");
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
    program_expect(command, 1, said);
    close(fd);
    program_expect(command, 0, "");
}
END_TEST

START_TEST(a_first_node_that_is_elsewhere_is_named_at_once)
{
    program_expect("exec $LAUNCH -n 1 --nnodes 2 --master-addr 203.0.113.7 --master-port 4000 true",
                   1, "203.0.113.7 is no address of it");
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
    program_expect(
        "i=0; while [ $i -lt 50 ]; do $LAUNCH -n 2 true & pids=\"$pids $!\"; i=$((i+1)); done; "
        "for p in $pids; do wait $p || exit 1; done",
        0, "");
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
    suite_add_tcase(suite, tcase);
    return suite;
}
