/* launch_rank: environment, pipes, fork, exec. See the header. */
#include "common/launch_rank.h"

#include "common/launch_cores.h"
#include "common/launch_keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Of each, 0 is the launcher's end and 1 the rank's. */
struct pipes {
    int out[2], err[2];
    int report[2]; // closed by a successful exec
};

static void set(const char *name, int value)
{
    char text[16];
    snprintf(text, sizeof text, "%d", value);
    setenv(name, text, 1);
}

/* Two libraries, two variables: where the user has set one, the other follows it. */
static void set_threads(int threads)
{
    const char *openmp = getenv("OMP_NUM_THREADS"), *openblas = getenv("OPENBLAS_NUM_THREADS");
    if (!openmp && !openblas) {
        set("OMP_NUM_THREADS", threads);
        set("OPENBLAS_NUM_THREADS", threads);
    } else if (!openmp) {
        setenv("OMP_NUM_THREADS", openblas, 1);
    } else if (!openblas) {
        setenv("OPENBLAS_NUM_THREADS", openmp, 1);
    }
}

static void set_environment(const struct launch_plan *plan, int local_rank)
{
    int rank = plan->first_rank + local_rank;
    set("RANK", rank);
    set("WORLD_SIZE", plan->world);
    set("LOCAL_RANK", local_rank);
    set("LOCAL_WORLD_SIZE", plan->local_world);
    setenv("MASTER_ADDR", plan->master_address, 1);
    set("MASTER_PORT", plan->master_port);
    set("RESTART_COUNT", plan->restart);
    if (plan->token[0])
        setenv("JOB_TOKEN", plan->token, 1);
    unsetenv("RENDEZVOUS_FD");
    if (rank == 0 && plan->listener >= 0) {
        set("RENDEZVOUS_FD", plan->listener);
        fcntl(plan->listener, F_SETFD, 0);
    }
    set_threads(plan->threads);
}

/* Signals the launcher handles have their default meaning in a rank; ignored ones (nohup) stay
 * so. */
static void reset_signals(void)
{
    static const int handled[] = {SIGINT, SIGTERM, SIGHUP, SIGCHLD};
    struct sigaction now;
    for (size_t i = 0; i < sizeof handled / sizeof *handled; i++)
        if (sigaction(handled[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            signal(handled[i], SIG_DFL);
    signal(SIGPIPE, SIG_DFL); // which only the launcher itself ignores
}

/* In the child. Signals are blocked until the launcher's handlers are gone. Returns when it could
 * not become the program. */
static void become(const struct launch_plan *plan, int local_rank, pid_t group,
                   const struct pipes *pipes, const sigset_t *mask)
{
    if (setpgid(0, group) < 0)
        return; // the keeper is gone: nobody would end this process
    reset_signals();
    int nothing = open("/dev/null", O_RDONLY);
    if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 || dup2(pipes->out[1], STDOUT_FILENO) < 0 ||
        dup2(pipes->err[1], STDERR_FILENO) < 0)
        return;
    close(nothing);
    set_environment(plan, local_rank);
    if (plan->bind)
        launch_cores_bind(local_rank, plan->local_world);
    sigprocmask(SIG_SETMASK, mask, NULL);
    execvp(plan->program[0], plan->program);
}

static pid_t fork_rank(const struct launch_plan *plan, int local_rank, pid_t group,
                       const struct pipes *pipes)
{
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    pid_t pid = fork();
    if (pid == 0) {
        become(plan, local_rank, group, pipes, &before);
        int why = errno;
        ssize_t written = write(pipes->report[1], &why, sizeof why);
        _exit(written > 0 ? 127 : 126);
    }
    int error = -errno;
    sigprocmask(SIG_SETMASK, &before, NULL);
    return pid < 0 ? error : pid;
}

/* The child says why it did not become the program; when it did, its end is closed. */
static int await_exec(const struct launch_plan *plan, pid_t pid, int report, struct fail *fail)
{
    int why = 0;
    ssize_t got;
    do
        got = read(report, &why, sizeof why);
    while (got < 0 && errno == EINTR);
    if (got != sizeof why)
        return 0;
    waitpid(pid, NULL, 0);
    return fail_set(fail, -ENOEXEC, "cannot start '%s': %s", plan->program[0], strerror(why));
}

static int pipes_open(struct pipes *pipes)
{
    *pipes = (struct pipes){{-1, -1}, {-1, -1}, {-1, -1}};
    int error = launch_pipe(pipes->out);
    if (error == 0)
        error = launch_pipe(pipes->err);
    if (error == 0)
        error = launch_pipe(pipes->report);
    return error;
}

static void close_end(int *end)
{
    if (*end >= 0)
        close(*end);
    *end = -1;
}

static void pipes_close(struct pipes *pipes, int side)
{
    close_end(&pipes->out[side]);
    close_end(&pipes->err[side]);
    close_end(&pipes->report[side]);
}

int launch_rank_start(const struct launch_plan *plan, int local_rank, pid_t group,
                      struct launch_process *process, struct fail *fail)
{
    struct pipes pipes;
    int error = pipes_open(&pipes);
    pid_t pid = error == 0 ? fork_rank(plan, local_rank, group, &pipes) : error;
    pipes_close(&pipes, 1);
    if (pid < 0)
        error = fail_set(fail, pid, "cannot start rank %d: %s", plan->first_rank + local_rank,
                         strerror(-pid));
    else
        error = await_exec(plan, pid, pipes.report[0], fail);
    if (error < 0) {
        pipes_close(&pipes, 0);
        return error;
    }
    close(pipes.report[0]);
    *process = (struct launch_process){.pid = pid, .out = pipes.out[0], .err = pipes.err[0]};
    return 0;
}
