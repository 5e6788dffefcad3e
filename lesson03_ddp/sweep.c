/* sweep: the same step with many bucket sizes. See the header. */
#include "lesson03_ddp/sweep.h"
#include "common/clock.h"
#include "common/statistics.h"
#include "lesson02_allreduce/barrier.h"
#include "lesson02_allreduce/pingpong.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { KIB = 1024 };
static const size_t ALL = SIZE_MAX / 2;

/* From the way of thinking before DDP to its own: Li et al., section 3.2. */
static const struct {
    const char *name;
    size_t bytes;
    bool overlap;
} rows[] = {
    {"naive: each tensor after backward", 0, false},
    {"flat: all at once after backward", ALL, false},
    {"each tensor as it is ready", 0, true},
    {"16 KiB", 16 * KIB, true},
    {"32 KiB", 32 * KIB, true},
    {"64 KiB", 64 * KIB, true},
    {"128 KiB", 128 * KIB, true},
    {"256 KiB", 256 * KIB, true},
    {"512 KiB", 512 * KIB, true},
    {"1 MiB", 1024 * KIB, true},
    {"2 MiB", 2048 * KIB, true},
    {"one bucket for all", ALL, true},
};

/* A row whose plan is that of the row before measures nothing new. */
static void plan_rows(struct sweep *sweep)
{
    const struct model *model = &sweep->run->model;
    struct bucket_order order = bucket_order_reverse(model);
    size_t whole_bytes = model->count * sizeof(float);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct sweep_row *row = &sweep->rows[sweep->count];
        row->name = rows[i].name;
        row->bytes = rows[i].bytes < whole_bytes ? rows[i].bytes : whole_bytes;
        row->overlap = rows[i].overlap;
        bucket_plan_make(&row->plan, model, &order, row->bytes, row->bytes);
        bool larger = row->bytes == whole_bytes && rows[i].bytes < ALL;
        bool again = sweep->count > 2 && bucket_plan_same(&row->plan, &row[-1].plan);
        if (!larger && !again)
            sweep->count++;
    }
}

static int measure_link(struct sweep *sweep)
{
    struct run *run = sweep->run;
    struct cost_link *link = &sweep->link;
    const struct linkspec *spec = &run->options.link_spec;
    struct cost_sample samples[PINGPONG_SIZES];
    link->gamma_seconds = pingpong_gamma();
    if (run->options.link) { // what it is like is known, and no core moves its bytes
        link->alpha_seconds = spec->latency_seconds;
        link->beta_seconds = 1 / spec->bytes_per_second;
        return 0;
    }
    link->cores = (int)sysconf(_SC_NPROCESSORS_ONLN);
    int error = pingpong(sweep->ddp.comm, samples, &run->fail);
    if (error || run->environment.rank > 0)
        return error;
    error = costmodel_fit(link, samples, PINGPONG_SIZES);
    return error ? fail_set(&run->fail, error, "the clock saw a message take no time") : 0;
}

int sweep_init(struct sweep *sweep, struct run *run, struct comm *comm, size_t rounds)
{
    assert(rounds > 0 && rounds <= SWEEP_ROUNDS_MOST);
    *sweep = (struct sweep){.run = run, .rounds = rounds};
    if (run->environment.world < 2)
        return fail_set(&run->fail, -EINVAL, "nothing is sent by one rank: launch -n 2 PROGRAM");
    int error = ddp_init(&sweep->ddp, run, comm);
    if (error)
        return error;
    plan_rows(sweep);
    run->updates = SIZE_MAX; // it ends when all is measured
    return measure_link(sweep);
}

void sweep_release(struct sweep *sweep)
{
    ddp_stop(&sweep->ddp);
}

/* --- one step -------------------------------------------------------------------------------- */

/* As lesson 3's main.c makes it; `round` SIZE_MAX does not count. */
static int step_of(struct sweep *sweep, struct sweep_row *row, size_t round)
{
    struct run *run = sweep->run;
    struct ddp *ddp = &sweep->ddp;
    struct step step;
    struct rate rate;
    ddp->plan = row->plan;
    ddp->overlap = row->overlap;
    run->trainer.listener = ddp_listener(ddp);
    int error = barrier(ddp->comm);
    uint64_t before = comm_messages_sent(ddp->comm);
    run_next(run, &step);
    ddp_begin(ddp);
    trainer_gradient(&run->trainer, &step);
    error = error || ddp_wait(ddp, &run->fail);
    row->messages = comm_messages_sent(ddp->comm) - before;
    error = error || run_loss(run, &step) || run_rate(run, &step, run_norm(run), &rate);
    if (error)
        return error;
    optimizer_step(&run->optimizer, run->param, run->grad, rate);
    ddp_account(ddp, run);
    if (round < sweep->rounds) {
        row->all_seconds[round] = clock_seconds() - run->step_seconds;
        row->all_exposed_seconds[round] = run->exposed_seconds;
        row->all_comm_seconds[round] = run->comm_seconds;
    }
    return 0;
}

