/* dumpdiff: one step of two dumps, kind by kind. See the header. */
#include "common/dumpdiff.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A kind as one pair of ranks sees it: slices of its tensors, end to end in one vector. */
struct view {
    const struct dumptensor *tensors;
    size_t tensor_count;
    size_t rank;
    struct slice *slices; // (tensor_count)
    size_t count;         // elements of all slices
    bool part;            // some slice is not the whole tensor

    size_t room; // elements of all whole tensors: what the vectors hold
    float *expected, *found, *before;
    double *bounds;
};

/* --- do the sides match? --------------------------------------------------------------------- */

static int match_tensor(const struct dumpdiff_sides *sides, const struct dumptensor *a,
                        const struct dumptensor *b, struct fail *fail)
{
    const char *name = a->name;
    if (a->count != b->count)
        return fail_set(fail, -EINVAL, "step %zu: %s has %zu elements in %s, %zu in %s",
                        sides->a->step, name, a->count, sides->a->set->folder, b->count,
                        sides->b->set->folder);
    bool known = !a->sharded && !b->sharded; // parts are flat
    if (known &&
        (a->dimensions != b->dimensions || memcmp(a->shape, b->shape, sizeof a->shape) != 0))
        return fail_set(fail, -EINVAL,
                        "step %zu: %s has another shape in %s than in %s, of as many elements",
                        sides->a->step, name, sides->a->set->folder, sides->b->set->folder);
    return 0;
}

static int only_one_side(const struct dumpstep *has, const struct dumpstep *lacks, const char *name,
                         struct fail *fail)
{
    return fail_set(fail, -EINVAL, "step %zu: %s is in %s, but not in %s", has->step, name,
                    has->set->folder, lacks->set->folder);
}

int dumpdiff_match(const struct dumpdiff_sides *sides, struct fail *fail)
{
    const struct dumpstep *a = sides->a, *b = sides->b;
    for (size_t i = 0; i < a->count; i++) {
        const struct dumptensor *other = dumpstep_find(b, a->tensors[i].name);
        if (!other)
            return only_one_side(a, b, a->tensors[i].name, fail);
        int status = match_tensor(sides, &a->tensors[i], other, fail);
        if (status)
            return status;
    }
    for (size_t i = 0; i < b->count; i++)
        if (!dumpstep_find(a, b->tensors[i].name))
            return only_one_side(b, a, b->tensors[i].name, fail);
    return 0;
}

/* --- a view ---------------------------------------------------------------------------------- */

static bool same_kind(const struct dumptensor *left, const struct dumptensor *right)
{
    size_t length = dumptensor_kind_length(left);
    return dumptensor_kind_length(right) == length && strncmp(left->name, right->name, length) == 0;
}

static int view_init(struct view *view, const struct dumpstep *a, size_t first)
{
    *view = (struct view){.tensors = &a->tensors[first]};
    for (size_t i = first; i < a->count && same_kind(&a->tensors[first], &a->tensors[i]); i++) {
        view->tensor_count++;
        view->room += a->tensors[i].count;
    }
    size_t room = view->room + 1; // never an allocation of 0
    view->slices = calloc(view->tensor_count + 1, sizeof *view->slices);
    view->expected = calloc(room, sizeof *view->expected);
    view->found = calloc(room, sizeof *view->found);
    view->before = calloc(room, sizeof *view->before);
    view->bounds = calloc(room, sizeof *view->bounds);
    bool all = view->slices && view->expected && view->found && view->before && view->bounds;
    return all ? 0 : -ENOMEM;
}

static void view_release(struct view *view)
{
    free(view->slices);
    free(view->expected);
    free(view->found);
    free(view->before);
    free(view->bounds);
    *view = (struct view){0};
}

static void view_aim(struct view *view, const struct dumpdiff_sides *sides, size_t rank)
{
    const struct dumpstep *holder = rank < sides->b->set->world ? sides->b : sides->a;
    view->rank = rank;
    view->count = 0;
    view->part = false;
    for (size_t i = 0; i < view->tensor_count; i++) {
        view->slices[i] = dumpstep_held(holder, rank, view->tensors[i].name);
        view->count += view->slices[i].count;
        view->part |= view->slices[i].count != view->tensors[i].count;
    }
}

static size_t rank_on(const struct dumpstep *side, size_t rank)
{
    return rank < side->set->world ? rank : 0;
}

static int gather(const struct view *view, const struct dumpstep *side, float *values,
                  struct fail *fail)
{
    for (size_t i = 0, at = 0; i < view->tensor_count; at += view->slices[i++].count) {
        int status = dumpstep_read(side, rank_on(side, view->rank), view->tensors[i].name,
                                   view->slices[i], values + at, fail);
        if (status)
            return status;
    }
    return 0;
}

/* The bound of an element is relative to the whole tensor it is of, also where a rank holds a
 * part. Values that are not finite are left out: they fail by themselves. */
