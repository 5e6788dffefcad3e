/* check_stage2: does a gradient live only until its owner has the sum? See lesson04.h. */
#include "tests/grade/lesson04.h"
#include "tests/grade/sharded.h"

#include <sys/mman.h>

enum { STEPS = 3, LAYERS = 4, PATIENCE_MS = 4000 };

/* Small buckets, which take turns in fewer buffers. */
static const char FLAGS[] = "--batch 13 --steps 9 --first-bucket-kb 0.01 --bucket-kb 0.1";
static const char COMPRESSED[] = "--batch 13 --steps 9 --bucket-kb 0.1 --compress bf16";
static const char WINDOWS[] = "--batch 7 --accumulate 3 --steps 9 --bucket-kb 0.1";
static const char AFTER[] = "--batch 13 --no-overlap --steps 9 --bucket-kb 0.1";

static int on_ranks(struct grade *grade, ranks_body *body, const char *flags)
{
    struct drawn drawn = drawn_flags(grade, LAYERS, flags);
    return grade_ranks(grade, grade_world(grade), body, &drawn);
}

/* --- sums ------------------------------------------------------------------------------------ */

static int sums_body(struct ranks_self *self)
{
    float expected[DRAWN_COUNT_MOST];
    struct sharded sharded;
    int wrong = sharded_open(&sharded, self, 2);
    for (size_t i = 0; i < STEPS && !wrong; i++) {
        struct step step = sampler_step(&sharded.run->sampler, i);
        wrong = sharded_expect_grad(&sharded, &step, sharded.run->param, expected) ||
                sharded_reduce(&sharded, &step) || sharded_check_owned(&sharded, expected, i);
    }
    return sharded_close(&sharded, wrong);
}

int stage2_sums(struct grade *grade)
{
    return on_ranks(grade, sums_body, FLAGS) || on_ranks(grade, sums_body, COMPRESSED);
}

/* Buckets that nothing was added to, after a step that was: their sums are 0. */
static int empty_body(struct ranks_self *self)
{
    static const float zeros[DRAWN_COUNT_MOST];
    struct sharded sharded;
    int wrong = sharded_open(&sharded, self, 2);
    struct zero *zero = &sharded.zero;
    if (!wrong) {
        struct step step = sampler_step(&sharded.run->sampler, 0);
        wrong = sharded_reduce(&sharded, &step);
    }
    if (wrong)
        return sharded_close(&sharded, wrong);
    zero_begin(zero);
    for (; zero->ddp.next < zero->ddp.plan.count; zero->ddp.next++)
        zero2_submit(&zero->zero2, zero->ddp.next);
    wrong = zero_wait(zero) || sharded_check_owned(&sharded, zeros, 1);
    return sharded_close(&sharded, wrong);
}

/* Where all buckets are filled before one leaves; and where nothing is added to them. */
int stage2_windows(struct grade *grade)
{
    return on_ranks(grade, sums_body, WINDOWS) || on_ranks(grade, sums_body, AFTER) ||
           on_ranks(grade, empty_body, FLAGS);
}

/* --- kept ------------------------------------------------------------------------------------ */

/* By the ledger: 1/R of the gradient, at its highest too, and steps take nothing. */
static int kept_body(struct ranks_self *self)
{
    struct sharded sharded;
    int wrong = sharded_open(&sharded, self, 2);
    if (wrong)
        return 1;
    const struct memory *memory = &sharded.run->memory;
    size_t expected = sharded_count(&sharded, self->rank) * sizeof(float);
    size_t before = memory_total(memory);
    struct step step = sampler_step(&sharded.run->sampler, 0);
    wrong = sharded_reduce(&sharded, &step) ||
            ranks_expect(self, memory->peak_bytes[MEMORY_GRADIENTS] == expected,
                         "%zu parameters, %d ranks: expected %zu bytes of gradients at most, "
                         "found %zu",
                         sharded.run->model.count, self->world, expected,
                         memory->peak_bytes[MEMORY_GRADIENTS]) ||
            ranks_expect(self, memory_total(memory) == before,
                         "expected a step to take no memory, found %zu bytes more",
                         memory_total(memory) - before);
    return sharded_close(&sharded, wrong);
}

int stage2_kept(struct grade *grade)
{
    return on_ranks(grade, kept_body, FLAGS);
}

/* --- released -------------------------------------------------------------------------------- */

