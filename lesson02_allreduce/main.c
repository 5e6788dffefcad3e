/*
 * Lesson 2: the same training by several processes, and one new line.
 *
 * Each rank computes the gradient of its share of the batch; an all-reduce adds the shares up,
 * so that every rank makes the same update. In the first steps the sum is held against lesson 1.
 */
#include "lesson01_single/run.h"
#include "lesson02_allreduce/against_single.h"
#include "lesson02_allreduce/allreduce.h"
#include "lesson02_allreduce/asked.h"
#include "lesson02_allreduce/meet.h"

static const char CLAIM[] =
    "sum = lesson 1's shares in the same order, bit for bit; ~ whole batch, "
    "within a derived bound; ranks equal, bit for bit";

static int train(struct run *run, struct comm *comm, struct against_single *against)
{
    struct step step;
    struct rate rate;
    int error = 0;
    while (!error && run_next(run, &step)) {
        trainer_gradient(&run->trainer, &step);
        // task 02.6 {
        error = allreduce(comm, run->grad, run->grad, run->model.count, COMM_F32, COMM_SUM);
        // } 02.6
        error = error || run_loss(run, &step) ||
                (run_verifies(run, &step) && against_single_gradient(against, run, comm, &step)) ||
                run_rate(run, &step, run_norm(run), &rate);
        if (error)
            break;
        optimizer_step(&run->optimizer, run->param, run->grad, rate);
        run->bytes_sent = comm_bytes_sent(comm);
        run->messages_sent = comm_messages_sent(comm);
        error =
            (run_verifies(run, &step) && against_single_parameters(against, run, comm, &step)) ||
            run_record(run, &step);
    }
    return error;
}

int main(int argc, char **argv)
{
    struct run run;
    struct comm *comm = NULL;
    struct against_single against = {0};
    int stop = run_open(&run, 2, argc, argv);
    if (!stop && run.options.explain) {
        asked_explain(&run);
        return run_close(&run);
    }
    stop = stop || meet(&comm, &run);
    run.claim = CLAIM;
    if (!stop && run.options.bench)
        stop = asked_bench(&run, comm);
    else if (!stop)
        stop = run_start(&run, run.trained, run.trained_count) ||
               against_single_init(&against, &run, &run.trainer) || train(&run, comm, &against);
    if (stop)
        meet_report(&run, comm);
    against_single_release(&against);
    comm_close(comm);
    return run_close(&run);
}