static int set_bounds(struct view *view, const struct dumpdiff_sides *sides, struct fail *fail)
{
    for (size_t i = 0, at = 0; sides->bounded && i < view->tensor_count; i++) {
        const struct dumptensor *tensor = &view->tensors[i];
        float *values = view->found; // not in use yet
        double largest = 0;
        int status = dumpstep_read(sides->a, rank_on(sides->a, view->rank), tensor->name,
                                   (struct slice){0, tensor->count}, values, fail);
        if (status)
            return status;
        for (size_t k = 0; k < tensor->count; k++)
            if (isfinite(values[k]))
                largest = fmax(largest, fabs((double)values[k]));
        for (size_t k = 0; k < view->slices[i].count; k++)
            view->bounds[at++] = sides->tolerance * largest;
    }
    return 0;
}

/* --- the first divergence -------------------------------------------------------------------- */

/* The tensor that element `at` of the vector is of; *begin is where it begins in the vector. */
static size_t tensor_at(const struct view *view, size_t at, size_t *begin)
{
    size_t i = 0;
    *begin = 0;
    while (at - *begin >= view->slices[i].count)
        *begin += view->slices[i++].count;
    return i;
}

/* The step before may lack a tensor, or hold another by the same name: then nothing is known. */
static bool gather_before(const struct view *view, const struct dumpstep *before)
{
    struct fail ignored = {0};
    for (size_t i = 0; before && i < view->tensor_count; i++) {
        const struct dumptensor *tensor = dumpstep_find(before, view->tensors[i].name);
        if (!tensor || tensor->count != view->tensors[i].count)
            return false;
    }
    return before && gather(view, before, view->before, &ignored) == 0;
}

static void name_divergence(struct dumpdiff *diff, const struct view *view,
                            const struct dumpdiff_sides *sides, const struct compare *compare)
{
    size_t begin, i = tensor_at(view, compare->first, &begin);
    diff->step = sides->a->step;
    diff->rank = view->rank;
    diff->element = view->slices[i].begin + compare->first - begin;
    memcpy(diff->tensor, view->tensors[i].name, sizeof diff->tensor);
    diff->a_value = compare->left;
    diff->b_value = compare->right;

    size_t a_world = sides->a->set->world, b_world = sides->b->set->world;
    struct locate locate = {.found = view->found,
                            .expected = view->expected,
                            .before = gather_before(view, sides->before) ? view->before : NULL,
                            .count = view->count,
                            .world = b_world > 1 ? b_world : a_world,
                            .part = view->part};
    locate_cause(&locate, diff->cause);
    if (strcmp(diff->cause, "no usual cause fits") != 0 || view->tensor_count == 1)
        return;
    diff->cause_of_tensor = true;
    locate.found += begin;
    locate.expected += begin;
    locate.before = locate.before ? locate.before + begin : NULL;
    locate.count = view->slices[i].count;
    locate.part = true; // chunks are cut from the whole vector, not from one tensor
    locate_cause(&locate, diff->cause);
}

/* --- comparing ------------------------------------------------------------------------------- */

static void add(struct compare *total, const struct compare *compare)
{
    total->count += compare->count;
    total->different += compare->different;
    total->largest = fmax(total->largest, compare->largest);
    total->largest_share = fmax(total->largest_share, compare->largest_share);
}

static int compare_rank(struct view *view, const struct dumpdiff_sides *sides, size_t rank,
                        struct dumpdiff *diff, struct fail *fail)
{
    struct compare compare = {0};
    view_aim(view, sides, rank);
    int status = set_bounds(view, sides, fail);
    if (!status)
        status = gather(view, sides->a, view->expected, fail);
    if (!status)
        status = gather(view, sides->b, view->found, fail);
    if (status)
        return status;
    if (sides->bounded)
        compare_bounded(&compare, view->expected, view->found, view->bounds, view->count);
    else
        compare_bits(&compare, view->expected, view->found, view->count);
    if (diff->total.different == 0 && !compare_equal(&compare))
        name_divergence(diff, view, sides, &compare);
    add(&diff->total, &compare);
    return 0;
}

int dumpdiff_kind(const struct dumpdiff_sides *sides, size_t first, size_t *next,
                  struct dumpdiff *diff, struct fail *fail)
{
    const struct dumpstep *a = sides->a, *b = sides->b;
    struct view view;
    *diff =
        (struct dumpdiff){.ranks = a->set->world > b->set->world ? a->set->world : b->set->world};
    int status = view_init(&view, a, first);
    if (status)
        fail_set(fail, status, "out of memory while comparing %s", a->tensors[first].name);
    memcpy(diff->kind, view.tensors->name, dumptensor_kind_length(view.tensors));
    diff->tensors = view.tensor_count;
    for (size_t i = 0; i < view.tensor_count; i++)
        diff->sharded |= view.tensors[i].sharded || dumpstep_find(b, view.tensors[i].name)->sharded;
    for (size_t rank = 0; !status && rank < diff->ranks; rank++)
        status = compare_rank(&view, sides, rank, diff, fail);
    *next = first + view.tensor_count;
    view_release(&view);
    return status;
}
