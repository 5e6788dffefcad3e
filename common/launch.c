/* launch: starts the ranks of a job on this machine, as torchrun and mpirun do. See --help. */
#include "common/fail.h"
#include "common/launch_job.h"
#include "common/launch_options.h"
#include "common/standard_files.h"

#include <stdio.h>

enum { WRONG_COMMAND_LINE = 2 };

static int launch(char **argv, struct fail *fail)
{
    struct launch_options options;
    int code = WRONG_COMMAND_LINE;
    int error = launch_options_parse(&options, argv, fail);
    if (error < 0)
        return code;
    if (options.help) {
        launch_options_help(stdout);
        return 0;
    }
    if (options.version) {
        printf("launch 0.1.0\n");
        return 0;
    }
    error = launch_job_run(&options, &code, fail);
    return error < 0 && code == 0 ? 1 : code;
}

int main(int argc, char **argv)
{
    struct fail fail = {0};
    (void)argc;
    standard_files_occupy();
    int code = launch(argv, &fail);
    if (fail.code < 0)
        fprintf(stderr, "launch: %s\n", fail.text);
    return code;
}
