/*
 * check_norm: is the norm of the parts that of the whole, bit for bit? See lesson04.h.
 *
 * The shard is made by hand, and the gradient is drawn: nothing of tasks 04.1 and 04.2 is asked.
 */
#include "tests/grade/lesson04.h"
#include "lesson01_single/norm.h"
#include "lesson02_allreduce/wire.h"
#include "tests/grade/oracle.h"
#include "tests/grade/sharded.h"

#include <math.h>
#include <string.h>

enum { VECTORS = 4, NUMBERS_MOST = 8, WORLD_MOST = 5 };

static const char FLAGS[] = "--batch 13 --steps 9 --clip 1";

/* A zero of which only the shard and the run's gradient are used. */
struct parts {
    struct sharded sharded;
    float whole[DRAWN_COUNT_MOST]; // the gradient of which each rank has its part in the run's
};

static int parts_open(struct parts *parts, struct ranks_self *self, int stage)
{
    const struct drawn *drawn = self->context;
    struct grade same = *drawn->grade; // every rank cuts alike
    struct sharded *sharded = &parts->sharded;
    *parts = (struct parts){.sharded = {.self = self, .run = &sharded->inside.run}};
    struct zero *zero = &sharded->zero;
    struct shard *shard = &zero->shard;
    int wrong = inside_open(&sharded->inside, self, 4, drawn->arguments);
    if (wrong)
        return wrong;
    zero->run = sharded->run;
    zero->stage = stage;
    zero->run->optimizer.packed_grad = stage >= 2;
    zero->ddp.comm = self->comm;
    zero->ddp.plan = drawn_plan(&same, &sharded->run->model);
    *shard = (struct shard){
        .plan = &zero->ddp.plan, .world = (size_t)self->world, .rank = (size_t)self->rank};
    for (size_t bucket = zero->ddp.plan.count; bucket-- > 0;) {
        shard->owned[shard->owned_count] = sharded_own(sharded, bucket, self->rank);
        shard->first[bucket] = shard->count;
        shard->count += shard->owned[shard->owned_count++].count;
    }
    return 0;
}

/* What a rank owns is the whole's, in its place or packed; elsewhere it holds what must not be looked at. */
static void hand_out(struct parts *parts)
{
    const struct shard *shard = &parts->sharded.zero.shard;
    float *grad = parts->sharded.run->grad;
    for (size_t i = 0; i < parts->sharded.run->model.count; i++)
        grad[i] = 12345;
    size_t packed = 0;
    for (size_t i = 0; i < shard->owned_count; i++) {
        struct slice own = shard->owned[i];
        size_t at = parts->sharded.zero.stage >= 2 ? packed : own.begin;
        memcpy(grad + at, parts->whole + own.begin, own.count * sizeof *grad);
        packed += own.count;
    }
}

static void fill(struct parts *parts, size_t which, float size)
{
    const struct drawn *drawn = parts->sharded.self->context;
    for (size_t i = 0; i < parts->sharded.run->model.count; i++)
        parts->whole[i] = size * grade_value(drawn->grade, which, i);
}

static int check_norm(struct parts *parts)
{
    double found = -1, expected = norm_of(parts->whole, parts->sharded.run->model.count);
    hand_out(parts);
    int wrong = zero_norm(&parts->sharded.zero, &found);
    bool same = found == expected || (!isfinite(expected) && !isfinite(found));
    return wrong || ranks_expect(parts->sharded.self, same,
                                 "%d ranks: expected the whole gradient's norm %.17g, found %.17g",
                                 parts->sharded.self->world, expected, found);
}

/* --- whole ----------------------------------------------------------------------------------- */

static int whole_body(struct ranks_self *self)
{
    struct parts parts;
    int wrong = parts_open(&parts, self, 1);
    for (size_t i = 0; i < VECTORS && !wrong; i++) {
        fill(&parts, i, 1);
        wrong = check_norm(&parts);
    }
    return wrong ? 1 : 0;
}

