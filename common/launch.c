/* launch: starts the ranks of a job on this machine, as torchrun and mpirun do. See --help. */
#include "common/fail.h"
#include "common/launch_job.h"
#include "common/launch_options.h"
#include "common/launch_signals.h"
#include "common/standard_files.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* What a job failed of, a full disk, a port, another job, may be over in a moment: 0.05 s, then twice as long
 * each time, up to 5 s. A signal is held until the job has started; it ends the pause. */
static void pause_before(int restart)
{
    enum { FIRST_MS = 50, MOST_MS = 5000, MOMENT_MS = 10, DOUBLINGS = 7 };
    static const struct timespec moment = {.tv_nsec = MOMENT_MS * 1000 * 1000};
    int doublings = restart - 1 < DOUBLINGS ? restart - 1 : DOUBLINGS;
    int left_ms = FIRST_MS << doublings < MOST_MS ? FIRST_MS << doublings : MOST_MS;
    for (; left_ms > 0 && !launch_signals_wait(); left_ms -= MOMENT_MS)
        nanosleep(&moment, NULL);
}

static int launch(char **argv, struct fail *fail)
{
    struct launch_options options;
    int code = LAUNCH_USAGE;
    if (launch_options_parse(&options, argv, fail) < 0)
        return code;
    if (options.help) {
        launch_options_help(stdout);
        return 0;
    }
    if (options.version) {
        printf("launch 0.1.0\n");
        return 0;
    }
    bool again = true;
    for (int restart = 0; again; restart++) {
        if (restart > 0)
            pause_before(restart);
        launch_job_run(&options, restart, &code, &again, fail);
    }
    return code;
}

int main(int argc, char **argv)
{
    struct fail fail = {0};
    (void)argc;
    standard_files_occupy();
    int code = launch(argv, &fail);
    if (fflush(stdout) != 0 || ferror(stdout)) // of --help and --version; ranks' lines go elsewhere
        fail_set(&fail, -EIO, "cannot write to the standard output: %s", strerror(errno));
    if (fail.code < 0)
        fprintf(stderr, "launch: %s\n", fail.text);
    return fail.code < 0 && code == 0 ? 1 : code;
}
