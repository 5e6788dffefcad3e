/* check_optimizer: SGD and Adam against PyTorch's definitions in double. See lesson01.h. */
#include "lesson01_single/optimizer.h"
#include "tests/grade/lesson01.h"

#include <math.h>
#include <string.h>

/* A layer of 7 inputs and 3 outputs: 21 weights, which decay, and 3 biases, which do not. */
enum { INPUTS = 7, OUTPUTS = 3, WEIGHTS = INPUTS * OUTPUTS, COUNT = WEIGHTS + OUTPUTS };

/* The roundings of a few updates of numbers about 1. */
static const double SLACK = 64 * 0x1p-24;

/* What is asked for, and the same kept in double. */
struct course {
    struct options options;
    double lr, clip;
    size_t updates, skipped; // of them, the first so many change nothing
    double gradient;         // of about this size
};

struct twin {
    double w[COUNT], m[COUNT], v[COUNT];
};

/* Not near 0: there epsilon would show where it is not looked for. */
static float gradient_of(const struct grade *grade, const struct course *course, size_t update,
                         size_t i)
{
    float value = grade_value(grade, update + 1, i);
    return (float)course->gradient * (value + copysignf(0.5f, value));
}

/* The rate of an update, which a schedule changes: every second one goes half as far. */
static double lr_of(const struct course *course, size_t update)
{
    return update % 2 ? course->lr / 2 : course->lr;
}

static void twin_sgd(struct twin *twin, const struct course *course, size_t i, double g)
{
    twin->v[i] = course->options.momentum * twin->v[i] + g;
    twin->w[i] -= course->lr * twin->v[i];
}

/* Kingma and Ba, algorithm 1, as it stands there; t counts from 1. */
static void twin_adam(struct twin *twin, const struct course *course, size_t i, double g, double t)
{
    twin->m[i] = 0.9 * twin->m[i] + 0.1 * g;
    twin->v[i] = 0.999 * twin->v[i] + 0.001 * g * g;
    double m = twin->m[i] / (1 - pow(0.9, t)), v = twin->v[i] / (1 - pow(0.999, t));
    twin->w[i] -= course->lr * m / (sqrt(v) + 1e-8);
}

static void twin_update(struct twin *twin, const struct course *course, const float *grad, double t)
{
    for (size_t i = 0; i < COUNT; i++) {
        double decay = i < WEIGHTS ? course->options.weight_decay : 0,
               g = (double)grad[i] * course->clip;
        if (course->options.optimizer == OPTIMIZER_ADAMW)
            twin->w[i] *= 1 - course->lr * decay;
        else
            g += decay * twin->w[i];
        if (course->options.optimizer == OPTIMIZER_SGD)
            twin_sgd(twin, course, i, g);
        else
            twin_adam(twin, course, i, g, t);
    }
}

static void plan_model(struct model *model)
{
    static const size_t widths[2] = {INPUTS, OUTPUTS};
    model_plan(model, widths, 1, true);
}

/* Runs the student's optimizer over param (COUNT), which owns these slices. */
static void run_course(const struct grade *grade, const struct course *course, float *param,
                       const struct slice *owned, size_t owned_count)
{
    struct memory memory = {0};
    struct model model;
    struct optimizer optimizer;
    float grad[COUNT];
    plan_model(&model);
    if (optimizer_init(&optimizer, &course->options, &model, owned, owned_count, &memory) != 0)
        return;
    for (size_t update = 0; update < course->updates; update++) {
        struct rate rate = {(float)lr_of(course, update), (float)course->clip,
                            update < course->skipped};
        for (size_t i = 0; i < COUNT; i++)
            grad[i] = gradient_of(grade, course, update, i);
        optimizer_step(&optimizer, param, grad, rate);
    }
    optimizer_release(&optimizer);
}

static void fill_param(const struct grade *grade, float *param)
{
    for (size_t i = 0; i < COUNT; i++)
        param[i] = grade_value(grade, 0, i);
}

