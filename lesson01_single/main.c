/*
 * Lesson 1: stochastic gradient descent in one process.
 *
 * The step every later lesson takes apart: a gradient, then an update. In the first steps the
 * gradient is held against the slope of the loss.
 */
#include "lesson01_single/bench.h"
#include "lesson01_single/gradcheck.h"
#include "lesson01_single/run.h"

static const char CLAIM[] = "gradient ~ central differences in double, within a derived bound";

static void train(struct run *run, struct gradcheck *check)
{
    struct step step;
    int error = 0;
    while (!error && run_next(run, &step)) {
        trainer_gradient(&run->trainer, &step);
        error = run_loss(run, &step);
        if (!error && run_verifies(run, &step))
            error = gradcheck_prove(check, run, &step);
        if (error)
            break;
        struct rate rate = run_rate(run, &step, run_norm(run));
        optimizer_step(&run->optimizer, run->param, run->grad, rate);
        error = run_record(run, &step);
    }
}

int main(int argc, char **argv)
{
    struct run run;
    struct gradcheck check = {0};
    int stop = run_open(&run, 1, argc, argv);
    run.claim = CLAIM;
    if (!stop && run.options.bench) {
        bench_training(stdout, &run.fail);
        stop = 1; // that was all
    }
    if (!stop)
        stop = run_start(&run, &run.whole, 1);
    if (!stop && run.options.verify > 0)
        stop = gradcheck_init(&check, &run.model, &run.memory);
    if (!stop)
        train(&run, &check);
    gradcheck_release(&check);
    return run_close(&run);
}
