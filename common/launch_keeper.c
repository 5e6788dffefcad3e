/* launch_keeper: leads the ranks' process group, and kills it when the launcher is gone. */
#include "common/launch_keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const int minded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP};

int launch_pipe(int ends[2])
{
    if (pipe(ends) < 0)
        return -errno;
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    return 0;
}

static void keep(int pipe)
{
    setpgid(0, 0);
    for (size_t i = 0; i < sizeof minded / sizeof *minded; i++)
        signal(minded[i], SIG_IGN);
    /* Whoever reads the launcher's output waits for its end, not for ours. */
    int nothing = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; fd++)
        dup2(nothing, fd);
    char byte;
    while (read(pipe, &byte, 1) < 0 && errno == EINTR)
        continue;
    kill(0, SIGKILL);
}

int launch_keeper_start(struct launch_keeper *keeper, struct fail *fail)
{
    int ends[2];
    int error = launch_pipe(ends);
    if (error < 0)
        return fail_set(fail, error, "cannot make a pipe: %s", strerror(-error));
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[1]);
        keep(ends[0]);
        _exit(1);
    }
    error = -errno;
    close(ends[0]);
    if (pid < 0) {
        close(ends[1]);
        return fail_set(fail, error, "cannot start a process: %s", strerror(-error));
    }
    setpgid(pid, pid); // whichever of the two comes first
    *keeper = (struct launch_keeper){.group = pid, .pipe = ends[1]};
    return 0;
}

void launch_keeper_signal(const struct launch_keeper *keeper, int number)
{
    if (keeper->group > 0)
        kill(-keeper->group, number);
}

bool launch_keeper_lost(struct launch_keeper *keeper)
{
    if (keeper->group == 0 || waitpid(keeper->group, NULL, WNOHANG) != keeper->group)
        return false;
    kill(-keeper->group, SIGKILL); // nobody would do it later
    keeper->group = 0;
    close(keeper->pipe);
    return true;
}

void launch_keeper_end(struct launch_keeper *keeper)
{
    if (keeper->group == 0)
        return;
    kill(-keeper->group, SIGKILL);
    while (waitpid(keeper->group, NULL, 0) < 0 && errno == EINTR)
        continue;
    close(keeper->pipe);
    *keeper = (struct launch_keeper){0};
}
