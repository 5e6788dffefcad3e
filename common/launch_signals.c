/* launch_signals: what ends a job from outside. See the header. */
#include "common/launch_signals.h"

#include <signal.h>
#include <stddef.h>

static const int ending[] = {SIGINT, SIGTERM, SIGHUP};

static void mask(int how)
{
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++)
        sigaddset(&set, ending[i]);
    sigprocmask(how, &set, NULL);
}

void launch_signals_hold(void)
{
    mask(SIG_BLOCK);
}

void launch_signals_let(void)
{
    mask(SIG_UNBLOCK);
}

bool launch_signals_wait(void)
{
    sigset_t pending;
    sigemptyset(&pending);
    sigpending(&pending);
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++)
        if (sigismember(&pending, ending[i]) == 1)
            return true;
    return false;
}

bool launch_signals_outlives_terminal(void)
{
    struct sigaction hangup;
    return sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler == SIG_IGN;
}

const char *launch_signals_reason(int number)
{
    return number == SIGINT    ? "it was interrupted (SIGINT)"
           : number == SIGTERM ? "it was told to end (SIGTERM)"
                               : "its terminal was closed (SIGHUP)";
}