/* As stages 2 and 3 keep it. */
static int packed_body(struct ranks_self *self)
{
    struct parts parts;
    int wrong = parts_open(&parts, self, 2);
    fill(&parts, 0, 1);
    return wrong || check_norm(&parts) ? 1 : 0;
}

/* An element of each rank: of 1.5, whose square's last bit shows in the root, and others whose squares are less than
 * half of that bit each, and more together. Added one after another in double they are lost. */
static int grid_body(struct ranks_self *self)
{
    struct parts parts;
    int wrong = parts_open(&parts, self, 1);
    const struct bucket_plan *plan = &parts.sharded.zero.ddp.plan;
    size_t longest = 0;
    for (size_t i = 0; i < plan->count; i++)
        longest = plan->buckets[i].slice.count > plan->buckets[longest].slice.count ? i : longest;
    for (int rank = 0; rank < self->world; rank++)
        parts.whole[sharded_own(&parts.sharded, longest, rank).begin] =
            rank ? ldexpf(0.99f, -26) : 1.5f;
    return wrong || check_norm(&parts) ? 1 : 0;
}

int norm_whole(struct grade *grade)
{
    struct drawn drawn = drawn_flags(grade, 3, FLAGS);
    return grade_ranks(grade, grade_world(grade), whole_body, &drawn) ||
           grade_ranks(grade, grade_world(grade), packed_body, &drawn) ||
           grade_ranks(grade, grade_world(grade), grid_body, &drawn) ||
           grade_ranks(grade, 1, whole_body, &drawn);
}

/* --- ranges ---------------------------------------------------------------------------------- */

/* Squares that no float holds; and one element, of one rank's part, that is not a number. */
static int ranges_body(struct ranks_self *self)
{
    static const float sizes[] = {1e30f, 1e-30f}, bad[] = {NAN, INFINITY};
    struct parts parts;
    int wrong = parts_open(&parts, self, 1);
    size_t count = parts.sharded.run->model.count;
    for (size_t i = 0; i < 2 && !wrong; i++) {
        fill(&parts, i, sizes[i]);
        parts.whole[i ? count - 1 : 0] = 3 * sizes[i]; // the largest at either end
        wrong = check_norm(&parts);
    }
    for (size_t i = 0; i < 4 && !wrong; i++) {
        fill(&parts, i, 1);
        parts.whole[i % 2 ? count - 1 : 0] = bad[i / 2];
        wrong = check_norm(&parts);
    }
    for (size_t i = 0; i < count && !wrong; i++)
        parts.whole[i] = 0;
    return wrong || check_norm(&parts) ? 1 : 0;
}

int norm_ranges(struct grade *grade)
{
    struct drawn drawn = drawn_flags(grade, 2, FLAGS);
    return grade_ranks(grade, grade_world(grade), ranges_body, &drawn);
}

/* --- counted --------------------------------------------------------------------------------- */

/* Three numbers go round, not the gradient. */
static int counted_body(struct ranks_self *self)
{
    struct parts parts;
    int wrong = parts_open(&parts, self, 1);
    if (wrong)
        return 1;
    fill(&parts, 0, 1);
    hand_out(&parts);
    double norm;
    struct sent before = sharded_sent(&parts.sharded), after;
    wrong = zero_norm(&parts.sharded.zero, &norm);
    after = sharded_sent(&parts.sharded);
    uint64_t messages = after.messages - before.messages;
    uint64_t bytes = after.bytes - before.bytes - messages * WIRE_FRAME_BYTES;
    uint64_t most = NUMBERS_MOST * sizeof(double) * ((uint64_t)self->world - 1);
    wrong = wrong || ranks_expect(self, bytes > 0 && bytes <= most,
                                  "%zu elements, %d ranks: expected a few numbers, at most %llu "
                                  "bytes sent, found %llu",
                                  parts.sharded.run->model.count, self->world,
                                  (unsigned long long)most, (unsigned long long)bytes);
    return wrong ? 1 : 0;
}

int norm_counted(struct grade *grade)
{
    struct drawn drawn = drawn_flags(grade, 3, FLAGS);
    return grade_ranks(grade, grade_world(grade), counted_body, &drawn);
}
