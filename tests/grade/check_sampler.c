/* check_sampler: slices, and which samples an update is made of. See lesson01.h. */
#include "common/sampler.h"
#include "tests/grade/lesson01.h"
#include "tests/grade/oracle.h"

#include <string.h>

enum { SAMPLES_MOST = 200 };

static int compare_slices(struct grade *grade, size_t count, size_t parts)
{
    int wrong = 0;
    for (size_t i = 0; i < parts && !wrong; i++) {
        struct slice found = slice_of(count, parts, i),
                     right = oracle_slice(count, (int)parts, (int)i);
        wrong =
            grade_expect(grade, found.begin == right.begin && found.count == right.count,
                         "slice_of(%zu, %zu, %zu): expected %zu from %zu on, found %zu from %zu on",
                         count, parts, i, right.count, right.begin, found.count, found.begin);
    }
    return wrong;
}

int slices_tile(struct grade *grade)
{
    int wrong = 0;
    for (size_t parts = 1; parts <= 7; parts++)
        for (size_t count = 0; count <= 3 * parts + 1 && !wrong; count++)
            wrong = compare_slices(grade, count, parts);
    return wrong || compare_slices(grade, grade_odd(grade, 100000), 5);
}

/* How a check's samples are cut. */
struct cut {
    struct options options;
    size_t count;
    struct sampler sampler;
};

/* A last window that is shorter, with a last micro-batch that is shorter. */
static int open_cut(struct grade *grade, struct cut *cut, bool drop_last)
{
    struct fail fail = {0};
    size_t batch = grade_draw(grade, 5, 9), accumulate = grade_draw(grade, 2, 3),
           window = batch * accumulate;
    cut->count = 4 * window + batch + grade_draw(grade, 1, batch - 1);
    cut->options = (struct options){.batch = batch,
                                    .accumulate = accumulate,
                                    .drop_last = drop_last,
                                    .shuffle = true,
                                    .seed = grade_draw(grade, 1, 1000),
                                    .epochs = 3};
    int error = sampler_init(&cut->sampler, cut->count, &cut->options, NULL, &fail);
    return grade_expect(grade, !error, "the sampler cannot be set up: %s", fail.text);
}

/* A batch so large that nothing may be added to it. */
static int huge_batch(struct grade *grade)
{
    struct fail fail = {0};
    struct options options = {
        .batch = SIZE_MAX - grade_draw(grade, 0, 9), .accumulate = 1, .epochs = 1};
    struct sampler sampler;
    size_t count = grade_draw(grade, 20, SAMPLES_MOST);
    int error = sampler_init(&sampler, count, &options, NULL, &fail);
    if (error)
        return grade_expect(grade, false, "the sampler cannot be set up: %s", fail.text);
    struct step step = {.samples = {0, count}, .last_of_epoch = true};
    size_t found = sampler_micro_batches(&sampler, &step);
    sampler_release(&sampler);
    return grade_expect(grade, found == 1,
                        "%zu samples in batches of %zu: expected 1 micro-batch, found %zu", count,
                        options.batch, found);
}

/* Where count * index does not fit into a size_t, and with a remainder. */
int slices_huge(struct grade *grade)
{
    return compare_slices(grade, SIZE_MAX - 7 * grade_draw(grade, 0, 9), 7) ||
           compare_slices(grade, SIZE_MAX / 2 - grade_draw(grade, 0, 9), 1024) || huge_batch(grade);
}

/* Update `index` as it should be. */
static struct step expected_step(const struct cut *cut, size_t index)
{
    size_t window = cut->options.batch * cut->options.accumulate;
    size_t steps = 4 + !cut->options.drop_last, place = index % steps;
    bool last = place + 1 == steps;
    return (struct step){
        .index = index,
        .epoch = index / steps,
        .last_of_epoch = last,
        .samples = {place * window, place == 4 ? cut->count - 4 * window : window}};
}

