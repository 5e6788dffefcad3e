/*
 * A rank is killed while its run saves a checkpoint: before the save's first system call, before its second,
 * and so on to the last. Whenever it is, what is found afterwards is the old checkpoint or the new
 * one, whole, and the run that goes on from it ends as if nothing had happened.
 *
 * The rank is traced (ptrace) and stopped at every system call; the save begins where it names a folder
 * that is written aside. Of several ranks each is the victim in turn, and only calls that change something
 * count: how often it looks for its peers is never the same. The survivors must end by themselves.
 */
#include "tests/folder.h"
#include "tests/lessons.h"
#include "tests/suites.h"

#include <check.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__linux__) && defined(__x86_64__) && !defined(__SANITIZE_THREAD__) &&                  \
    !defined(__SANITIZE_ADDRESS__)
#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/reg.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { PATH_BYTES = 512, CALLS_MOST = 200, RANKS = 3 };

/* A text of the traced process; "" where there is none. */
static void peek_text(pid_t pid, long address, char text[PATH_BYTES])
{
    size_t used = 0;
    memset(text, 0, PATH_BYTES);
    while (used + sizeof address < PATH_BYTES && !memchr(text, '\0', used)) {
        errno = 0;
        long word = ptrace(PTRACE_PEEKDATA, pid, address + (long)used, 0);
        if (errno != 0)
            return;
        memcpy(text + used, &word, sizeof word);
        used += sizeof word;
    }
}

struct job {
    int lesson, world, victim;
    bool again;                      // the update that is saved is there already
    int port;                        // where the ranks meet
    int synced_before, synced_after; // of a whole save: flushes before its one rename, and after
};

/* Is the call that is about to be made the first one of a save? */
static bool begins_save(pid_t pid)
{
    char path[PATH_BYTES];
    if (ptrace(PTRACE_PEEKUSER, pid, 8 * ORIG_RAX, 0) != SYS_openat)
        return false;
    peek_text(pid, ptrace(PTRACE_PEEKUSER, pid, 8 * RSI, 0), path);
    return strstr(path, "update-00000004.tmp-") != NULL;
}

static bool counts(const struct job *job, pid_t pid)
{
    static const long changing[] = {SYS_openat, SYS_mkdir,    SYS_write, SYS_fsync,     SYS_close,
                                    SYS_rename, SYS_unlinkat, SYS_rmdir, SYS_exit_group};
    long call = ptrace(PTRACE_PEEKUSER, pid, 8 * ORIG_RAX, 0);
    for (size_t i = 0; i < sizeof changing / sizeof *changing; i++)
        if (call == changing[i])
            return true;
    return job->world == 1;
}

static void set_number(const char *name, int value)
{
    char text[16];
    snprintf(text, sizeof text, "%d", value);
    setenv(name, text, 1);
}

/* A child: a rank of the lesson in the folder. */
static void become_rank(const struct folder *folder, const struct job *job, int rank)
{
    static const char *const names[] = {"lesson01_single", "lesson02_allreduce", "lesson03_ddp",
                                        "lesson04_zero"};
    char path[PATH_BYTES] = "";
    if (readlink("/proc/self/exe", path, sizeof path - 20) < 0)
        _exit(97);
    char *name = strrchr(path, '/'); // of this test; the lesson was built beside it
    snprintf(name, sizeof path - (size_t)(name - path), "/%s", names[job->lesson - 1]);
    char *arguments[] = {path,     "--hidden", "4",       "--steps",  "4", "--no-verify",
                         "--save", "s",        "--quiet", "--resume", "s", NULL};
    if (job->again)
        arguments[9] = NULL;
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    setenv("MASTER_ADDR", "127.0.0.1", 1);
    set_number("MASTER_PORT", job->port);
    set_number("RANK", rank);
    set_number("WORLD_SIZE", job->world);
    bool quiet = freopen("/dev/null", "w", stdout) && freopen("/dev/null", "w", stderr);
    if (chdir(folder->path) != 0 || !quiet ||
        (rank == job->victim && ptrace(PTRACE_TRACEME, 0, 0, 0) != 0))
        _exit(99);
    execv(path, arguments);
    _exit(98);
}

/* A name is safe once what it names was flushed; and then the folder, for the name's sake. */
static void count_syncs(struct job *job, pid_t pid)
{
    static const char name[] = "s/update-00000004";
    long call = ptrace(PTRACE_PEEKUSER, pid, 8 * ORIG_RAX, 0);
    char path[PATH_BYTES] = "";
    if (call == SYS_rename)
        peek_text(pid, ptrace(PTRACE_PEEKUSER, pid, 8 * RSI, 0), path);
    if (strcmp(path, name) == 0)
        job->synced_after = 0;
    else if (call == SYS_fsync && job->synced_after < 0)
        job->synced_before++;
    else if (call == SYS_fsync)
        job->synced_after++;
}

