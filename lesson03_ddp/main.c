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
#include "lesson03_ddp/ddp.h"
#include "lesson03_ddp/replicas.h"

static const char CLAIM[] = "overlapped buckets = lesson 2's ring, bit for bit; ~ whole gradient, "
                            "within a derived bound; ranks equal, bit for bit";

static int train(struct run *run, struct ddp *ddp, struct against_ring *against)
{
    struct step step;
    int error = 0;
    while (!error && run_next(run, &step)) {
        bool verify = run_verifies(run, &step);
        ddp_begin(ddp);
        trainer_gradient(&run->trainer, &step); // buckets leave as they fill
        error = ddp_wait(ddp, &run->fail);
        if (!error)
            error = run_loss(run, &step);
        if (!error && verify)
            error = against_ring_gradient(against, run, ddp->comm, &ddp->plan, &step);
        if (error)
            break;
        struct rate rate = run_rate(run, &step, run_norm(run));
        optimizer_step(&run->optimizer, run->param, run->grad, rate);
        if (verify)
            error = against_ring_parameters(against, run, ddp->comm, &step);
        run->bytes_sent = comm_bytes_sent(ddp->comm);
        run->comm_seconds = ddp->worker.busy_seconds;
        if (!error)
            error = run_record(run, &step);
    }
    return error;
}

int main(int argc, char **argv)
{
    struct run run;
    struct ddp ddp = {.reduce = ddp_allreduce};
    struct against_ring against = {0};
    int stop = run_open(&run, 3, argc, argv);
    run.claim = CLAIM;
    ddp.grad = run.grad;
    if (!stop)
        stop = meet(&ddp.comm, &run);
    if (!stop)
        stop = run_start(&run, &run.whole, 1);
    if (!stop)
        stop = replicas_begin(&run, ddp.comm);
    if (!stop)
        stop = ddp_init(&ddp, &run);
    if (!stop)
        stop = against_ring_init(&against, &run);
    run.trainer.listener = ddp_listener(&ddp);
    if (!stop)
        stop = train(&run, &ddp, &against);
    if (stop && ddp.comm)
        meet_report(&run, ddp.comm);
    against_ring_release(&against);
    ddp_stop(&ddp);
    comm_close(ddp.comm);
    return run_close(&run);
}
