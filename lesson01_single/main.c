/*
 * Lesson 1: stochastic gradient descent in one process.
 *
 * The step every later lesson takes apart: a gradient, then an update. In the first steps the
 * gradient is held against the slope of the loss.
 */
#include "lesson01_single/bench.h"
#include "lesson01_single/against_slope.h"
#include "lesson01_single/run.h"

static const char CLAIM[] = "gradient ~ central differences in double, within a derived bound";

static int train(struct run *run, struct against_slope *against)
{
    struct step step;
    struct rate rate;
    int error = 0;
    while (!error && run_next(run, &step)) {
        trainer_gradient(&run->trainer, &step);
        error = run_loss(run, &step) ||
                (run_verifies(run, &step) && against_slope_gradient(against, run, &step)) ||
                run_rate(run, &step, run_norm(run), &rate);
        if (error)
            break;
        optimizer_step(&run->optimizer, run->param, run->grad, rate);
        error = run_record(run, &step);
    }
    return error;
}

int main(int argc, char **argv)
{
    struct run run;
    struct against_slope against = {0};
    int stop = run_open(&run, 1, argc, argv);
    run.claim = CLAIM;
    if (!stop && run.options.bench)
        bench_training(stdout, &run.fail);
    else if (!stop && run_start(&run, run.trained, run.trained_count) == 0 &&
             against_slope_init(&against, &run) == 0)
        train(&run, &against);
    against_slope_release(&against);
    return run_close(&run);
}
