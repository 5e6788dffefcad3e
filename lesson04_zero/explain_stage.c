/* explain_stage: what a rank keeps, and when parameters come and go. See the header. */
#include "lesson04_zero/explain_stage.h"
#include "lesson04_zero/zero2.h"
#include "lesson04_zero/zero3.h"

enum { SET_BYTES = 64 };

static bool among(script_buckets buckets, size_t bucket)
{
    return buckets >> bucket & 1;
}

/* --- what is kept ------------------------------------------------------------------------------ */

static const char *parameters_of(const struct explain_stage *explain, size_t bucket)
{
    if (explain->stage < 3)
        return "the whole";
    return among(explain->sharded, bucket) ? "a chunk" : "a chunk, and the whole: it stays";
}

static void print_kept(FILE *out, const struct explain_stage *explain)
{
    fprintf(out, "\nAt stage %d a rank keeps:\n\n", explain->stage);
    fprintf(out, "    %6s %10s %10s  %-8s %-9s %s\n", "bucket", "elements", "of rank 0", "state",
            "gradient", "parameters");
    for (size_t i = 0; i < explain->plan->count; i++) {
        size_t count = explain->plan->buckets[i].slice.count;
        fprintf(out, "    %6zu %10zu %10zu  %-8s %-9s %s\n", i, count,
                slice_of(count, explain->world, 0).count, "a chunk", "a chunk",
                parameters_of(explain, i));
    }
    size_t frozen = 0;
    for (size_t i = 0; i < explain->model->tensor_count; i++)
        frozen +=
            explain->plan->of_tensor[i] == BUCKET_NONE ? explain->model->tensors[i].slice.count : 0;
    if (frozen)
        fprintf(out, "    frozen %10zu %10s  %-8s %-9s the whole: no update changes them\n", frozen,
                "-", "-", "-");
}

/* --- the pools --------------------------------------------------------------------------------- */

static void print_pool(FILE *out, const char *what, const struct pool_plan *pool)
{
    fprintf(out, "%s %zu buffer%s of", what, pool->count, pool->count == 1 ? "" : "s");
    bool alike = true;
    for (size_t i = 1; i < pool->count; i++)
        alike = alike && pool->rooms[i] == pool->rooms[0];
    for (size_t i = 0; i < (alike ? 1 : pool->count); i++)
        fprintf(out, "%s %zu", i ? "," : "", pool->rooms[i]);
    fprintf(out, " floats");
}

static void print_pools(FILE *out, const struct explain_stage *explain)
{
    struct pool_plan pool;
    zero2_plan(&pool, explain->script, explain->plan, explain->keeps_all);
    fprintf(out, "\n");
    print_pool(out, "Gradients are filled in", &pool);
    if (!explain->keeps_all)
        fprintf(out, ", which buckets take turns in.\n");
    else if (explain->accumulate > 1)
        fprintf(out, ": all are kept until the last of %zu micro-batches.\n", explain->accumulate);
    else
        fprintf(out, ": all are kept until backward has ended.\n");
    zero3_plan(&pool, explain->script, explain->model, explain->plan, explain->sharded);
    if (pool.count == 0)
        return;
    print_pool(out, "Parameters are gathered into", &pool);
    fprintf(out, ".\n");
}

/* --- the walk ---------------------------------------------------------------------------------- */

/* Where in an update, and which buckets are whole there, or under way. */
struct walk {
    const struct explain_stage *explain;
    size_t use; // of the script
    script_buckets here, gathers, drops;
};

static script_buckets needs(const struct explain_stage *explain, size_t use)
{
    return script_needs(explain->model, explain->plan, explain->script->uses[use],
                        explain->sharded);
}

/* As zero3_begin. */
static struct walk walk_begin(const struct explain_stage *explain)
{
    script_buckets first = needs(explain, 0);
    return (struct walk){.explain = explain, .here = first, .gathers = first};
}

/* As zero3_layer. */
static void walk_on(struct walk *walk)
{
    script_buckets now = needs(walk->explain, walk->use), next = 0;
    walk->use = (walk->use + 1) % walk->explain->script->use_count;
    if (walk->use > 0)
        next = needs(walk->explain, walk->use);
    walk->drops = walk->here & ~now;
    walk->here &= now;
    walk->gathers = (now | next) & ~walk->here;
    walk->here |= walk->gathers;
}

static void count_gathers(const struct walk *walk, size_t *gathers)
{
    for (size_t i = 0; i < walk->explain->plan->count; i++)
        gathers[i] += among(walk->gathers, i);
}

void explain_stage_gathers(const struct explain_stage *explain, size_t *gathers)
{
    struct walk walk = walk_begin(explain);
    for (size_t i = 0; i < explain->plan->count; i++)
        gathers[i] = among(explain->sharded, i) ? 0 : 1; // after the update
    count_gathers(&walk, gathers);
    for (size_t i = 0; i < explain->accumulate * explain->script->use_count; i++) {
        walk_on(&walk);
        count_gathers(&walk, gathers);
    }
}

static const char *set_text(script_buckets buckets, char text[SET_BYTES])
{
    int length = 0;
    snprintf(text, SET_BYTES, "-");
    for (size_t i = 0; i < MODEL_TENSORS_MOST && length < SET_BYTES - 4; i++)
        if (among(buckets, i))
            length += snprintf(text + length, (size_t)(SET_BYTES - length), "%s%zu",
                               length ? " " : "", i);
    return text;
}

static void print_use(FILE *out, const char *use, const struct walk *walk)
{
    char gathers[SET_BYTES], drops[SET_BYTES], here[SET_BYTES];
    fprintf(out, "    %-6s  %-9s  %-9s  %s\n", use, set_text(walk->gathers, gathers),
            set_text(walk->drops, drops), set_text(walk->here, here));
}

static void print_walk(FILE *out, const struct explain_stage *explain)
{
    struct walk walk = walk_begin(explain);
    fprintf(out,
            "\nBefore a layer computes, buckets are dropped; while it computes, those of the next "
            "are gathered:\n\n");
    fprintf(out, "    %-6s  %-9s  %-9s  %s\n", "use", "gathers", "drops", "here");
    print_use(out, "begin", &walk);
    for (size_t i = 0; i < explain->script->use_count; i++) {
        char layer[24];
        snprintf(layer, sizeof layer, "fc%zu", explain->script->uses[i] + 1);
        walk_on(&walk);
        print_use(out, layer, &walk);
    }
    if (explain->accumulate > 1)
        fprintf(out, "\nEach of %zu micro-batches goes through it, from fc1 on.\n",
                explain->accumulate);
}

void explain_stage(FILE *out, const struct explain_stage *explain)
{
    print_kept(out, explain);
    print_pools(out, explain);
    if (explain->sharded)
        print_walk(out, explain);
}
