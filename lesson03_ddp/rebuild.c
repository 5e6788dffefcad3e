/* rebuild: buckets planned anew, in the order gradients really became ready. See the header. */
#include "lesson03_ddp/rebuild.h"
#include "lesson02_allreduce/ring.h"

#include <assert.h>

/* The same tensors take part on every rank, so the counts are equal. */
static int take_rank_0s(struct bucket_order *order, struct comm *comm)
{
    int64_t tensors[MODEL_TENSORS_MOST];
    for (size_t i = 0; i < order->count; i++)
        tensors[i] = (int64_t)order->tensors[i];
    int error = ring_broadcast(comm, tensors, order->count, COMM_I64, 0);
    for (size_t i = 0; i < order->count && !error; i++)
        order->tensors[i] = (size_t)tensors[i];
    return error;
}

static void say(const struct run *run, const struct bucket_plan *before,
                const struct bucket_plan *now)
{
    const struct tensor *tensors = run->model.tensors;
    size_t moved = 0, first = 0; // tensors in another place, and the first such place
    for (size_t i = now->order.count; i-- > 0;)
        if (now->order.tensors[i] != before->order.tensors[i]) {
            moved++;
            first = i;
        }
    if (moved == 0)
        fprintf(run->proof.out, "buckets: gradients became ready in the reverse order of "
                                "registration, as planned: nothing changes\n");
    else
        fprintf(run->proof.out,
                "buckets %s in the order gradients became ready: %s was number %zu, not %s; %zu of "
                "%zu tensors moved; %zu bucket%s, before %zu\n",
                bucket_plan_same(before, now) ? "stay as they are" : "rebuilt",
                tensors[now->order.tensors[first]].name, first + 1,
                tensors[before->order.tensors[first]].name, moved, now->order.count, now->count,
                now->count == 1 ? "" : "s", before->count);
}

int rebuild(struct ddp *ddp, struct run *run)
{
    if (ddp->rebuilt)
        return 0;
    struct bucket_plan before = ddp->plan;
    struct bucket_order order = ddp->seen;
    assert(order.count == ddp->plan.order.count); // or ddp_wait had failed
    int error = take_rank_0s(&order, ddp->comm);
    if (error)
        return error;
    ddp_plan(ddp, run, &order);
    ddp->rebuilt = true;
    if (run->environment.rank > 0 || run->options.quiet)
        return 0;
    progress_clear(&run->progress);
    say(run, &before, &ddp->plan);
    return 0;
}
