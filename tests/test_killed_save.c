/*
 * A run is killed while it saves a checkpoint: before the save's first system call, before its second,
 * and so on to the last. Whenever it is, what is found afterwards is the old checkpoint or the new
 * one, whole, and the run that goes on from it ends as if nothing had happened.
 *
 * The run is traced (ptrace) and stopped at every system call; the save begins where it opens a file
 * whose name says that it is written aside.
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

enum { PATH_BYTES = 512, CALLS_MOST = 200 };

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

/* Is the call that is about to be made the first one of a save? */
static bool begins_save(pid_t pid)
{
    char path[PATH_BYTES];
    if (ptrace(PTRACE_PEEKUSER, pid, 8 * ORIG_RAX, 0) != SYS_openat)
        return false;
    peek_text(pid, ptrace(PTRACE_PEEKUSER, pid, 8 * RSI, 0), path);
    return strstr(path, "checkpoint.safetensors.tmp-") != NULL;
}

/* The traced child: lesson 1 in the folder. */
static void become_lesson(const struct folder *folder)
{
    char path[PATH_BYTES] = "";
    if (readlink("/proc/self/exe", path, sizeof path - 20) < 0)
        _exit(97);
    char *name = strrchr(path, '/'); // of this test; the lesson was built beside it
    snprintf(name, sizeof path - (size_t)(name - path), "/lesson01_single");
    char *arguments[] = {path,     "--hidden", "4",        "--steps", "4",       "--no-verify",
                         "--save", "s",        "--resume", "s",       "--quiet", NULL};
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    if (chdir(folder->path) != 0 || !freopen("/dev/null", "w", stdout) ||
        ptrace(PTRACE_TRACEME, 0, 0, 0) != 0)
        _exit(99);
    execv(path, arguments);
    _exit(98);
}

/* Kills it before call `fatal` of the save, from 0. False: it had made all its calls, and ended. */
static bool kill_before_call(const struct folder *folder, int fatal)
{
    int status, calls = -1; // of the save so far; -1: it has not begun
    bool entering = false;  // every call stops twice
    pid_t pid = fork();
    if (pid == 0)
        become_lesson(folder);
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
        if (entering && (calls >= 0 || begins_save(pid)) && ++calls == fatal)
            break;
    }
    kill(pid, SIGKILL);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return true;
}

static void must_hold(const struct folder *folder, int call, const char *command)
{
    struct program program;
    program_run(&program, folder->path, command);
    ck_assert_msg(program.code == 0, "killed before call %d of the save: %s: %s%s", call, command,
                  program.out, program.err);
    program_close(&program);
}

START_TEST(a_save_killed_at_any_call_leaves_the_old_one_or_the_new_one)
{
    static const char one[] = "--hidden 4 --no-verify --quiet";
    struct folder folder;
    char arguments[128];
    int call = 0;
    folder_open(&folder);
    snprintf(arguments, sizeof arguments, "%s --steps 2 --save old", one);
    lesson_ok(&folder, (struct lesson){1, 1}, arguments);
    snprintf(arguments, sizeof arguments, "%s --steps 4 --save new", one);
    lesson_ok(&folder, (struct lesson){1, 1}, arguments);
    must_hold(&folder, -1, "cp -r old s");
    for (bool killed = true; killed; call++) {
        ck_assert_int_lt(call, CALLS_MOST);
        killed = kill_before_call(&folder, call);
        must_hold(&folder, call,
                  "cd s; cmp checkpoint.safetensors ../old/checkpoint.safetensors 2> /dev/null || "
                  "cmp checkpoint.safetensors ../new/checkpoint.safetensors");
        must_hold(&folder, call, "cp old/checkpoint.safetensors s/");
    }
    ck_assert_int_gt(call, 6); // open, write, sync, close, rename, sync, and the end
    must_hold(&folder, call, "[ \"$(ls s)\" = checkpoint.safetensors ]"); // nothing is left aside
    folder_close(&folder);
}
END_TEST

#else
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
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, a_save_killed_at_any_call_leaves_the_old_one_or_the_new_one);
    suite_add_tcase(suite, tcase);
    return suite;
}
