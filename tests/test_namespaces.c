/* The programs on several machines, which are network namespaces: the same results as on one, and
 * an end on every machine when one is lost. */
#include "tests/folder.h"
#include "tests/lessons.h"
#include "tests/network.h"
#include "tests/program.h"
#include "tests/suites.h"

#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MACHINES = 3, COMMAND_BYTES = 1024, LINE_BYTES = 512, AWAIT_MS = 60000 };

/* Made before the first test and removed after the last, even one that fails. */
static struct network network;

static void make_network(void)
{
    network_open(&network, MACHINES);
}

static void remove_network(void)
{
    network_close(&network);
}

static void mend_network(void)
{
    network_mend(&network);
}

/* --- a job on several machines --------------------------------------------------------------- */

struct job {
    struct folder folder;
    int machines, ranks;     // ranks on each machine
    int lesson;              // its number
    const char *arguments;   // of the lesson
    const char *bind;        // BIND_ADDRESS of machine 1, or NULL
    const char *before_rank; // on the last machine: what starts its ranks, or ""
    struct program programs[MACHINES];
};

static const char *const names[] = {"lesson01_single", "lesson02_allreduce", "lesson03_ddp",
                                    "lesson04_zero"};
static const char for_long[] = "--epochs 1000000 --no-verify --timeout 5";
static const char hosts[] = "127.0.0.1 localhost\n10.77.0.1 first\n127.0.1.1 myself\n";

/* The first machine begins last. Every network has its ports to itself. */
static void job_start(struct job *job)
{
    char command[COMMAND_BYTES];
    folder_open(&job->folder);
    lesson_write(&job->folder, "hosts", hosts);
    for (int i = job->machines - 1; i >= 0; i--) {
        snprintf(
            command, sizeof command,
            "env JOB_TOKEN=000102030405060708090a0b0c0d0e0f OPENBLAS_NUM_THREADS=1 "
            "%s%s \"$LAUNCH\" --nnodes %d --node-rank %d --master-addr first --master-port 4000 "
            "-n %d %s \"${LAUNCH%%/*}/%s\" %s",
            job->bind && i == 1 ? "BIND_ADDRESS=" : "", job->bind && i == 1 ? job->bind : "",
            job->machines, i, job->ranks, i == job->machines - 1 ? job->before_rank : "",
            names[job->lesson - 1], job->arguments);
        network_start(&network, i, &job->programs[i], &job->folder, command);
    }
}

static void job_wait(struct job *job)
{
    for (int i = 0; i < job->machines; i++) {
        program_wait(&job->programs[i]);
        ck_assert_msg(program_gone(&job->programs[i]), "machine %d: something is left", i);
    }
}

static void job_close(struct job *job)
{
    for (int i = 0; i < job->machines; i++)
        program_close(&job->programs[i]);
    folder_close(&job->folder);
}

/* Until rank 0 has trained for an epoch. */
static void job_await_training(const struct job *job)
{
    int fd = fileno(job->programs[0].files[0]);
    for (int i = 0; i < AWAIT_MS; i += 2) {
        char text[4096];
        ssize_t got = pread(fd, text, sizeof text - 1, 0);
        text[got > 0 ? got : 0] = '\0';
        if (strstr(text, " 2/1000000 "))
            return;
        for (int machine = 0; i % 2000 == 1998 && machine < job->machines; machine++)
            program_heed_unwritten(&job->programs[machine]);
        usleep(2000);
    }
    ck_abort_msg("no epoch was trained");
}

/* A machine's launcher left with `code`, and its ranks or itself said `words`. */
static void job_assert(const struct job *job, int machine, int code, const char *words)
{
    const struct program *program = &job->programs[machine];
    ck_assert_msg(program->code == code && strstr(program->err, words),
                  "machine %d: exit code %d, not %d with '%s'\n%s%s", machine, program->code, code,
                  words, program->out, program->err);
}

/* --- equal results --------------------------------------------------------------------------- */

