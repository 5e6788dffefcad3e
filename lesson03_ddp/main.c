/*
 * Lesson 3: the same sum, started early.
 *
 * Backward finishes the last layer first; its gradients can travel while the others are computed.
 * Full buckets are handed to a thread that runs lesson 2's ring. In the first steps the result is
 * held against that ring, run after backward.
 */
#include "lesson01_single/run.h"
#include "lesson02_allreduce/meet.h"
#include "lesson03_ddp/against_ring.h"
#include "lesson03_ddp/asked_plan.h"
#include "lesson03_ddp/ddp.h"
#include "lesson03_ddp/rebuild.h"
#include "lesson03_ddp/replicas.h"

static const char CLAIM[] =
    "overlapped buckets = lesson 2's all-reduce, bit for bit; ~ whole gradient, "
    "within a derived bound; ranks equal, bit for bit";
static const char CLAIM_EXACT[] = "overlapped buckets = lesson 2's all-reduce, = whole gradient, "
                                  "bit for bit; ranks equal, bit for bit";

static const char CLAIM_COMPRESSED[] =
    "compressed buckets = the same after backward, bit for bit; ~ float gradient, within a derived "
    "bound; ranks equal, bit for bit";

static int train(struct run *run, struct ddp *ddp, struct against_ring *against)
{
    struct step step;
    struct rate rate;
    int error = 0;
    while (!error && run_next(run, &step)) {
        ddp_begin(ddp);
        trainer_gradient(&run->trainer, &step); // buckets leave as they fill
        error = ddp_wait(ddp, &run->fail) || run_loss(run, &step) ||
                (run_verifies(run, &step) && against_ring_gradient(against, run, ddp, &step)) ||
                run_rate(run, &step, run_norm(run), &rate);
        if (error)
            break;
        optimizer_step(&run->optimizer, run->param, run->grad, rate);
        ddp_account(ddp, run);
        error =
            (run_verifies(run, &step) && against_ring_parameters(against, run, ddp->comm, &step)) ||
            rebuild(ddp, run) || run_record(run, &step);
    }
    return error;
}

int main(int argc, char **argv)
{
    struct run run;
    struct comm *comm = NULL;
    struct ddp ddp = {0};
    struct against_ring against = {0};
    int stop = run_open(&run, 3, argc, argv);
    if (!stop && run.options.explain) {
        asked_plan(&run);
        return run_close(&run);
    }
    stop = stop || meet(&comm, &run) || run_start(&run, run.trained, run.trained_count) ||
           replicas_begin(&run, comm) || ddp_init(&ddp, &run, comm) ||
           against_ring_init(&against, &run, &ddp);
    if (!stop)
        stop = train(&run, &ddp, &against);
    run.claim = ddp.compresses ? CLAIM_COMPRESSED : against.exact ? CLAIM_EXACT : CLAIM;
    if (stop)
        meet_report(&run, comm);
    against_ring_release(&against);
    ddp_stop(&ddp);
    comm_close(comm);
    return run_close(&run);
}
