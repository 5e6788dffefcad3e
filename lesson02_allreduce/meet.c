/* meet: from a run to its communicator. See the header. */
#include "lesson02_allreduce/meet.h"
#include "lesson02_allreduce/gather.h"

#include <time.h>

int meet(struct comm **comm, struct run *run)
{
    struct comm_config config = {
        .timeout_seconds = run->options.timeout,
        .fingerprint = options_fingerprint(&run->options),
        .log = stderr,
        .transport = (enum comm_transport)run->options.transport,
    };
    enum algorithm algorithm = (enum algorithm)run->options.algorithm;
    struct choice choice = algorithm == ALGORITHM_AUTO ? choice_builtin(run->environment.world)
                                                       : choice_fixed(algorithm);
    int error = comm_open(comm, &run->environment, &config, &run->fail);
    if (!error)
        comm_set_choice(*comm, &choice);
    run->gather = gather_numbers;
    run->context = *comm;
    return error;
}

/* Whoever watches the job takes the rank that ends first for the cause. One that only lost its peer
 * lets the peer go first: 50 milliseconds, half of what launch waits for such consequences. */
static void let_the_cause_end(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
}

void meet_report(struct run *run, const struct comm *comm)
{
    const struct fail *fail = comm ? comm_fail(comm) : NULL;
    if (!fail || fail->code == 0 || run->fail.code != 0)
        return;
    fail_set(&run->fail, fail->code, "%s", fail->text);
    let_the_cause_end();
}
