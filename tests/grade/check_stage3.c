/*
 * check_stage3: are a layer's parameters there when it computes, and gone when it has? See lesson04.h.
 *
 * The walks ask for the layers as a pass would, without computing, so that nothing of stage 2 is asked.
 */
#include "tests/grade/lesson04.h"
#include "tests/grade/oracle.h"
#include "tests/grade/sharded.h"

#include <signal.h>
#include <sys/mman.h>

enum { LAYERS = 4, UPDATES = 5, PASSES = 2, PATIENCE_MS = 4000 };

static const char FLAGS[] = "--batch 13 --steps 9 --bucket-kb 0.1 --persist-kb 0";

/* A bucket for each. */
static const char TENSORS[] =
    "--batch 13 --steps 9 --first-bucket-kb 0.004 --bucket-kb 0.004 --persist-kb 0";

static int on_ranks(struct grade *grade, ranks_body *body, const char *flags)
{
    struct drawn drawn = drawn_flags(grade, LAYERS, flags);
    return grade_ranks(grade, grade_world(grade), body, &drawn);
}

/* --- walks ----------------------------------------------------------------------------------- */

/* What is to be here, and what it took so far, by a walk of the check's own. */
struct walk {
    struct sharded *sharded;
    script_buckets here;
    size_t gathers, of_bucket[MODEL_TENSORS_MOST];
};

static script_buckets needs(const struct walk *walk, size_t layer)
{
    const struct zero *zero = &walk->sharded->zero;
    return script_needs(&walk->sharded->run->model, &zero->ddp.plan, layer, zero->zero3.sharded);
}

static void expect_gathers(struct walk *walk, script_buckets buckets)
{
    for (size_t i = 0; i < walk->sharded->zero.ddp.plan.count; i++)
        if (buckets >> i & ~(walk->here >> i) & 1) {
            walk->gathers++;
            walk->of_bucket[i]++;
        }
    walk->here |= buckets;
}

/* A layer, and already the one after it, if there is one. */
static void expect_layer(struct walk *walk, const size_t *uses, size_t use, size_t count)
{
    walk->here &= needs(walk, uses[use]);
    expect_gathers(walk, needs(walk, uses[use]));
    if (use + 1 < count)
        expect_gathers(walk, needs(walk, uses[use + 1]));
}

/* The layers of a training pass, or of an evaluation: forward alone. */
static size_t uses_of(const struct sharded *sharded, bool training, size_t *uses)
{
    const struct script *script = &sharded->zero.script;
    size_t count = training ? script->use_count : sharded->run->model.layers;
    for (size_t i = 0; i < count; i++)
        uses[i] = training ? script->uses[i] : i;
    return count;
}

typedef int check_layer(const struct walk *walk, size_t layer);

static int walk_layers(struct walk *walk, bool training, check_layer *check)
{
    struct sharded *sharded = walk->sharded;
    size_t uses[SCRIPT_USES_MOST], count = uses_of(sharded, training, uses);
    int wrong = 0;
    for (size_t i = 0; i < count && !wrong; i++) {
        zero3_layer(&sharded->zero.zero3, uses[i]);
        expect_layer(walk, uses, i, count);
        wrong = check(walk, uses[i]);
    }
    return wrong;
}

/* Training passes with nothing between them, as micro-batches follow each other; then an evaluation. */
static int walk_all(struct sharded *sharded, check_layer *check)
{
    struct walk walk = {.sharded = sharded};
    int wrong = 0;
    zero_begin(&sharded->zero);
    expect_gathers(&walk, needs(&walk, sharded->zero.script.uses[0]));
    for (int i = 0; i < PASSES && !wrong; i++)
        wrong = walk_layers(&walk, true, check);
    wrong = worker_wait(&sharded->zero.ddp.worker) || wrong;
    zero3_end(&sharded->zero.zero3);
    walk.here = 0;
    wrong = wrong || walk_layers(&walk, false, check);
    return worker_wait(&sharded->zero.ddp.worker) || wrong;
}

/* --- values ---------------------------------------------------------------------------------- */

static int check_tensor(const struct walk *walk, const float *whole, size_t tensor)
{
    struct sharded *sharded = walk->sharded;
    const struct tensor *is = &sharded->run->model.tensors[tensor];
    const float *found = sharded->zero.places.param[tensor];
    int wrong =
        ranks_expect(sharded->self, found != NULL, "expected %s in a place, found none", is->name);
    for (size_t i = 0; i < is->slice.count && !wrong; i++)
        wrong = ranks_expect(sharded->self, found[i] == whole[is->slice.begin + i],
                             "%s[%zu], its layer about to compute: expected %.9g, found %.9g",
                             is->name, i, (double)whole[is->slice.begin + i], (double)found[i]);
    return wrong;
}

/* The parameters that every rank would have drawn alone. */
static int check_values(const struct walk *walk, size_t layer)
{
    float whole[DRAWN_COUNT_MOST];
    struct run *run = walk->sharded->run;
    struct precision precision = {.kind = run->options.precision};
    int error = run_init_values(run, run->whole, whole);
    precision_round(&precision, whole, run->model.count);
    return error || check_tensor(walk, whole, run->model.weight_of[layer]) ||
           check_tensor(walk, whole, run->model.bias_of[layer]);
}