static int compare_step(struct grade *grade, const struct cut *cut, size_t index)
{
    struct step found = sampler_step(&cut->sampler, index), right = expected_step(cut, index);
    bool same = found.index == right.index && found.epoch == right.epoch &&
                found.last_of_epoch == right.last_of_epoch &&
                found.samples.begin == right.samples.begin &&
                found.samples.count == right.samples.count;
    return grade_expect(
        grade, same,
        "%zu samples, batch %zu, accumulate %zu%s: update %zu: expected %zu from %zu on in epoch "
        "%zu%s, found %zu from %zu on in epoch %zu%s",
        cut->count, cut->options.batch, cut->options.accumulate,
        cut->options.drop_last ? ", the short one dropped" : "", index, right.samples.count,
        right.samples.begin, right.epoch, right.last_of_epoch ? ", its last" : "",
        found.samples.count, found.samples.begin, found.epoch,
        found.last_of_epoch ? ", its last" : "");
}

int sampler_windows(struct grade *grade)
{
    struct cut cut;
    int wrong = 0;
    for (int drop = 0; drop < 2 && !wrong; drop++) {
        wrong = open_cut(grade, &cut, drop);
        for (size_t index = 0; index < 12 && !wrong; index++)
            wrong = compare_step(grade, &cut, index);
    }
    return wrong;
}

/* Micro-batch m of a step, cut over the ranks. */
static int compare_shares(struct grade *grade, const struct cut *cut, const struct step *step,
                          size_t m, int world)
{
    size_t begin = m * cut->options.batch, left = step->samples.count - begin;
    size_t count = left < cut->options.batch ? left : cut->options.batch;
    int wrong = 0;
    for (int rank = 0; rank < world && !wrong; rank++) {
        struct slice found = sampler_share(&cut->sampler, step, m, (size_t)world, (size_t)rank);
        struct slice right = oracle_slice(count, world, rank);
        right.begin += step->samples.begin + begin;
        wrong = grade_expect(
            grade, found.begin == right.begin && found.count == right.count,
            "update %zu, micro-batch %zu of %zu samples, rank %d of %d: expected %zu from %zu on, "
            "found %zu from %zu on",
            step->index, m, count, rank, world, right.count, right.begin, found.count, found.begin);
    }
    return wrong;
}

/* With the steps as they should be: of 01.5 each part by itself. */
int sampler_shares(struct grade *grade)
{
    struct cut cut;
    int wrong = open_cut(grade, &cut, false), world = grade_world(grade);
    for (size_t index = 0; index < 5 && !wrong; index++) {
        struct step step = expected_step(&cut, index);
        size_t found = sampler_micro_batches(&cut.sampler, &step);
        size_t expected = (step.samples.count + cut.options.batch - 1) / cut.options.batch;
        wrong = grade_expect(grade, found == expected,
                             "%zu samples in batches of %zu: expected %zu micro-batches, found %zu",
                             step.samples.count, cut.options.batch, expected, found);
        for (size_t m = 0; m < expected && !wrong; m++)
            wrong = compare_shares(grade, &cut, &step, m, 1) ||
                    compare_shares(grade, &cut, &step, m, world);
    }
    return wrong;
}

int sampler_permutes(struct grade *grade)
{
    struct cut cut;
    size_t seen[SAMPLES_MOST] = {0}, in_place = 0;
    int wrong = open_cut(grade, &cut, false);
    if (wrong)
        return wrong;
    const uint32_t *order = sampler_order(&cut.sampler, grade_draw(grade, 0, 9));
    for (size_t i = 0; i < cut.count && !wrong; i++) {
        wrong = grade_expect(grade, order[i] < cut.count && ++seen[order[i]] == 1,
                             "order[%zu] of %zu samples: expected one that has not been, found %u",
                             i, cut.count, order[i]);
        in_place += order[i] == i;
    }
    wrong = wrong || grade_expect(grade, in_place < cut.count / 2,
                                  "expected another order than the file's, found that");
    cut.sampler.shuffle = false;
    order = sampler_order(&cut.sampler, 77);
    for (size_t i = 0; i < cut.count && !wrong; i++)
        wrong =
            grade_expect(grade, order[i] == i, "not shuffled: expected %zu, found %u", i, order[i]);
    return wrong;
}

