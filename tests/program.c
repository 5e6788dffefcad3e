/* program: fork, exec, wait, with files for the output. See the header. */
#include "tests/program.h"
#include "tests/folder.h"
#include "tests/ranks.h"
#include "tests/unwritten.h"
#include "tests/watched.h"

#include "common/clock.h"
#include "common/todo.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

enum { PATH_BYTES = 4096, GONE_MS = 60000 };
static const double patience_seconds = WATCHED ? 600 : 280;

static void set_launch(void)
{
    char self[PATH_BYTES], path[PATH_BYTES + 16];
    size_t size = sizeof self;
    if (uv_exepath(self, &size) < 0)
        _exit(126);
    snprintf(path, sizeof path, "%s/launch", dirname(self));
    setenv("LAUNCH", path, 1);
}

static void become(const struct program *program, const char *folder, const char *command,
                   const sigset_t *before)
{
    /* What a developer has set for himself is not the test's. */
    static const char *const unwanted[] = {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "JOB_TOKEN"};
    for (size_t i = 0; i < sizeof unwanted / sizeof *unwanted; i++)
        unsetenv(unwanted[i]);
    static const int handled[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof handled / sizeof *handled; i++)
        signal(handled[i], SIG_DFL);
    sigprocmask(SIG_SETMASK, before, NULL);
    set_launch();
    dup2(fileno(program->files[0]), 1);
    dup2(fileno(program->files[1]), 2);
    if (chdir(folder) == 0)
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(126);
}

void program_start(struct program *program, const char *folder, const char *command)
{
    int ends[2];
    sigset_t all, before;
    *program = (struct program){0};
    ck_assert_int_eq(pipe(ends), 0);
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    for (int i = 0; i < 2; i++) {
        program->files[i] = tmpfile();
        ck_assert_ptr_nonnull(program->files[i]);
        fcntl(fileno(program->files[i]), F_SETFD, FD_CLOEXEC);
    }
    program->seconds = -clock_seconds();
    /* Until it has its own, the child has Check's handlers: they would kill this test. */
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    program->pid = fork();
    if (program->pid == 0)
        become(program, folder, command, &before);
    sigprocmask(SIG_SETMASK, &before, NULL);
    ck_assert_int_gt(program->pid, 0);
    close(ends[1]);
    program->lifeline = ends[0];
}

static char *content(FILE *file)
{
    long size = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    ck_assert_int_ge(size, 0);
    rewind(file);
    char *text = malloc((size_t)size + 1);
    ck_assert_ptr_nonnull(text);
    text[fread(text, 1, (size_t)size, file)] = '\0';
    fclose(file);
    return text;
}

bool program_gone(const struct program *program)
{
    struct pollfd lifeline = {.fd = program->lifeline, .events = POLLIN};
    char byte;
    return poll(&lifeline, 1, GONE_MS) == 1 && read(program->lifeline, &byte, 1) == 0;
}

/* What it has started may still use the test's folders. */
static void end_if_unwritten(const struct program *program)
{
    bool said =
        strstr(program->err, "is not yet written") || strstr(program->out, "is not yet written");
    if (!said && program->code != EXIT_TODO)
        return;
    program_gone(program);
    unwritten_if_said(program->err);
    unwritten_if_said(program->out);
    if (program->code == EXIT_TODO)
        todo(UNWRITTEN_UNNAMED);
}

void program_heed_unwritten(const struct program *program)
{
    char text[16 * 1024];
    for (int i = 0; i < 2; i++) {
        ssize_t length = pread(fileno(program->files[i]), text, sizeof text - 1, 0);
        text[length > 0 ? length : 0] = '\0';
        unwritten_if_said(text);
    }
}

void program_wait(struct program *program)
{
    int status, naps = 0;
    pid_t ended;
    while ((ended = waitpid(program->pid, &status, WNOHANG)) == 0 &&
           program->seconds + clock_seconds() < patience_seconds) {
        usleep(2000);
        if (++naps % 1000 == 0) // a script may wait for what no rank will ever say
            program_heed_unwritten(program);
    }
    if (ended == 0) {
        kill(program->pid, SIGKILL);
        waitpid(program->pid, &status, 0);
    }
    program->seconds += clock_seconds();
    program->code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    program->out = content(program->files[0]);
    program->err = content(program->files[1]);
    ck_assert_msg(ended == program->pid, "it did not end in %g s; it printed:\n%s%s",
                  patience_seconds, program->out, program->err);
    end_if_unwritten(program);
}

void program_run(struct program *program, const char *folder, const char *command)
{
    program_start(program, folder, command);
    program_wait(program);
}

int program_port(void)
{
    int port, fd = ranks_bind(&port);
    close(fd);
    return port;
}

void program_close(struct program *program)
{
    close(program->lifeline);
    free(program->out);
    free(program->err);
}

void program_expect(const char *command, int code, const char *said)
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