static int values_body(struct ranks_self *self)
{
    struct sharded sharded;
    int wrong = sharded_open(&sharded, self, 3) || walk_all(&sharded, check_values);
    return sharded_close(&sharded, wrong);
}

int stage3_values(struct grade *grade)
{
    return on_ranks(grade, values_body, FLAGS) ||
           on_ranks(grade, values_body, "--batch 13 --steps 9 --bucket-kb 0.5 --persist-kb 0.05") ||
           on_ranks(grade, values_body,
                    "--batch 13 --steps 9 --bucket-kb 0.1 --persist-kb 0 --precision bf16");
}

/* --- here ------------------------------------------------------------------------------------ */

static int ones(script_buckets buckets)
{
    int count = 0;
    for (; buckets; buckets >>= 1)
        count += buckets & 1;
    return count;
}

/* This layer's and the next one's: asked for by now, each in a buffer; and no others. */
static int check_here(const struct walk *walk, size_t layer)
{
    const struct zero *zero = &walk->sharded->zero;
    const struct pool *pool = &zero->zero3.pool;
    struct ranks_self *self = walk->sharded->self;
    int held = 0;
    for (size_t i = 0; i < pool->plan.count; i++)
        held += pool->buffers[i].state != POOL_FREE;
    return ranks_expect(self, zero->ddp.worker.submitted == walk->gathers,
                        "while layer fc%zu computes: expected %zu gathers asked for, found %zu",
                        layer + 1, walk->gathers, zero->ddp.worker.submitted) ||
           ranks_expect(self, zero->zero3.here == walk->here && held == ones(walk->here),
                        "while layer fc%zu computes: expected its and the next one's %d buckets "
                        "here, found %d, in %d buffers",
                        layer + 1, ones(walk->here), ones(zero->zero3.here), held);
}

static int here_body(struct ranks_self *self)
{
    struct sharded sharded;
    int wrong = sharded_open(&sharded, self, 3) || walk_all(&sharded, check_here);
    return sharded_close(&sharded, wrong);
}

int stage3_here(struct grade *grade)
{
    return on_ranks(grade, here_body, FLAGS) ||
           on_ranks(grade, here_body,
                    "--batch 13 --steps 9 --bucket-kb 0.004 --persist-kb 0 --recompute 2");
}

/* --- early ----------------------------------------------------------------------------------- */

/* A walk of which rank 0 begins, while the others ask for the first layer's parameters and no more. */
struct begun {
    struct drawn drawn; // first: what sharded_open looks for
    int *computes;      // shared: rank 0's first layer does
};

/* The next one's are gathered only once rank 0 no longer waits. */
static int early_body(struct ranks_self *self)
{
    const struct begun *begun = self->context;
    struct sharded sharded;
    int wrong = sharded_open(&sharded, self, 3);
    if (wrong)
        return sharded_close(&sharded, wrong);
    zero_begin(&sharded.zero);
    for (int i = 0; self->rank > 0 && !__atomic_load_n(begun->computes, __ATOMIC_ACQUIRE); i++) {
        ranks_pause(0.001);
        if (i == PATIENCE_MS)
            return ranks_expect(self, false,
                                "expected rank 0's first layer to compute while the next one's "
                                "parameters are gathered, found that it waits for them");
    }
    zero3_layer(&sharded.zero.zero3, sharded.zero.script.uses[0]);
    if (self->rank == 0)
        __atomic_store_n(begun->computes, 1, __ATOMIC_RELEASE);
    return sharded_close(&sharded, worker_wait(&sharded.zero.ddp.worker));
}