int sampler_epochs(struct grade *grade)
{
    struct cut cut;
    uint32_t first[SAMPLES_MOST];
    size_t epoch = grade_draw(grade, 1, 9), equal = 0;
    int wrong = open_cut(grade, &cut, false);
    if (wrong)
        return wrong;
    memcpy(first, sampler_order(&cut.sampler, epoch), cut.count * sizeof *first);
    const uint32_t *order = sampler_order(&cut.sampler, epoch + 1);
    for (size_t i = 0; i < cut.count; i++)
        equal += order[i] == first[i];
    wrong = grade_expect(grade, equal < cut.count / 2,
                         "epochs %zu and %zu: expected two orders, found one", epoch, epoch + 1);
    order = sampler_order(&cut.sampler, epoch);
    for (size_t i = 0; i < cut.count && !wrong; i++)
        wrong = grade_expect(grade, order[i] == first[i],
                             "epoch %zu asked for again: order[%zu]: expected %u, found %u", epoch,
                             i, first[i], order[i]);
    return wrong;
}

/* sampler.h: every epoch has the order of epoch 0. */
static int same_order(struct grade *grade, struct cut *cut, const uint32_t *first)
{
    size_t epoch = grade_draw(grade, 1, 9);
    int wrong = 0;
    cut->sampler.same_order = true;
    const uint32_t *order = sampler_order(&cut->sampler, epoch);
    for (size_t i = 0; i < cut->count && !wrong; i++)
        wrong =
            grade_expect(grade, order[i] == first[i],
                         "same_order: epoch %zu: order[%zu]: expected %u, as in epoch 0, found %u",
                         epoch, i, first[i], order[i]);
    return wrong;
}

/* sampler.h: the order is drawn from order_seed, whatever seed is. */
static int another_seed(struct grade *grade, struct cut *cut, const uint32_t *first)
{
    struct fail fail = {0};
    size_t equal = 0;
    sampler_release(&cut->sampler);
    if (sampler_init(&cut->sampler, cut->count, &cut->options, NULL, &fail))
        return grade_expect(grade, false, "the sampler cannot be set up: %s", fail.text);
    cut->sampler.order_seed++;
    const uint32_t *order = sampler_order(&cut->sampler, 0);
    for (size_t i = 0; i < cut->count; i++)
        equal += order[i] == first[i];
    return grade_expect(grade, equal < cut->count / 2,
                        "another order_seed: expected another order, found the one of seed %llu",
                        (unsigned long long)cut->sampler.seed);
}

/* sampler.h: every rank has the share of rank 0. */
static int same_share(struct grade *grade, struct cut *cut)
{
    int wrong = 0, world = grade_world(grade);
    struct step step = expected_step(cut, 0);
    struct slice right = sampler_share(&cut->sampler, &step, 0, (size_t)world, 0);
    cut->sampler.same_share = true;
    for (int rank = 0; rank < world && !wrong; rank++) {
        struct slice found = sampler_share(&cut->sampler, &step, 0, (size_t)world, (size_t)rank);
        wrong = grade_expect(
            grade, found.begin == right.begin && found.count == right.count,
            "same_share: rank %d of %d: expected %zu from %zu on, as rank 0, found %zu from %zu on",
            rank, world, right.count, right.begin, found.count, found.begin);
    }
    return wrong;
}

int sampler_planted(struct grade *grade)
{
    struct cut cut;
    uint32_t first[SAMPLES_MOST];
    if (open_cut(grade, &cut, false))
        return 1;
    memcpy(first, sampler_order(&cut.sampler, 0), cut.count * sizeof *first);
    int wrong = same_order(grade, &cut, first);
    wrong = wrong || another_seed(grade, &cut, first) || same_share(grade, &cut);
    sampler_release(&cut.sampler);
    return wrong;
}