/* The last line without the seconds it took: loss, accuracy, and what was verified. */
static void read_result(const struct program *program, char line[LINE_BYTES])
{
    const char *begin = strstr(program->out, "[0] result |");
    ck_assert_msg(begin && program->code == 0, "exit code %d\n%s%s", program->code, program->out,
                  program->err);
    const char *accuracy = strstr(begin, "| accuracy"), *verified = strstr(begin, "| verified:");
    ck_assert_msg(accuracy && verified, "%s", begin);
    int kept = (int)(strchr(accuracy, '%') - begin);
    snprintf(line, LINE_BYTES, "%.*s %s", kept, begin, verified);
    ck_assert_ptr_nonnull(strstr(line, "all hold"));
}

static const struct {
    int lesson, machines, ranks;
} shapes[] = {{2, 2, 2}, {2, 3, 1}, {3, 2, 2}, {3, 3, 1}, {4, 2, 2}, {4, 3, 1}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

START_TEST(a_job_on_several_machines_ends_as_on_one)
{
    struct job job = {.machines = shapes[_i].machines,
                      .ranks = shapes[_i].ranks,
                      .lesson = shapes[_i].lesson,
                      .arguments = "--epochs 2",
                      .before_rank = ""};
    struct lesson lesson = {job.lesson, job.machines * job.ranks};
    struct program alone;
    char expected[LINE_BYTES], line[LINE_BYTES];
    job_start(&job);
    job_wait(&job);
    for (int i = 0; i < job.machines; i++) {
        job_assert(&job, i, 0, "");
        ck_assert_str_eq(job.programs[i].err, "");
    }
    read_result(&job.programs[0], line);
    lesson_run(&alone, &job.folder, lesson, job.arguments);
    read_result(&alone, expected);
    ck_assert_str_eq(line, expected);
    program_close(&alone);
    job_close(&job);
}
END_TEST

/* --- names ----------------------------------------------------------------------------------- */

/* Machines that call themselves by a loopback address: others would wait for them in vain. */
static const char *const own_names[] = {
    "\"$LAUNCH\" -n 1 --nnodes 2 --master-addr myself --master-port 4000 true",
    "env RANK=0 WORLD_SIZE=2 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 MASTER_ADDR=myself "
    "\"${LAUNCH%/*}/lesson02_allreduce\"",
};
enum { OWN_NAMES = sizeof own_names / sizeof *own_names };

START_TEST(a_name_that_only_means_this_machine_to_itself_is_refused)
{
    struct folder folder;
    struct program program;
    folder_open(&folder);
    lesson_write(&folder, "hosts", hosts);
    network_start(&network, 0, &program, &folder, own_names[_i]);
    program_wait(&program);
    ck_assert_msg(program.code == 2 && strstr(program.err, "is 'myself'") &&
                      strstr(program.err, "resolves to 127.0.1.1"),
                  "exit code %d: %s", program.code, program.err);
    program_close(&program);
    folder_close(&folder);
}
END_TEST

/* localhost means an address that this machine does not have; it does not know its own name, or
 * another than others would find it by. */
START_TEST(a_job_on_one_machine_needs_no_names)
{
    static const char *const odd[] = {"::1 localhost\n", "", "127.0.1.1 localhost\n"};
    struct folder folder;
    struct program program;
    folder_open(&folder);
    lesson_write(&folder, "hosts", odd[_i]);
    network_start(&network, 0, &program, &folder,
                  "sh -c 'echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6; "
                  "export OPENBLAS_NUM_THREADS=1; "
                  "exec \"$LAUNCH\" -n 2 \"${LAUNCH%/*}/lesson02_allreduce\" --steps 1'");
    program_wait(&program);
    ck_assert_msg(program.code == 0 && strstr(program.out, "all hold"), "exit code %d: %s",
                  program.code, program.err);
    ck_assert_str_eq(program.err, "");
    program_close(&program);
    folder_close(&folder);
}
END_TEST

/* The machines have a second address each; machine 2's links show which one rank 1 has named. */
START_TEST(ranks_are_called_where_they_were_told_to_bind)
{
    static const char *const given[] = {"10.78.0.2", "eth0:2"};
    struct job job = {.machines = 3,
                      .ranks = 1,
                      .lesson = 2,
                      .arguments = for_long,
                      .before_rank = "",
                      .bind = given[_i]};
    struct program seen;
    job_start(&job);
    job_await_training(&job);
    network_start(&network, 2, &seen, &job.folder, "ss -Htn");
    program_wait(&seen);
    for (int i = 0; i < job.machines; i++)
        kill(job.programs[i].pid, SIGTERM);
    job_wait(&job);
    ck_assert_msg(strstr(seen.out, "10.78.0.2:") && !strstr(seen.out, "10.77.0.2:"), "%s%s",
                  seen.out, seen.err);
    program_close(&seen);
    job_close(&job);
}
END_TEST

/* --- failures -------------------------------------------------------------------------------- */

START_TEST(a_rank_that_dies_ends_the_job_on_every_machine)
{
    struct job job = {.machines = 2,
                      .ranks = 1,
                      .lesson = 2 + _i,
                      .arguments = for_long,
                      .before_rank = "sh -c 'echo $$ > pid; exec \"$0\" \"$@\"'"};
    char path[512];
    int pid = 0;
    job_start(&job);
    job_await_training(&job);
    FILE *file = fopen(folder_path(&job.folder, "pid", path), "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fscanf(file, "%d", &pid), 1);
    fclose(file);
    kill(pid, SIGKILL);
    job_wait(&job);
    job_assert(&job, 1, 128 + SIGKILL, "first cause: rank 1 was killed by signal 9");
    job_assert(&job, 0, 1, "rank 1 ");
    job_assert(&job, 0, 1, "if it lost a rank of another");
    job_close(&job);
}
END_TEST

/* No packet comes back and nothing is closed: only the deadline can tell. */
START_TEST(a_cut_cable_ends_the_job_on_both_sides)
{
    struct job job = {
        .machines = 2, .ranks = 1, .lesson = 2 + _i, .arguments = for_long, .before_rank = ""};
    job_start(&job);
    job_await_training(&job);
    network_cut(&network, 1, _i == 0 ? NETWORK_AT_SWITCH : NETWORK_AT_MACHINE);
    job_wait(&job);
    job_assert(&job, 0, 1, "rank 1 ");
    job_assert(&job, 1, 1, "rank 0 ");
    job_close(&job);
}
END_TEST

/* Two machines can still talk to each other, and agree on whom they have lost. */
START_TEST(machines_that_are_left_name_the_one_that_was_cut_off)
{
    struct job job = {
        .machines = 3, .ranks = 1, .lesson = 4, .arguments = for_long, .before_rank = ""};
    job_start(&job);
    job_await_training(&job);
    network_cut(&network, 2, NETWORK_AT_SWITCH);
    job_wait(&job);
    job_assert(&job, 0, 1, "rank 2 ");
    job_assert(&job, 1, 1, "rank 2 ");
    const char *err = job.programs[2].err;
    ck_assert_msg(strstr(err, "rank 0 ") || strstr(err, "rank 1 "), "%s", err);
    job_close(&job);
}
END_TEST

Suite *namespaces_suite(void)
{
    char why[NETWORK_WHY_BYTES];
    Suite *suite = suite_create("namespaces");
    TCase *tcase = tcase_create("namespaces");
    tcase_set_timeout(tcase, 60);
    if (network_is_possible(why)) {
        tcase_add_unchecked_fixture(tcase, make_network, remove_network);
        tcase_add_checked_fixture(tcase, mend_network, NULL);
        tcase_add_loop_test(tcase, a_job_on_several_machines_ends_as_on_one, 0, SHAPES);
        tcase_add_loop_test(tcase, a_name_that_only_means_this_machine_to_itself_is_refused, 0,
                            OWN_NAMES);
        tcase_add_loop_test(tcase, a_job_on_one_machine_needs_no_names, 0, 3);
        tcase_add_loop_test(tcase, ranks_are_called_where_they_were_told_to_bind, 0, 2);
        tcase_add_loop_test(tcase, a_rank_that_dies_ends_the_job_on_every_machine, 0, 3);
        tcase_add_loop_test(tcase, a_cut_cable_ends_the_job_on_both_sides, 0, 2);
        tcase_add_test(tcase, machines_that_are_left_name_the_one_that_was_cut_off);
    } else {
        printf("namespaces: skipped: %s\n", why);
        fflush(stdout);
    }
    suite_add_tcase(suite, tcase);
    return suite;
}
