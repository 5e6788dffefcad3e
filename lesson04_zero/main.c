/*
 * Lesson 4: the same sum, cut in half around the optimizer.
 *
 * After the reduce-scatter each rank holds the sum of what it owns, updates that, and the
 * all-gather brings everybody's new parameters. Each rank keeps its share of the optimizer's state
 * and no more. In the first steps gradient, state and parameters are held against lesson 3.
 */
#include "lesson01_single/run.h"
#include "lesson02_allreduce/meet.h"
#include "lesson04_zero/advice.h"
#include "lesson04_zero/against_ddp.h"
#include "lesson04_zero/asked_stage.h"
#include "lesson04_zero/ledger.h"
#include "lesson04_zero/zero.h"

/* Before stage 3, and in it, where nobody has all parameters to compare; gradients as they are, or
 * compressed. */
static const char *const claims[2][2] = {
    {"owned gradients, optimizer state and parameters = lesson 3's, bit for bit; owned gradients ~ "
     "lesson 1's, within a derived bound; ranks equal, bit for bit",
     "owned gradients, optimizer state and parameters = lesson 3's, bit for bit; its compressed "
     "gradient ~ the float one, within a derived bound; ranks equal, bit for bit"},
    {"owned gradients, optimizer state and parameters = lesson 3's, bit for bit; owned gradients ~ "
     "lesson 1's, within a derived bound",
     "owned gradients, optimizer state and parameters = lesson 3's, bit for bit; its compressed "
     "gradient ~ the float one, within a derived bound"},
};

/* Of what this rank owns. */
static int update(struct run *run, struct zero *zero, struct rate rate)
{
    if (zero->offload.on)
        return offload_step(&zero->offload, run, rate);
    optimizer_step(&run->optimizer, run->param, run->grad, rate);
    return 0;
}

static int train(struct run *run, struct zero *zero, struct against_ddp *against)
{
    struct step step;
    struct rate rate;
    double norm;
    int error = 0;
    while (!error && run_next(run, &step)) {
        zero_begin(zero);
        trainer_gradient(&run->trainer, &step); // buckets leave as they fill, to their owners
        error = zero_wait(zero) || run_loss(run, &step) ||
                (run_verifies(run, &step) && against_ddp_gradient(against, run, zero, &step)) ||
                zero_norm(zero, &norm) || run_rate(run, &step, norm, &rate);
        if (error)
            break;
        error = update(run, zero, rate) || zero_share(zero) ||
                (run_verifies(run, &step) && against_ddp_update(against, run, zero, &step));
        zero_account(zero);
        error = error || run_record(run, &step);
    }
    return error;
}

int main(int argc, char **argv)
{
    struct run run;
    struct comm *comm = NULL;
    struct zero zero = {0};
    struct against_ddp against = {0};
    int stop = run_prepare(&run, 4, argc, argv);
    if (!stop && run.options.plan) {
        advice_asked(&run);
        return run_close(&run);
    }
    stop = stop || advice_check_limit(&run) || run_build(&run);
    if (!stop && run.options.explain) {
        asked_stage(&run);
        return run_close(&run);
    }
    stop = stop || meet(&comm, &run) || zero_init(&zero, &run, comm) ||
           run_start(&run, zero.shard.owned, zero.shard.owned_count) || zero_start(&zero) ||
           ledger_show(&run) || against_ddp_init(&against, &run, &zero);
    run.claim = claims[zero.stage >= 3][zero.ddp.compresses];
    if (!stop)
        stop = train(&run, &zero, &against) || ledger_end(&run);
    if (stop)
        meet_report(&run, comm);
    against_ddp_release(&against);
    zero_stop(&zero);
    comm_close(comm);
    return run_close(&run);
}
