/* ledger: what a rank really keeps, beside what the formula says. See the header. */
#include "lesson04_zero/ledger.h"
#include "lesson04_zero/offload.h"

#include <errno.h>

/* Parameters that are not frozen: a state is kept of no others. */
static size_t trained_of(const struct run *run)
{
    size_t count = 0;
    for (size_t i = 0; i < run->trained_count; i++)
        count += run->trained[i].count;
    return count;
}

static int check(struct run *run, const double *owned, const double *bytes)
{
    double states = (double)run->optimizer.states, total = 0;
    for (int rank = 0; rank < run->environment.world; rank++) {
        double formula = sizeof(float) * states * owned[2 * rank];
        if (run->options.offload)
            formula = (double)offload_bytes(&run->options, (size_t)owned[2 * rank]);
        total += owned[2 * rank];
        if (bytes[2 * rank] != formula)
            return fail_set(&run->fail, -EINVAL,
                            "rank %d keeps %.0f bytes of optimizer state; its %.0f owned "
                            "parameters need %.0f",
                            rank, bytes[2 * rank], owned[2 * rank], formula);
    }
    if (total != (double)trained_of(run))
        return fail_set(&run->fail, -EINVAL,
                        "the ranks own %.0f parameters together; the model has %zu", total,
                        trained_of(run));
    return 0;
}

int ledger_show(struct run *run)
{
    double mine[2] = {(double)run->optimizer.count,
                      (double)run->memory.now_bytes[MEMORY_OPTIMIZER]};
    double all[2 * ENVIRONMENT_WORLD_MOST];
    int error = run->gather(run->context, mine, 2, all, &run->fail);
    if (!error && check(run, all, all + 1)) {
        run->exit_code = EXIT_NOT_EQUAL;
        error = run->fail.code;
    }
    if (error)
        return error;
    bool speaks = run->environment.rank == 0 && !run->options.quiet;
    for (int rank = 0; rank < run->environment.world && speaks && run->options.offload; rank++)
        printf("optimizer state of rank %d: %.0f bytes counted, for tiles and their hashes; in %s: "
               "%zu x 4 "
               "x %.0f owned parameters\n",
               rank, all[2 * rank + 1], run->options.offload, run->optimizer.states, all[2 * rank]);
    for (int rank = 0; rank < run->environment.world && speaks && !run->options.offload; rank++)
        printf("optimizer state of rank %d: %.0f bytes counted = %zu x 4 x %.0f owned parameters; "
               "lesson 3: %zu\n",
               rank, all[2 * rank + 1], run->optimizer.states, all[2 * rank],
               sizeof(float) * run->optimizer.states * trained_of(run));
    return 0;
}
