/*
 * check_window: is a window of micro-batches one update? See lesson03.h.
 *
 * The ranks of most checks are trainers of one process, one after another: what each announces and leaves in its
 * slab needs no network. The right gradient is the true one of the window's samples, in double, sample by
 * sample, and how far float may be from it (bound.h).
 */
#include "tests/grade/lesson03.h"
#include "lesson01_single/bound.h"
#include "lesson03_ddp/ddp.h"
#include "tests/grade/drawn.h"
#include "tests/inside.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WORLD_MOST = 8, WINDOWS = 4, STEPS_MOST = 3 };

/* A run of one process in which trainers play all ranks. */
struct play {
    struct grade *grade;
    struct inside inside;
    struct run *run;
    struct bound bound;
    size_t world;
    size_t announced[MODEL_TENSORS_MOST]; // how often
    float then[DRAWN_COUNT_MOST];         // each tensor's gradient when it was announced last
    float grad[DRAWN_COUNT_MOST];         // of the rank at hand
};

static int play_open(struct play *play, struct grade *grade, size_t world, const char *arguments)
{
    struct ranks_self alone = {.world = 1, .environment = {.world = 1, .local_world = 1}};
    play->grade = grade;
    play->world = world;
    play->run = &play->inside.run;
    int wrong = inside_open(&play->inside, &alone, 3, arguments);
    if (!wrong)
        wrong = bound_init(&play->bound, &play->run->model, &play->run->proving);
    return grade_expect(grade, !wrong, "%s: expected a run, found: %s", arguments, alone.fail.text);
}

static void on_ready(void *context, size_t tensor)
{
    struct play *play = context;
    struct slice slice = play->run->model.tensors[tensor].slice;
    play->announced[tensor]++;
    memcpy(play->then + slice.begin, play->grad + slice.begin, slice.count * sizeof *play->grad);
}

/* grad and announced: those of one rank. */
static struct trainer play_rank(struct play *play, const struct step *step, size_t rank)
{
    struct trainer trainer = play->run->trainer;
    trainer.rank = rank;
    trainer.world = play->world;
    trainer.grad = play->grad;
    trainer.listener = (struct model_listener){.on_ready = on_ready, .context = play};
    memset(play->announced, 0, sizeof play->announced);
    trainer_gradient(&trainer, step);
    return trainer;
}

/* --- weight ---------------------------------------------------------------------------------- */

/* Of one step: all ranks' gradients, added in double, are the true one of its samples. */
static int check_sum(struct play *play, const struct step *step)
{
    double sum[DRAWN_COUNT_MOST] = {0};
    size_t samples = 0, count = play->run->model.count;
    int wrong = 0;
    for (size_t rank = 0; rank < play->world; rank++) {
        samples += play_rank(play, step, rank).samples;
        for (size_t i = 0; i < count; i++)
            sum[i] += (double)play->grad[i];
    }
    wrong = grade_expect(play->grade, samples == step->samples.count,
                         "step %zu, %zu ranks: expected %zu samples, found %zu", step->index,
                         play->world, step->samples.count, samples);
    struct trainer all = play->run->trainer;
    all.world = play->world;
    bound_step(&play->bound, &all, step);
    for (size_t i = 0; i < count && !wrong; i++) {
        double truth = play->bound.gradient[i], off = fabs(sum[i] - truth);
        wrong = grade_expect(play->grade, off <= 2 * play->bound.bound[i] + 1e-30,
                             "step %zu, %zu samples in %zu micro-batches, %zu ranks: %s: gradient "
                             "[%zu]: expected %.6g, found %.6g",
                             step->index, step->samples.count,
                             sampler_micro_batches(&play->run->sampler, step), play->world,
                             model_tensor_at(&play->run->model, i)->name, i, truth, sum[i]);
    }
    return wrong;
}

/* The first window of an epoch, and its last, which is short. */
static int check_windows(struct grade *grade, size_t world, const char *arguments)
{
    struct play play = {0};
    int wrong = play_open(&play, grade, world, arguments);
    size_t last = wrong ? 0 : play.run->sampler.steps_per_epoch - 1;
    for (size_t i = 0; i < 2 && !wrong; i++) {
        struct step step = sampler_step(&play.run->sampler, i * last);
        wrong = check_sum(&play, &step);
    }
    return wrong;
}

/* A batch from `least` on whose last window of an epoch has whole micro-batches and a short one. 0: no run. */
static size_t uneven_batch(struct grade *grade, size_t accumulate, size_t least)
{
    struct play play = {0};
    size_t batch, left;
    if (play_open(&play, grade, 1, "--epochs 1"))
        return 0;
    do {
        batch = grade_draw(grade, least, 2 * least);
        left = play.run->sampler.count % (batch * accumulate);
    } while (left <= batch || left % batch == 0);
    return batch;
}

