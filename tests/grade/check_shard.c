/*
 * check_shard: is every element owned by one rank, and by the one that has its sum? See lesson04.h.
 *
 * Plans by hand, buckets smaller than the world among them; no rank is started.
 */
#include "tests/grade/lesson04.h"
#include "lesson04_zero/shard.h"
#include "tests/grade/drawn.h"
#include "tests/grade/oracle.h"

enum { PLANS = 60, LAYERS = 6, WORLD_MOST = 9 };

/* A plan and a world; the shards of all its ranks. */
struct shares {
    struct model model;
    struct bucket_plan plan;
    size_t world;
    struct shard shards[WORLD_MOST];
};

static void deal(struct shares *shares, struct grade *grade, size_t world)
{
    shares->model = drawn_model(grade, LAYERS);
    shares->plan = drawn_plan(grade, &shares->model);
    shares->world = world;
    for (size_t rank = 0; rank < world; rank++)
        shard_plan(&shares->shards[rank], &shares->plan, world, rank);
}

/* The same question of many plans: worlds 1, 3 and 5, and others. */
static int ask(struct grade *grade, int (*check)(struct grade *grade, const struct shares *shares))
{
    static const size_t worlds[] = {1, 3, 5, 0};
    int wrong = 0;
    for (size_t i = 0; i < PLANS && !wrong; i++) {
        struct shares shares;
        size_t world = worlds[i % 4];
        deal(&shares, grade, world ? world : grade_draw(grade, 2, WORLD_MOST));
        wrong = check(grade, &shares);
    }
    return wrong;
}

/* --- tiles ----------------------------------------------------------------------------------- */

static int check_ascends(struct grade *grade, const struct shares *shares, size_t rank)
{
    const struct shard *shard = &shares->shards[rank];
    size_t end = 0;
    int wrong = grade_expect(grade, shard->owned_count == shares->plan.count,
                             "%zu buckets: expected as many owned slices, found %zu",
                             shares->plan.count, shard->owned_count);
    for (size_t i = 0; i < shard->owned_count && !wrong; i++) {
        struct slice owned = shard->owned[i];
        wrong = grade_expect(grade,
                             owned.begin >= end && owned.begin + owned.count <= shares->model.count,
                             "rank %zu of %zu, owned slice %zu: expected it above element %zu and "
                             "within %zu, found %zu to %zu",
                             rank, shares->world, i, end, shares->model.count, owned.begin,
                             owned.begin + owned.count);
        end = owned.begin + owned.count;
    }
    return wrong;
}

static int check_tiles(struct grade *grade, const struct shares *shares)
{
    unsigned char owners[DRAWN_COUNT_MOST] = {0};
    int wrong = 0;
    for (size_t rank = 0; rank < shares->world && !wrong; rank++) {
        const struct shard *shard = &shares->shards[rank];
        wrong = check_ascends(grade, shares, rank);
        for (size_t i = 0; i < shard->owned_count && !wrong; i++)
            for (size_t j = 0; j < shard->owned[i].count; j++)
                owners[shard->owned[i].begin + j]++;
    }
    for (size_t i = 0; i < shares->model.count && !wrong; i++)
        wrong = grade_expect(grade, owners[i] == 1,
                             "%zu ranks: element %zu of %zu: expected one owner, found %d",
                             shares->world, i, shares->model.count, owners[i]);
    return wrong;
}

int shard_tiles(struct grade *grade)
{
    return ask(grade, check_tiles);
}

/* --- chunks ---------------------------------------------------------------------------------- */

/* Rank r's is the chunk whose sum the reduce-scatter leaves there. */
static int check_chunks(struct grade *grade, const struct shares *shares)
{
    int wrong = 0;
    for (size_t i = 0; i < shares->plan.count * shares->world && !wrong; i++) {
        size_t bucket = i / shares->world, rank = i % shares->world;
        size_t count = shares->plan.buckets[bucket].slice.count;
        struct slice expected = oracle_slice(count, (int)shares->world, (int)rank);
        struct slice found = shard_chunk(&shares->shards[rank], bucket);
        wrong = grade_expect(grade, found.begin == expected.begin && found.count == expected.count,
                             "a bucket of %zu elements, rank %zu of %zu: expected %zu from %zu on, "
                             "found %zu from %zu on",
                             count, rank, shares->world, expected.count, expected.begin,
                             found.count, found.begin);
    }
    return wrong;
}

int shard_chunks(struct grade *grade)
{
    return ask(grade, check_chunks);
}

/* --- packed ---------------------------------------------------------------------------------- */

/* Packed arrays are dense, and in the slab's order: whatever is owned, first[] says where it begins there. */
static int check_packed(struct grade *grade, const struct shares *shares)
{
    int wrong = 0;
    for (size_t rank = 0; rank < shares->world && !wrong; rank++) {
        const struct shard *shard = &shares->shards[rank];
        size_t passed = 0, bucket = shares->plan.count;
        for (size_t i = 0; i < shard->owned_count && !wrong; i++) {
            bucket--; // owned slices ascend, buckets descend
            wrong = grade_expect(grade, shard->first[bucket] == passed,
                                 "rank %zu of %zu, bucket %zu: expected its first element at %zu "
                                 "of the packed ones, found %zu",
                                 rank, shares->world, bucket, passed, shard->first[bucket]);
            passed += shard->owned[i].count;
        }
        wrong = wrong || grade_expect(grade, shard->count == passed,
                                      "rank %zu of %zu: expected a count of %zu owned elements, "
                                      "found %zu",
                                      rank, shares->world, passed, shard->count);
    }
    return wrong;
}

int shard_packed(struct grade *grade)
{
    return ask(grade, check_packed);
}

/* --- counted --------------------------------------------------------------------------------- */

/* Nobody owns more than its part of each bucket, rounded up: or nothing is sharded. */
static int check_counted(struct grade *grade, const struct shares *shares)
{
    size_t most = 0;
    int wrong = 0;
    for (size_t i = 0; i < shares->plan.count; i++)
        most += (shares->plan.buckets[i].slice.count + shares->world - 1) / shares->world;
    for (size_t rank = 0; rank < shares->world && !wrong; rank++) {
        size_t owned = 0;
        for (size_t i = 0; i < shares->shards[rank].owned_count; i++)
            owned += shares->shards[rank].owned[i].count;
        wrong =
            grade_expect(grade, owned <= most,
                         "%zu parameters in %zu buckets, rank %zu of %zu: expected at most "
                         "%zu owned, found %zu",
                         shares->model.count, shares->plan.count, rank, shares->world, most, owned);
    }
    return wrong;
}

int shard_counted(struct grade *grade)
{
    return ask(grade, check_counted);
}