int stage3_early(struct grade *grade)
{
    struct begun begun = {.drawn = drawn_flags(grade, LAYERS, TENSORS)};
    begun.computes =
        mmap(NULL, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (begun.computes == MAP_FAILED)
        return grade_expect(grade, false, "expected memory to share, found none");
    return grade_ranks(grade, grade_world(grade), early_body, &begun);
}

/* --- updates --------------------------------------------------------------------------------- */

static int updates_body(struct ranks_self *self)
{
    struct sharded sharded;
    int wrong = sharded_open(&sharded, self, 3) || sharded_check_updates(&sharded, UPDATES);
    return sharded_close(&sharded, wrong);
}

int stage3_updates(struct grade *grade)
{
    return on_ranks(grade, updates_body,
                    "--batch 13 --steps 9 --optimizer adam --bucket-kb 0.2 --persist-kb 0") ||
           on_ranks(grade, updates_body,
                    "--batch 5 --accumulate 2 --steps 9 --bucket-kb 0.2 --persist-kb 0.1");
}

/* --- counted --------------------------------------------------------------------------------- */

static int look_away(const struct walk *walk, size_t layer)
{
    (void)walk;
    (void)layer;
    return 0;
}

/* By the ledger, at its highest: what it owns, and what stays. Passes take nothing. */
static int kept_body(struct ranks_self *self)
{
    struct sharded sharded;
    int wrong = sharded_open(&sharded, self, 3);
    if (wrong)
        return 1;
    struct run *run = sharded.run;
    const struct memory *memory = &run->memory;
    size_t expected = sharded_count(&sharded, self->rank), before = memory_total(memory);
    for (size_t i = 0; i < sharded.zero.ddp.plan.count; i++) {
        size_t count = sharded.zero.ddp.plan.buckets[i].slice.count;
        expected += count * sizeof(float) <= run->options.persist_bytes ? count : 0;
    }
    expected *= sizeof(float);
    wrong = walk_all(&sharded, look_away) ||
            ranks_expect(self, memory->peak_bytes[MEMORY_PARAMETERS] == expected,
                         "%zu parameters, %d ranks: expected %zu bytes of them at most, found %zu",
                         run->model.count, self->world, expected,
                         memory->peak_bytes[MEMORY_PARAMETERS]) ||
            ranks_expect(self, memory_total(memory) == before,
                         "expected passes to take no memory, found %zu bytes more",
                         memory_total(memory) - before);
    return sharded_close(&sharded, wrong);
}

int stage3_kept(struct grade *grade)
{
    return on_ranks(grade, kept_body, "--batch 13 --steps 9 --bucket-kb 0.2 --persist-kb 0.05");
}

/* The gradient home once, the parameters round twice; but for what is still here when backward begins. */
static int bytes_body(struct ranks_self *self)
{
    struct sharded sharded;
    int wrong = sharded_open(&sharded, self, 3);
    if (wrong)
        return 1;
    const struct bucket_plan *plan = &sharded.zero.ddp.plan;
    struct walk walk = {.sharded = &sharded};
    const struct script *script = &sharded.zero.script;
    struct sent expected = {0}, before = sharded_sent(&sharded);
    expect_gathers(&walk, needs(&walk, script->uses[0]));
    for (size_t i = 0; i < script->use_count; i++)
        expect_layer(&walk, script->uses, i, script->use_count);
    for (size_t i = 0; i < plan->count; i++) {
        size_t count = plan->buckets[i].slice.count;
        size_t home = count - sharded_own(&sharded, i, self->rank).count;
        size_t round = count - oracle_slice(count, self->world, self->rank + 1).count;
        expected.bytes += sizeof(float) * (home + walk.of_bucket[i] * round);
    }
    expected.messages = (plan->count + walk.gathers) * ((uint64_t)self->world - 1);
    struct step step = sampler_step(&sharded.run->sampler, 0);
    wrong = sharded_reduce(&sharded, &step) || zero_share(&sharded.zero) ||
            sharded_check_sent(&sharded, before, "a step of stage 3", expected);
    return sharded_close(&sharded, wrong);
}

int stage3_bytes(struct grade *grade)
{
    return on_ranks(grade, bytes_body, FLAGS);
}

/* --- a rank that is killed ------------------------------------------------------------------- */

static void on_ready_die(void *context, size_t tensor)
{
    (void)context;
    (void)tensor;
    raise(SIGKILL);
}

/* The last rank dies in backward; all others go on to its end, with whatever numbers, and hear of it. */
static int killed_body(struct ranks_self *self)
{
    struct sharded sharded;
    if (sharded_open(&sharded, self, 3))
        return 1;
    if (self->rank == self->world - 1)
        sharded.run->trainer.listener.on_ready = on_ready_die;
    struct step step = sampler_step(&sharded.run->sampler, 0);
    int error = sharded_reduce(&sharded, &step);
    self->fail = (struct fail){0}; // it was to be told
    return ranks_expect(self, error != 0, "a rank was killed: expected an error, found none");
}

/* A tensor got no gradient: the pass goes on to its end, and sends nothing. */
static int stopping_body(struct ranks_self *self)
{
    struct sharded sharded;
    int wrong = sharded_open(&sharded, self, 3);
    if (wrong)
        return sharded_close(&sharded, wrong);
    struct zero *zero = &sharded.zero;
    const struct worker *worker = &zero->ddp.worker;
    zero_begin(zero);
    size_t asked = worker->submitted;
    zero->ddp.unused = true;
    for (size_t i = 0; i < zero->script.use_count; i++)
        zero3_layer(&zero->zero3, zero->script.uses[i]);
    wrong = ranks_expect(self, worker->submitted == asked,
                         "the run is about to stop: expected no more gathers than %zu asked for, "
                         "found %zu",
                         asked, worker->submitted);
    return sharded_close(&sharded, worker_wait(&zero->ddp.worker) || wrong);
}

int stage3_killed(struct grade *grade)
{
    struct drawn drawn = drawn_flags(grade, LAYERS, FLAGS);
    if (grade_ranks(grade, grade_world(grade), stopping_body, &drawn))
        return 1;
    struct ranks_plan plan = {.world = grade_world(grade),
                              .body = killed_body,
                              .context = &drawn,
                              .timeout_seconds = GRADE_TIMEOUT_SECONDS};
    return grade_killed(grade, &plan, plan.world - 1);
}
