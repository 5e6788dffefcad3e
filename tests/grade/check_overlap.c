/*
 * check_overlap: do buckets travel while backward computes? See lesson03.h.
 *
 * First by the order of events: backward does not go on to its last tensor before a bucket has begun. Then by
 * time: backward sleeps as if it computed, links are slow, so that both are the same on any machine.
 */
#include "tests/grade/lesson03.h"
#include "common/clock.h"
#include "tests/grade/drawn.h"
#include "tests/overlapped.h"

#include <signal.h>

enum { PATIENCE_MS = 4000, ROUNDS = 5 };

/* A backward that the check holds up. */
struct hold {
    struct overlapped overlapped;
    bool until_begun;    // before the last tensor is announced, a bucket must have begun
    size_t begun_before; // that had, then
    double seconds;      // that each tensor takes
    bool dies;           // before the last tensor is announced
};

static void on_ready(void *context, size_t tensor)
{
    struct hold *hold = context;
    ranks_pause(hold->seconds);
    if (tensor == 0 && hold->dies)
        raise(SIGKILL);
    for (int i = 0; tensor == 0 && hold->until_begun && i < PATIENCE_MS; i++) {
        hold->begun_before = worker_begun(&hold->overlapped.ddp.worker);
        if (hold->begun_before > 0)
            break;
        ranks_pause(0.001);
    }
    hold->overlapped.ddp_hears.on_ready(hold->overlapped.ddp_hears.context, tensor);
}

/* With overlap, and then without; in both the gradient is lesson 2's. */
static int early_body(struct ranks_self *self)
{
    const struct drawn *drawn = self->context;
    struct hold hold = {0};
    struct ddp *ddp = &hold.overlapped.ddp;
    int wrong = overlapped_open(&hold.overlapped, self, drawn->arguments, on_ready, &hold);
    if (wrong)
        return 1;
    struct step step = sampler_step(&hold.overlapped.run->sampler, 0);
    hold.until_begun = true;
    wrong = overlapped_check(&hold.overlapped, &step) ||
            ranks_expect(self, hold.begun_before > 0 && ddp->begun_at_end > 0,
                         "%zu buckets: expected one begun before backward ended, found none",
                         ddp->plan.count);
    hold.until_begun = false;
    ddp->overlap = false;
    step = sampler_step(&hold.overlapped.run->sampler, 1);
    wrong = wrong || overlapped_check(&hold.overlapped, &step) ||
            ranks_expect(self, ddp->begun_at_end == 0,
                         "--no-overlap: expected no bucket begun before backward ended, found %zu",
                         ddp->begun_at_end);
    overlapped_close(&hold.overlapped);
    return wrong ? 1 : 0;
}

int overlap_early(struct grade *grade)
{
    struct drawn drawn =
        drawn_flags(grade, 3, "--batch 17 --first-bucket-kb 0.01 --bucket-kb 0.1 --steps 9");
    return grade_ranks(grade, grade_world(grade), early_body, &drawn);
}

/* The shortest of some steps: whoever else is at work here only makes them longer. */
static double shorter(double a, double b)
{
    return a < b ? a : b;
}

static int timed_step(struct hold *hold, size_t index, double *seconds)
{
    struct step step = sampler_step(&hold->overlapped.run->sampler, index);
    double begun = clock_seconds();
    int error = overlapped_gradient(&hold->overlapped, &step);
    *seconds = clock_seconds() - begun;
    return error;
}

static int pays_body(struct ranks_self *self)
{
    static const double share = 0.85; // 0.6 where nothing disturbs
    const struct drawn *drawn = self->context;
    double best[2] = {1e9, 1e9}, seconds;
    struct hold hold = {.seconds = 0.006};
    int wrong = overlapped_open(&hold.overlapped, self, drawn->arguments, on_ready, &hold);
    for (size_t i = 0; i < 2 * ROUNDS && !wrong; i++) {
        hold.overlapped.ddp.overlap = i % 2;
        wrong = timed_step(&hold, i, &seconds);
        best[i % 2] = shorter(best[i % 2], seconds);
    }
    if (!wrong && self->rank == 0)
        wrong = ranks_expect(self, best[1] < share * best[0],
                             "slow links: expected a step with overlap to take below %g of one "
                             "without, found %.1f ms of %.1f ms",
                             share, 1e3 * best[1], 1e3 * best[0]);
    overlapped_close(&hold.overlapped);
    return wrong ? 1 : 0;
}

/* 8 buckets of 6 ms each, while each of 8 tensors takes 6 ms. */
int overlap_pays(struct grade *grade)
{
    struct drawn drawn =
        drawn_flags(grade, 3, "--batch 4 --first-bucket-kb 0.004 --bucket-kb 0.004 --steps 20");
    struct ranks_plan plan = {
        .world = 2,
        .body = pays_body,
        .context = &drawn,
        .timeout_seconds = GRADE_TIMEOUT_SECONDS,
        .link = {.bytes_per_second = 1e8, .latency_seconds = 0.003, .straggler = -1}};
    struct ranks_result result;
    ranks_run_plan(&plan, &result);
    return grade_result(grade, &result);
}

/* --- a rank that is killed ------------------------------------------------------------------- */

/* The last rank dies in backward; all others hear of it at the end of the step. */
static int killed_body(struct ranks_self *self)
{
    const struct drawn *drawn = self->context;
    struct hold hold = {.dies = self->rank == self->world - 1};
    int wrong = overlapped_open(&hold.overlapped, self, drawn->arguments, on_ready, &hold);
    if (wrong)
        return 1;
    struct step step = sampler_step(&hold.overlapped.run->sampler, 0);
    int error = overlapped_gradient(&hold.overlapped, &step);
    self->fail = (struct fail){0}; // it was to be told
    return ranks_expect(self, error != 0, "a rank was killed: expected an error, found none");
}

int overlap_killed(struct grade *grade)
{
    struct drawn drawn =
        drawn_flags(grade, 3, "--batch 17 --first-bucket-kb 0.01 --bucket-kb 0.1 --steps 9");
    struct ranks_plan plan = {.world = grade_world(grade),
                              .body = killed_body,
                              .context = &drawn,
                              .timeout_seconds = GRADE_TIMEOUT_SECONDS};
    return grade_killed(grade, &plan, plan.world - 1);
}