/* --- without communication -------------------------------------------------------------------- */

struct alone {
    double began_seconds;
    double step_seconds[SWEEP_ROUNDS_MOST], gradient_seconds[SWEEP_ROUNDS_MOST];
    double ready_seconds[MODEL_TENSORS_MOST][SWEEP_ROUNDS_MOST];
    size_t round;
};

static void on_ready(void *context, size_t tensor)
{
    struct alone *alone = context;
    alone->ready_seconds[tensor][alone->round] = clock_seconds() - alone->began_seconds;
}

/* Every rank computes, nobody sends. The update is one of zeros, or replicas would part. */
static int step_alone(struct sweep *sweep, struct alone *alone, size_t round)
{
    struct run *run = sweep->run;
    struct step step;
    alone->round = round < sweep->rounds ? round : 0;
    run->trainer.listener = (struct model_listener){.on_ready = on_ready, .context = alone};
    int error = barrier(sweep->ddp.comm);
    run_next(run, &step);
    alone->began_seconds = run->step_seconds;
    trainer_gradient(&run->trainer, &step);
    double gradient_seconds = clock_seconds() - alone->began_seconds;
    memset(run->grad, 0, run->model.count * sizeof *run->grad);
    double began_seconds = clock_seconds();
    optimizer_step(&run->optimizer, run->param, run->grad,
                   (struct rate){.lr = (float)run->options.lr, .clip = 1});
    alone->gradient_seconds[alone->round] = gradient_seconds;
    alone->step_seconds[alone->round] = gradient_seconds + clock_seconds() - began_seconds;
    return error;
}

/* --- all of them ------------------------------------------------------------------------------ */

static void take_medians(struct sweep *sweep, struct alone *alone)
{
    size_t rounds = sweep->rounds;
    for (size_t i = 0; i < sweep->count; i++) {
        struct sweep_row *row = &sweep->rows[i];
        row->seconds = statistics_median(row->all_seconds, rounds);
        row->exposed_seconds = statistics_median(row->all_exposed_seconds, rounds);
        row->comm_seconds = statistics_median(row->all_comm_seconds, rounds);
    }
    sweep->step_seconds = statistics_median(alone->step_seconds, rounds);
    sweep->gradient_seconds = statistics_median(alone->gradient_seconds, rounds);
    for (size_t i = 0; i < sweep->run->model.tensor_count; i++)
        sweep->ready_seconds[i] = statistics_median(alone->ready_seconds[i], rounds);
}

/* Beside the buckets, a step waits for the message with every rank's loss. */
static void ask_model(struct sweep *sweep)
{
    struct bucketmodel model = {
        .ready_seconds = sweep->ready_seconds,
        .backward_seconds = sweep->gradient_seconds,
        .link = sweep->link,
        .choice = *comm_choice(sweep->ddp.comm),
        .world = comm_world(sweep->ddp.comm),
    };
    for (size_t i = 0; i < sweep->count; i++) {
        struct sweep_row *row = &sweep->rows[i];
        model.overlap = row->overlap;
        row->model_exposed_seconds = bucketmodel_predict(&model, &row->plan).exposed_seconds;
        row->model_seconds =
            sweep->step_seconds + row->model_exposed_seconds + sweep->link.alpha_seconds;
    }
}

int sweep_measure(struct sweep *sweep)
{
    struct alone alone = {0}; // of a tensor that is never ready, no time
    int error = 0;
    for (size_t round = 0; round <= sweep->rounds && !error; round++) {
        size_t counts = round > 0 ? round - 1 : SIZE_MAX, turns = sweep->count + 1;
        for (size_t turn = 0; turn < turns && !error; turn++) {
            size_t row = (turn + 5 * round) % turns; // none is always first, or always last
            error = row < sweep->count ? step_of(sweep, &sweep->rows[row], counts)
                                       : step_alone(sweep, &alone, counts);
        }
    }
    if (error)
        return error;
    take_medians(sweep, &alone);
    ask_model(sweep);
    return 0;
}

const struct sweep_row *sweep_fastest(const struct sweep *sweep, bool by_model)
{
    const struct sweep_row *fastest = NULL;
    for (size_t i = 0; i < sweep->count; i++) {
        const struct sweep_row *row = &sweep->rows[i];
        double seconds = by_model ? row->model_seconds : row->seconds;
        double least = !fastest ? 0 : by_model ? fastest->model_seconds : fastest->seconds;
        if (row->overlap && (!fastest || seconds < least))
            fastest = row;
    }
    return fastest;
}