/* A backward that the check listens to. */
struct heard {
    struct drawn drawn; // first: what sharded_open looks for
    int *handed_over;   // (world), shared: has this rank handed a bucket over?
    struct sharded sharded;
    struct model_listener hears;
    int wrong;
};

static int filling(const struct zero2 *zero2)
{
    int count = 0;
    for (size_t i = 0; i < zero2->shard->plan->count; i++)
        count += zero2->filling[i] != NULL;
    return count;
}

/* Buffers that backward holds: of buckets that are not yet handed over, and no others. */
static int check_released(const struct heard *heard)
{
    const struct zero *zero = &heard->sharded.zero;
    const struct pool *pool = &zero->zero2.pool;
    int held = 0, wrong = 0;
    for (size_t i = 0; i < zero->ddp.next && !wrong; i++)
        wrong =
            ranks_expect(heard->sharded.self, !zero->zero2.filling[i],
                         "bucket %zu is handed over: expected its buffer let go, found it held", i);
    for (size_t i = 0; i < pool->plan.count; i++)
        held += pool->buffers[i].state == POOL_FILLING;
    return wrong || ranks_expect(heard->sharded.self, held == filling(&zero->zero2),
                                 "expected %d of %zu buffers being filled, found %d",
                                 filling(&zero->zero2), pool->plan.count, held);
}

static void on_ready_released(void *context, size_t tensor)
{
    struct heard *heard = context;
    heard->hears.on_ready(heard->hears.context, tensor);
    heard->wrong = heard->wrong || check_released(heard);
}

static int listen_body(struct ranks_self *self, void (*on_ready)(void *context, size_t tensor))
{
    struct heard heard = *(struct heard *)self->context;
    int wrong = sharded_open(&heard.sharded, self, 2);
    struct trainer *trainer = &heard.sharded.run->trainer;
    heard.hears = trainer->listener;
    trainer->listener.on_ready = on_ready;
    trainer->listener.context = &heard;
    struct step step = sampler_step(&heard.sharded.run->sampler, 0);
    wrong = wrong || sharded_reduce(&heard.sharded, &step) || heard.wrong;
    return sharded_close(&heard.sharded, wrong);
}

static int released_body(struct ranks_self *self)
{
    return listen_body(self, on_ready_released);
}

int stage2_released(struct grade *grade)
{
    struct heard heard = {.drawn = drawn_flags(grade, LAYERS, FLAGS)};
    return grade_ranks(grade, grade_world(grade), released_body, &heard);
}

/* --- early ----------------------------------------------------------------------------------- */

static bool all_have(const struct heard *heard)
{
    bool all = true;
    for (int rank = 1; rank < heard->sharded.self->world; rank++)
        all = all && __atomic_load_n(&heard->handed_over[rank], __ATOMIC_ACQUIRE);
    return all;
}

/* Rank 0 goes on only when all others have handed a bucket over, whose sum they cannot have yet. */
static void on_ready_early(void *context, size_t tensor)
{
    struct heard *heard = context;
    const struct ranks_self *self = heard->sharded.self;
    for (int i = 0; self->rank == 0 && !all_have(heard) && !heard->wrong; i++) {
        ranks_pause(0.001);
        if (i == PATIENCE_MS)
            heard->wrong = ranks_expect(heard->sharded.self, false,
                                        "expected backward to go on while a bucket is reduced, "
                                        "found that it waits for the sum");
    }
    heard->hears.on_ready(heard->hears.context, tensor);
    if (heard->sharded.zero.ddp.next > 0)
        __atomic_store_n(&heard->handed_over[self->rank], 1, __ATOMIC_RELEASE);
}

static int early_body(struct ranks_self *self)
{
    return listen_body(self, on_ready_early);
}

int stage2_early(struct grade *grade)
{
    struct heard heard = {.drawn = drawn_flags(grade, LAYERS, FLAGS)};
    heard.handed_over = mmap(NULL, RANKS_MOST * sizeof(int), PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (heard.handed_over == MAP_FAILED)
        return grade_expect(grade, false, "expected memory to share, found none");
    return grade_ranks(grade, grade_world(grade), early_body, &heard);
}

/* --- bytes ----------------------------------------------------------------------------------- */

static int bytes_body(struct ranks_self *self)
{
    struct sharded sharded;
    int wrong = sharded_open(&sharded, self, 2) || sharded_check_reduce_bytes(&sharded);
    return sharded_close(&sharded, wrong);
}

int stage2_bytes(struct grade *grade)
{
    return on_ranks(grade, bytes_body, FLAGS);
}