static int check_uneven(struct grade *grade, size_t accumulate, size_t least)
{
    char more[64];
    size_t batch = uneven_batch(grade, accumulate, least);
    snprintf(more, sizeof more, "--batch %zu --accumulate %zu --epochs 1", batch, accumulate);
    struct drawn drawn = drawn_flags(grade, 1, more);
    return batch == 0 || check_windows(grade, 5, drawn.arguments) ||
           check_windows(grade, grade_draw(grade, 1, 3), drawn.arguments);
}

/* Shares that are not even, and a last micro-batch that is short. */
int window_weight(struct grade *grade)
{
    return check_uneven(grade, grade_draw(grade, 2, 4), 17);
}

/* The same with fewer samples in a micro-batch than ranks, so that some have none; and with one each. */
int window_short(struct grade *grade)
{
    struct drawn ones = drawn_flags(grade, 1, "--batch 1 --accumulate 5 --epochs 1");
    return check_uneven(grade, 3, 2) || check_windows(grade, 3, ones.arguments);
}

/* --- final ----------------------------------------------------------------------------------- */

/* Each tensor is announced once in the update, when nothing is added to it any more. */
static int check_final(struct play *play, const struct step *step, size_t rank)
{
    const struct model *model = &play->run->model;
    int wrong = 0;
    play_rank(play, step, rank);
    for (size_t i = 0; i < model->tensor_count && !wrong; i++) {
        struct slice slice = model->tensors[i].slice;
        wrong = grade_expect(play->grade, play->announced[i] == 1,
                             "%zu micro-batches: expected %s announced once, found %zu times",
                             sampler_micro_batches(&play->run->sampler, step),
                             model->tensors[i].name, play->announced[i]) ||
                grade_expect(play->grade,
                             memcmp(play->then + slice.begin, play->grad + slice.begin,
                                    slice.count * sizeof *play->grad) == 0,
                             "expected the gradient of %s announced when final, found that it "
                             "changed after it was",
                             model->tensors[i].name);
    }
    return wrong;
}

int window_final(struct grade *grade)
{
    int wrong = 0;
    for (size_t accumulate = 1; accumulate <= WINDOWS && !wrong; accumulate++) {
        struct play play = {0};
        char more[64];
        size_t world = (size_t)grade_world(grade);
        snprintf(more, sizeof more, "--batch %zu --accumulate %zu --epochs 1", grade_odd(grade, 17),
                 accumulate);
        struct drawn drawn = drawn_flags(grade, 2, more);
        wrong = play_open(&play, grade, world, drawn.arguments);
        for (size_t i = 0; i < STEPS_MOST && !wrong; i++) {
            struct step step = sampler_step(&play.run->sampler, i);
            wrong = check_final(&play, &step, grade_draw(grade, 0, world - 1));
        }
    }
    return wrong;
}

/* --- calls ----------------------------------------------------------------------------------- */

/* Lesson 3's step, counted. */
static int count_step(struct run *run, struct ddp *ddp, uint64_t *messages, uint64_t *bytes)
{
    struct step step = sampler_step(&run->sampler, 0);
    uint64_t messages_before = comm_messages_sent(ddp->comm), before = comm_bytes_sent(ddp->comm);
    struct fail fail = {0};
    ddp_begin(ddp);
    trainer_gradient(&run->trainer, &step);
    int error = ddp_wait(ddp, &fail);
    *messages = comm_messages_sent(ddp->comm) - messages_before;
    *bytes = comm_bytes_sent(ddp->comm) - before;
    return error;
}

/* One reduction of each bucket and update, however many micro-batches. */
static int calls_body(struct ranks_self *self)
{
    const struct drawn *drawn = self->context;
    uint64_t once = 0;
    int wrong = 0;
    for (size_t accumulate = 1; accumulate <= WINDOWS && !wrong; accumulate += 2) {
        char arguments[DRAWN_TEXT_BYTES + 32];
        struct inside inside;
        struct ddp ddp = {0};
        uint64_t messages = 0, bytes = 0;
        snprintf(arguments, sizeof arguments, "%s --accumulate %zu", drawn->arguments, accumulate);
        wrong = inside_open(&inside, self, 3, arguments) ||
                inside_told(self, &inside, ddp_init(&ddp, &inside.run, self->comm)) ||
                count_step(&inside.run, &ddp, &messages, &bytes);
        once = once ? once : bytes;
        uint64_t expected = 2 * ((uint64_t)self->world - 1) * ddp.plan.count;
        wrong =
            wrong || ranks_expect(self, messages == expected && bytes == once,
                                  "%zu micro-batches, %zu buckets: expected %llu messages of %llu "
                                  "bytes in all, found %llu of %llu",
                                  accumulate, ddp.plan.count, (unsigned long long)expected,
                                  (unsigned long long)once, (unsigned long long)messages,
                                  (unsigned long long)bytes);
        ddp_stop(&ddp);
        inside_close(&inside);
    }
    return wrong ? 1 : 0;
}

int window_calls(struct grade *grade)
{
    struct drawn drawn =
        drawn_flags(grade, 2, "--batch 14 --steps 9 --first-bucket-kb 0.01 --bucket-kb 0.1");
    return grade_ranks(grade, grade_world(grade), calls_body, &drawn);
}