static int follow(struct grade *grade, const struct course *course)
{
    static const struct slice whole = {0, COUNT};
    struct twin twin = {0};
    float param[COUNT], grad[COUNT];
    int wrong = 0;
    fill_param(grade, param);
    for (size_t i = 0; i < COUNT; i++)
        twin.w[i] = (double)param[i];
    for (size_t update = course->skipped; update < course->updates; update++) {
        struct course now = *course;
        now.lr = lr_of(course, update);
        for (size_t i = 0; i < COUNT; i++)
            grad[i] = gradient_of(grade, course, update, i);
        twin_update(&twin, &now, grad, (double)(update - course->skipped + 1));
    }
    run_course(grade, course, param, &whole, 1);
    for (size_t i = 0; i < COUNT && !wrong; i++)
        wrong = grade_near(grade,
                           i < WEIGHTS ? "after the last update, weight w"
                                       : "after the last update, bias w",
                           i, (double)param[i], twin.w[i], SLACK);
    return wrong;
}

static struct course draw_course(struct grade *grade, enum optimizer_kind kind)
{
    return (struct course){.options = {.optimizer = kind},
                           .lr = 0.01 * (double)grade_draw(grade, 2, 7),
                           .clip = 1,
                           .updates = grade_draw(grade, 4, 7),
                           .gradient = 1};
}

int sgd_plain(struct grade *grade)
{
    struct course course = draw_course(grade, OPTIMIZER_SGD);
    return follow(grade, &course);
}

int sgd_momentum(struct grade *grade)
{
    struct course course = draw_course(grade, OPTIMIZER_SGD);
    course.options.momentum = 0.1 * (double)grade_draw(grade, 5, 9);
    return follow(grade, &course);
}

int sgd_decay(struct grade *grade)
{
    struct course course = draw_course(grade, OPTIMIZER_SGD);
    course.options.weight_decay = 0.1 * (double)grade_draw(grade, 2, 8);
    course.clip = 0.3;
    int wrong = follow(grade, &course);
    course.options.momentum = 0.9;
    return wrong || follow(grade, &course);
}

static bool holds(struct slice slice, size_t i)
{
    return i >= slice.begin && i < slice.begin + slice.count;
}

/* The same bits as when all is owned; elsewhere nothing changes. */
int sgd_slices(struct grade *grade)
{
    static const struct slice whole = {0, COUNT};
    struct slice owned[2] = {{grade_draw(grade, 1, 3), 4}, {grade_draw(grade, 9, 20), 3}};
    struct course course = draw_course(grade, OPTIMIZER_SGD);
    float before[COUNT], all[COUNT], part[COUNT];
    int wrong = 0;
    course.options.momentum = 0.9;
    fill_param(grade, before);
    memcpy(all, before, sizeof all);
    memcpy(part, before, sizeof part);
    run_course(grade, &course, all, &whole, 1);
    run_course(grade, &course, part, owned, 2);
    for (size_t i = 0; i < COUNT && !wrong; i++) {
        bool mine = holds(owned[0], i) || holds(owned[1], i);
        wrong = grade_near(grade, mine ? "owned w" : "w that is not owned", i, (double)part[i],
                           (double)(mine ? all[i] : before[i]), 0) ||
                grade_expect(grade, !mine || all[i] != before[i],
                             "w[%zu]: expected an update, found none", i);
    }
    return wrong;
}

int adam_first(struct grade *grade)
{
    struct course course = draw_course(grade, OPTIMIZER_ADAM);
    course.updates = 1;
    course.gradient = 1000;
    int wrong = follow(grade, &course);
    course.gradient = 0.001;
    return wrong || follow(grade, &course);
}

int adam_steps(struct grade *grade)
{
    struct course course = draw_course(grade, OPTIMIZER_ADAM);
    course.clip = 0.5;
    return follow(grade, &course);
}

int adam_decay(struct grade *grade)
{
    struct course course = draw_course(grade, OPTIMIZER_ADAM);
    course.options.weight_decay = 0.1 * (double)grade_draw(grade, 2, 8);
    course.clip = 0.3;
    course.gradient = 8; // clipped still larger than the decay: their sum is not near 0
    return follow(grade, &course);
}

int adamw_decay(struct grade *grade)
{
    struct course course = draw_course(grade, OPTIMIZER_ADAMW);
    course.options.weight_decay = 0.1 * (double)grade_draw(grade, 2, 8);
    return follow(grade, &course);
}

/* Gradients of epsilon's own size. */
int adam_epsilon(struct grade *grade)
{
    struct course course = draw_course(grade, OPTIMIZER_ADAM);
    course.gradient = 1e-8;
    return follow(grade, &course);
}

int adam_skipped(struct grade *grade)
{
    struct course course = draw_course(grade, OPTIMIZER_ADAM);
    course.skipped = 2;
    return follow(grade, &course);
}