/* Lets it go until call `fatal` of its save, from 0, is about to be made. False: it has ended before. */
static bool trace(struct job *job, pid_t pid, int fatal)
{
    int status, calls = -1; // of the save so far; -1: it has not begun
    bool entering = false;  // every call stops twice
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_msg(WIFSTOPPED(status), "cannot be traced: %d", status);
    for (;;) {
        ptrace(PTRACE_SYSCALL, pid, 0, 0);
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        if (WIFEXITED(status)) {
            ck_assert_int_eq(WEXITSTATUS(status), 0);
            return false;
        }
        entering = !entering;
        if (!entering || (calls < 0 && !begins_save(pid)))
            continue;
        if ((calls < 0 || counts(job, pid)) && ++calls == fatal)
            return true;
        count_syncs(job, pid);
    }
}

/* Kills the victim before that call. False: it had made all its calls, and ended, as did all. */
static bool kill_before_call(const struct folder *folder, struct job *job, int fatal)
{
    pid_t pids[RANKS];
    int status;
    job->port = program_port();
    job->synced_before = 0;
    job->synced_after = -1;
    for (int rank = 0; rank < job->world; rank++) {
        pids[rank] = fork();
        if (pids[rank] == 0)
            become_rank(folder, job, rank);
    }
    bool killed = trace(job, pids[job->victim], fatal);
    if (killed) {
        kill(pids[job->victim], SIGKILL);
        ck_assert_int_eq(waitpid(pids[job->victim], &status, 0), pids[job->victim]);
    }
    for (int rank = 0; rank < job->world; rank++)
        if (rank != job->victim) {
            ck_assert_int_eq(waitpid(pids[rank], &status, 0), pids[rank]);
            ck_assert_msg(killed || status == 0, "rank %d ended with %d", rank, status);
        }
    return killed;
}

static void must_hold(const struct folder *folder, int call, const char *command)
{
    struct program program;
    program_run(&program, folder->path, command);
    ck_assert_msg(program.code == 0, "killed before call %d of the save: %s: %s%s", call, command,
                  program.out, program.err);
    program_close(&program);
}

static const struct job jobs[] = {
    {.lesson = 1, .world = 1, .victim = 0},     {.lesson = 4, .world = RANKS, .victim = 0},
    {.lesson = 4, .world = RANKS, .victim = 1}, {.lesson = 4, .world = RANKS, .victim = 2},
    {.lesson = 2, .world = 2, .victim = 0},     {.lesson = 1, .world = 1, .again = true},
};
enum { JOBS = sizeof jobs / sizeof *jobs };

/* Whatever has a name of an update is one, also an older one that is about to go. */
static const char all_load[] =
    "for d in s/update-*; do case $d in *.tmp-*) ;; *) \"${LAUNCH%/*}/consolidate\" $d "
    "any.safetensors || exit 1 ;; esac; done; \"${LAUNCH%/*}/consolidate\" s s.safetensors && { "
    "cmp "
    "s.safetensors old.safetensors 2> /dev/null || cmp s.safetensors new.safetensors; }";

START_TEST(a_save_killed_at_any_call_leaves_the_old_one_or_the_new_one)
{
    static const char one[] = "--hidden 4 --no-verify --quiet";
    struct folder folder;
    struct job job = jobs[_i];
    struct lesson lesson = {job.lesson, job.world};
    char arguments[128];
    int call = 0;
    folder_open(&folder);
    snprintf(arguments, sizeof arguments, "%s --steps %d --save old", one, job.again ? 4 : 2);
    lesson_ok(&folder, lesson, arguments);
    snprintf(arguments, sizeof arguments, "%s --steps 4 --save new", one);
    lesson_ok(&folder, lesson, arguments);
    lesson_consolidate(&folder, "old");
    lesson_consolidate(&folder, "new");
    must_hold(&folder, -1, "cp -r old s");
    for (bool killed = true; killed; call++) {
        ck_assert_int_lt(call, CALLS_MOST);
        killed = kill_before_call(&folder, &job, call);
        must_hold(&folder, call, all_load);
        must_hold(&folder, call,
                  "cd s && for d in *; do case $d in *.tmp-*) ;; *) rm -r $d ;; esac; done; cp -r "
                  "../old/* .");
    }
    if (job.victim ==
        0) { // its file, the folder, the manifest, the folder; and the folder around it
        ck_assert_int_ge(job.synced_before, 4);
        ck_assert_int_ge(job.synced_after, 1);
    }
    ck_assert_int_gt(call, job.victim == 0 ? 12 : 5); // open, write, sync, rename, close, sync, ...
    must_hold(&folder, call, "[ \"$(ls s)\" = \"$(ls old)\" ]"); // the last run has swept
    folder_close(&folder);
}
END_TEST

#else
enum { JOBS = 1 };

START_TEST(a_save_killed_at_any_call_leaves_the_old_one_or_the_new_one)
{
    printf("killed_save: skipped: it traces system calls of Linux on x86-64, not of sanitized "
           "programs\n");
}
END_TEST
#endif

Suite *killed_save_suite(void)
{
    Suite *suite = suite_create("killed_save");
    TCase *tcase = tcase_create("killed_save");
    tcase_set_timeout(tcase, 600);
    tcase_add_loop_test(tcase, a_save_killed_at_any_call_leaves_the_old_one_or_the_new_one, 0,
                        JOBS);
    suite_add_tcase(suite, tcase);
    return suite;
}
