/* meet: from a run to its communicator. See the header. */
#include "lesson02_allreduce/meet.h"
#include "lesson02_allreduce/gather.h"

int meet(struct comm **comm, struct run *run)
{
    struct comm_config config = {
        .timeout_seconds = run->options.timeout,
        .fingerprint = options_fingerprint(&run->options),
        .log = stderr,
    };
    int error = comm_open(comm, &run->environment, &config, &run->fail);
    run->gather = gather_numbers;
    run->context = *comm;
    return error;
}

void meet_report(struct run *run, const struct comm *comm)
{
    const struct fail *fail = comm ? comm_fail(comm) : NULL;
    if (fail && fail->code)
        fail_set(&run->fail, fail->code, "%s", fail->text);
}
