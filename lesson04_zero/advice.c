/* advice: the choices, one after another. See the header. */
#include "lesson04_zero/advice.h"
#include "common/resident.h"
#include "lesson01_single/activations.h"
#include "lesson04_zero/traffic_plan.h"

#include <stdint.h>
#include <string.h>

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* The rank that keeps most, and the one that sends most. */
static void find_most(const struct advice *advice, const struct memory_case *of,
                      struct advice_choice *choice)
{
    choice->total_bytes = choice->sent_bytes = 0;
    for (size_t rank = 0; rank < (size_t)of->world; rank++) {
        struct memory_plan plan = memory_plan_of(of, rank);
        struct traffic_plan traffic = traffic_plan_of(of, &advice->algorithms, rank);
        if (plan.total_bytes > choice->total_bytes) {
            choice->plan = plan;
            choice->total_bytes = plan.total_bytes;
        }
        choice->sent_bytes = larger(choice->sent_bytes, traffic.total_bytes);
    }
    choice->total_bytes = larger(choice->total_bytes, advice->run->memory.peak_total_bytes);
    choice->fits = choice->total_bytes <= choice->limit_bytes;
}

static size_t machine_share(int world)
{
    size_t machine = resident_machine_bytes();
    return machine > 0 ? machine / (size_t)world : SIZE_MAX;
}

static struct advice_choice *add(struct advice *advice, const struct memory_case *of,
                                 size_t limit_bytes)
{
    struct advice_choice *choice = &advice->choices[advice->count++];
    *choice = (struct advice_choice){.limit_bytes =
                                         limit_bytes > 0 ? limit_bytes : machine_share(of->world)};
    find_most(advice, of, choice);
    return choice;
}

static void add_alone(struct advice *advice, const struct memory_case *alone, size_t limit_bytes)
{
    struct advice_choice *choice = add(advice, alone, limit_bytes);
    snprintf(choice->name, sizeof choice->name, "one process");
    snprintf(choice->flags, sizeof choice->flags, "lesson01_single");
}

/* Twice as many micro-batches, until it fits or none has more than a sample. */
static void add_accumulation(struct advice *advice, const struct memory_case *alone,
                             size_t limit_bytes)
{
    struct memory_case of = *alone;
    struct advice_choice *choice = NULL;
    of.batch = of.batch < of.train ? of.batch : of.train;
    while (of.batch > 1 && (!choice || !choice->fits)) {
        advice->count -= choice != NULL; // the next takes its place
        of.accumulate *= 2;
        of.batch = (of.batch + 1) / 2;
        choice = add(advice, &of, limit_bytes);
    }
    if (!choice)
        return; // a sample at a time already
    snprintf(choice->name, sizeof choice->name, "  accumulating %zu", of.accumulate);
    snprintf(choice->flags, sizeof choice->flags, "lesson01_single --batch %zu --accumulate %zu",
             of.batch, of.accumulate);
}

/* The K with the fewest activations. */
static void add_recomputation(struct advice *advice, const struct memory_case *alone,
                              size_t limit_bytes)
{
    struct memory_case of = *alone;
    for (size_t every = 2; every <= of.model->layers; every++)
        if (activations_width(of.model, every) < activations_width(of.model, of.recompute))
            of.recompute = every;
    if (of.recompute == alone->recompute)
        return; // too few layers to gain anything
    struct advice_choice *choice = add(advice, &of, limit_bytes);
    snprintf(choice->name, sizeof choice->name, "  recomputing %zu of %zu", of.recompute - 1,
             of.recompute);
    snprintf(choice->flags, sizeof choice->flags, "lesson01_single --recompute %zu", of.recompute);
}

static void add_ddp(struct advice *advice, const struct memory_case *ranks, size_t limit_bytes)
{
    struct memory_case of = *ranks;
    of.stage = STAGE_DDP;
    struct advice_choice *choice = add(advice, &of, limit_bytes);
    snprintf(choice->name, sizeof choice->name, "DDP");
    snprintf(choice->flags, sizeof choice->flags, "launch -n %d lesson03_ddp", of.world);
}

/* Each stage there is, with the state in memory or in a file. */
static void add_stages(struct advice *advice, const struct memory_case *ranks, bool offloads,
                       size_t limit_bytes)
{
    struct memory_case of = *ranks;
    of.offloads = offloads;
    for (of.stage = 1; of.stage <= STAGE_MOST; of.stage++) {
        struct advice_choice *choice = add(advice, &of, limit_bytes);
        snprintf(choice->name, sizeof choice->name, "ZeRO %d%s", of.stage,
                 offloads ? ", offload" : "");
        snprintf(choice->flags, sizeof choice->flags, "launch -n %d lesson04_zero --stage %d%s",
                 of.world, of.stage, offloads ? " --offload DIR" : "");
    }
}

void advice_make(struct advice *advice, const struct run *run, int world, size_t limit_bytes)
{
    struct memory_case ranks = memory_case_of(run), alone;
    advice->run = run;
    advice->world = ranks.world = world;
    advice->count = 0;
    ranks.offloads = false;
    alone = ranks;
    alone.stage = STAGE_ALONE;
    alone.world = 1;
    add_alone(advice, &alone, limit_bytes);
    add_accumulation(advice, &alone, limit_bytes);
    add_recomputation(advice, &alone, limit_bytes);
    add_ddp(advice, &ranks, limit_bytes);
    add_stages(advice, &ranks, false, limit_bytes);
    add_stages(advice, &ranks, true, limit_bytes);
}

static const struct advice_choice *first_fit(const struct advice *advice, bool ranks)
{
    for (size_t i = 0; i < advice->count; i++) {
        const struct advice_choice *choice = &advice->choices[i];
        if (choice->fits && (!ranks || strncmp(choice->flags, "launch", 6) == 0))
            return choice;
    }
    return NULL;
}

const struct advice_choice *advice_simplest(const struct advice *advice)
{
    return first_fit(advice, false);
}

const struct advice_choice *advice_simplest_ranks(const struct advice *advice)
{
    return first_fit(advice, true);
}

int advice_enough_ranks(const struct advice *advice)
{
    struct memory_case of = memory_case_of(advice->run);
    struct advice_choice choice = advice->choices[advice->count - 1];
    of.stage = STAGE_MOST;
    of.offloads = false;
    for (of.world = advice->world; of.world <= ENVIRONMENT_WORLD_MOST / 2;) {
        of.world *= 2;
        find_most(advice, &of, &choice);
        if (choice.fits)
            return of.world;
    }
    return 0;
}
