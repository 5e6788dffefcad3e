/* costmodel: how long an all-reduce should take. See the header for formulas and sources. */
#include "lesson02_allreduce/costmodel.h"

#include <assert.h>
#include <stdbool.h>

static int log2_floor(int world)
{
    int log = 0;
    while (world >> (log + 1) > 0)
        log++;
    return log;
}

static int log2_ceil(int world)
{
    return world > 1 ? log2_floor(world - 1) + 1 : 0;
}

static struct cost_terms root_terms(double ranks, double n)
{
    return (struct cost_terms){2, 2 * n * (ranks - 1), n * (ranks - 1), 2 * n * (ranks - 1)};
}

/* Every rank but 0 sends its vector once and hears the result once. */
static struct cost_terms tree_terms(int world, double n)
{
    double rounds = log2_ceil(world);
    return (struct cost_terms){2 * rounds, 2 * n * rounds, n * rounds, 2 * n * (world - 1)};
}

/* Ranks beyond a power of two hand their vectors to a neighbour before and hear the result after,
 * while the others stand by. */
static struct cost_terms halving_terms(int world, double n)
{
    int log = log2_floor(world), power = 1 << log;
    double half = n * (power - 1) / power, folded = world > power ? n : 0;
    return (struct cost_terms){
        .messages = 2 * log + (world > power ? 2 : 0),
        .bytes = 2 * half + 2 * folded,
        .reduced_bytes = half + folded,
        .total_bytes = 2 * half * power + 2 * n * (world - power),
    };
}

/* Ring and direct in parts: all but a rank's own chunk, twice. */
static struct cost_terms chunk_terms(double messages, double ranks, double n)
{
    double part = n * (ranks - 1) / ranks;
    return (struct cost_terms){messages, 2 * part, part, 2 * part * ranks};
}

static struct cost_terms direct_terms(double ranks, double n)
{
    if (n > (double)algorithm_direct_whole_bytes((int)ranks))
        return chunk_terms(2, ranks, n);
    return (struct cost_terms){1, n * (ranks - 1), n * (ranks - 1), n * (ranks - 1) * ranks};
}

struct cost_terms costmodel_terms(enum algorithm algorithm, int world, size_t bytes)
{
    double n = (double)bytes;
    assert(world >= 1);
    if (world == 1)
        return (struct cost_terms){0};
    switch (algorithm) {
    case ALGORITHM_RING:
        return chunk_terms(2.0 * (world - 1), world, n);
    case ALGORITHM_ROOT:
        return root_terms(world, n);
    case ALGORITHM_TREE:
        return tree_terms(world, n);
    case ALGORITHM_HALVING:
        return halving_terms(world, n);
    case ALGORITHM_DIRECT:
        return direct_terms(world, n);
    default:
        assert(!"auto has no shape of its own");
        return (struct cost_terms){0};
    }
}

double costmodel_sharing(const struct cost_link *link, const struct cost_terms *terms)
{
    if (link->cores == 0 || terms->bytes == 0)
        return 1;
    double sharing = terms->total_bytes / terms->bytes / link->cores;
    return sharing > 1 ? sharing : 1;
}

double costmodel_predict(const struct cost_link *link, enum algorithm algorithm, int world,
                         size_t bytes)
{
    if (algorithm == ALGORITHM_AUTO)
        algorithm = costmodel_best(link, world, bytes);
    struct cost_terms terms = costmodel_terms(algorithm, world, bytes);
    return costmodel_sharing(link, &terms) *
           (terms.messages * link->alpha_seconds + terms.bytes * link->beta_seconds +
            terms.reduced_bytes * link->gamma_seconds);
}

enum algorithm costmodel_best(const struct cost_link *link, int world, size_t bytes)
{
    enum algorithm best = ALGORITHM_RING;
    double least = costmodel_predict(link, best, world, bytes);
    for (int i = ALGORITHM_RING + 1; i < ALGORITHM_AUTO; i++) {
        double seconds = costmodel_predict(link, (enum algorithm)i, world, bytes);
        if (seconds < least) {
            best = (enum algorithm)i;
            least = seconds;
        }
    }
    return best;
}

static bool leads(const struct cost_link *link, enum algorithm b, enum algorithm a, int world,
                  size_t bytes)
{
    return costmodel_predict(link, b, world, bytes) < costmodel_predict(link, a, world, bytes);
}

/* The first size for which b leads, if a leads or draws at `low` and b leads at `high`. */
static size_t bisect(const struct cost_link *link, enum algorithm a, enum algorithm b, int world,
                     size_t low, size_t high)
{
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (leads(link, b, a, world, middle))
            high = middle;
        else
            low = middle;
    }
    return high;
}

size_t costmodel_crossover(const struct cost_link *link, enum algorithm a, enum algorithm b,
                           int world)
{
    if (!leads(link, b, a, world, COST_MOST_BYTES))
        return 0;
    if (leads(link, b, a, world, COST_LEAST_BYTES))
        return COST_LEAST_BYTES;
    return bisect(link, a, b, world, COST_LEAST_BYTES, COST_MOST_BYTES);
}

/* The first size above `low` for which `best` is no longer the best, if it is at low and not at
 * high. */
static size_t end_of_lead(const struct cost_link *link, enum algorithm best, int world, size_t low,
                          size_t high)
{
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (costmodel_best(link, world, middle) == best)
            low = middle;
        else
            high = middle;
    }
    return high;
}

size_t costmodel_ranges(const struct cost_link *link, int world,
                        struct cost_range ranges[COST_RANGES_MOST])
{
    size_t count = 1, low = COST_LEAST_BYTES;
    ranges[0] = (struct cost_range){low, costmodel_best(link, world, low)};
    for (size_t high = 2 * low; high <= COST_MOST_BYTES; high *= 2) {
        enum algorithm at_high = costmodel_best(link, world, high);
        while (ranges[count - 1].algorithm != at_high && count < COST_RANGES_MOST) {
            low = end_of_lead(link, ranges[count - 1].algorithm, world, low, high);
            ranges[count++] = (struct cost_range){low, costmodel_best(link, world, low)};
        }
        low = high;
    }
    return count;
}
