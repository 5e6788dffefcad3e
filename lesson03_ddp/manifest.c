/*
 * manifest: do all ranks train the same? See the header.
 *
 * Hashes first, for they are nearly always equal. Only where one is not are two manifests sent round,
 * rank 0's and that of the first rank that differs: then all ranks can say the same sentence.
 */
#include "lesson03_ddp/manifest.h"
#include "common/compare.h"
#include "lesson02_allreduce/direct.h"
#include "lesson02_allreduce/ring.h"

#include <errno.h>
#include <string.h>

enum { ITEM_BYTES = 96 };

static void add_samples(struct manifest *manifest, size_t at, const char *name, size_t count)
{
    struct manifest_item *item = &manifest->items[at];
    snprintf(item->name, sizeof item->name, "%s", name);
    item->shape[0] = count;
}

struct manifest manifest_of(const struct run *run)
{
    struct manifest manifest;
    memset(&manifest, 0, sizeof manifest);
    size_t count = run->model.tensor_count;
    for (size_t i = 0; i < count; i++) {
        const struct tensor *tensor = &run->model.tensors[i];
        struct manifest_item *item = &manifest.items[i];
        snprintf(item->name, sizeof item->name, "%s", tensor->name);
        item->dimensions = tensor->dimensions;
        for (size_t d = 0; d < tensor->dimensions; d++)
            item->shape[d] = tensor->shape[d];
    }
    add_samples(&manifest, MANIFEST_ITEMS_MOST - 2, "training samples", run->train.count);
    add_samples(&manifest, MANIFEST_ITEMS_MOST - 1, "test samples", run->test.count);
    return manifest;
}

/* "fc1.weight (64, 100)", "1438 training samples" */
static void describe(const struct manifest_item *item, char text[ITEM_BYTES])
{
    unsigned long long out = item->shape[0], in = item->shape[1];
    int length = (int)sizeof item->name; // it may come from another rank
    if (item->name[0] == '\0')
        snprintf(text, ITEM_BYTES, "nothing");
    else if (item->dimensions == 0)
        snprintf(text, ITEM_BYTES, "%llu %.*s", out, length, item->name);
    else if (item->dimensions == 1)
        snprintf(text, ITEM_BYTES, "%.*s (%llu)", length, item->name, out);
    else
        snprintf(text, ITEM_BYTES, "%.*s (%llu, %llu)", length, item->name, out, in);
}

bool manifest_difference(const struct manifest *rank_0s, const struct manifest *other, int rank,
                         char text[MANIFEST_TEXT_BYTES])
{
    size_t i = 0;
    while (i < MANIFEST_ITEMS_MOST &&
           memcmp(&rank_0s->items[i], &other->items[i], sizeof rank_0s->items[i]) == 0)
        i++;
    if (i == MANIFEST_ITEMS_MOST)
        return false;
    char expected[ITEM_BYTES], found[ITEM_BYTES];
    describe(&rank_0s->items[i], expected);
    describe(&other->items[i], found);
    snprintf(text, MANIFEST_TEXT_BYTES, "rank %d has %s where rank 0 has %s", rank, found,
             expected);
    return true;
}

/* The first rank whose hash is not rank 0's, or 0: there is none. */
static int first_that_differs(struct comm *comm, const struct manifest *mine, int *rank)
{
    uint64_t hashes[ENVIRONMENT_WORLD_MOST];
    int world = comm_world(comm);
    hashes[comm_rank(comm)] = compare_hash(mine, sizeof *mine);
    int error = direct_all_gather(comm, hashes, (size_t)world, COMM_I64);
    *rank = 0;
    for (int i = world - 1; i > 0 && !error; i--)
        if (hashes[i] != hashes[0])
            *rank = i;
    return error;
}

int manifest_compare(struct run *run, struct comm *comm)
{
    struct manifest mine = manifest_of(run), rank_0s = mine, other = mine;
    char text[MANIFEST_TEXT_BYTES];
    int rank;
    int error = first_that_differs(comm, &mine, &rank);
    if (error || rank == 0)
        return error;
    error = ring_broadcast(comm, &rank_0s, sizeof rank_0s, COMM_U8, 0);
    if (!error)
        error = ring_broadcast(comm, &other, sizeof other, COMM_U8, rank);
    if (error)
        return error;
    manifest_difference(&rank_0s, &other, rank, text);
    return fail_set(&run->fail, -EINVAL, "%s: is --data the same on every rank?", text);
}
