/* tasks: the table. See the header. */
#include "common/course/tasks.h"

#include <string.h>

const struct task tasks[TASKS] = {
    {"01.1",
     1,
     "softmax and cross-entropy, backward",
     "lesson01_single/loss.c",
     "loss",
     {"Write the softmax p of three numbers down by hand, and the loss -log p[label]. "
      "Differentiate the loss by each z: most of it cancels.",
      "dz[i] = p[i] - (i == label ? 1 : 0), times weight. exp() overflows near z = 89: what may be "
      "subtracted from all z without changing p?",
      "Take the largest z off each, sum the exponentials, keep z[label] - largest before you "
      "overwrite z; the loss is log(sum) minus that. It is returned without the weight."}},
    {"01.2",
     1,
     "a dense layer, backward",
     "lesson01_single/layer.c",
     "layer",
     {"Give each matrix its shape: x (rows, in), w (out, in), y and dy (rows, out). Which products "
      "have dw's shape (out, in), and which dx's (rows, in)?",
      "dw = dy^T x, dx = dy w, db sums dy over its rows. matmul.h has three products: the letters "
      "say which side is transposed. Two of the three add to what is there: why must dw?",
      "matmul_tn(dw, dy, x, product(out, in, rows, shape)); matmul_nn(dx, dy, w, product(rows, in, "
      "out, shape)); db[i] += dy[row * out + i]. ReLU lets dy through where y > 0, and makes it 0 "
      "elsewhere."}},
    {"01.3",
     1,
     "SGD with momentum",
     "lesson01_single/optimizer.c",
     "optimizer",
     {"The rule stands above the function. What is the gradient that it speaks of, where rate.clip "
      "and the decay are not 1 and 0?",
      "g = grad * rate.clip + decay * w. Without momentum there is no state: run->state[0] is "
      "NULL, and w moves by lr * g at once.",
      "With a state: v[i] = momentum * v[i] + g; w[i] -= rate.lr * v[i]. The decay uses w as it "
      "was before the update. Two loops, so that each is one the compiler can vectorise."}},
    {"01.4",
     1,
     "Adam and AdamW",
     "lesson01_single/optimizer.c",
     "optimizer",
     {"Follow the three lines above the function for one weight and two updates. What is t in the "
      "first of them?",
      "t = updates - skipped + 1. The two corrections are numbers of the update, not of the "
      "element: compute them once, in double, before the loop.",
      "size = lr / (1 - b1^t), correct = 1 / sqrt(1 - b2^t), w = shrink * w - size * m / (sqrtf(v) "
      "* correct + e). Adam: g gains decay * w, shrink is 1. AdamW: g gains nothing, shrink is 1 - "
      "lr * decay."}},
    {"01.5",
     1,
     "the sampler",
     "common/sampler.c common/slice.c",
     "sampler slice",
     {"Draw 10 samples, batch 4: which samples has update 0, 1, 2? Then 3 ranks: who has how many "
      "of 4? Only the last of an epoch is short.",
      "An update begins at (index % steps_per_epoch) * window, and has what is left, at most a "
      "window. A share is slice_of() of one micro-batch, moved to where the micro-batch begins.",
      "slice_of: base = count / parts, and the first count % parts have one more, so begin = index "
      "* base + min(index, count % parts). The order depends on seed and epoch alone, never on the "
      "rank: keep it until another epoch is asked for."}},
    {"02.1",
     2,
     "chunks",
     "lesson02_allreduce/collective.c",
     "pieces ring",
     {"What is chunk -1? The ring's rounds count down, so a chunk's number may be negative, and "
      "C's % keeps the sign.",
      "(number % world + world) % world is never negative; slice_of() of common/slice.h does the "
      "rest. A part begins `from` elements into a slice, and has what is left of it, at most "
      "`most`.",
      "Where from >= slice.count, a part is empty and lies at the slice's end: left would wrap "
      "around, sizes have no sign. Else begin + from, and the smaller of count - from and most."}},
    {"02.2",
     2,
     "hello",
     "lesson02_allreduce/wire.c",
     "wire",
     {"wire.h draws the layout byte by byte. Neighbours in the file, wire_put_reply and "
      "wire_get_reply, are made of the same two helpers.",
      "put(&at, value, size) moves `at` on. Every field of the layout once, in its order; the "
      "token is copied with memcpy and `at` moved by hand. Read the same sequence back.",
      "A reader trusts nothing: the wrong magic is -EPROTO, another version -EPROTONOSUPPORT, a "
      "purpose other than JOIN and LINK -EPROTO, and so are world > ENVIRONMENT_WORLD_MOST and "
      "rank >= world. Check before you store an enum."}},
    {"02.3",
     2,
     "short reads and writes",
     "lesson02_allreduce/link.c",
     "pieces short_io",
     {"uv_try_write may take all bytes, some, or none (UV_EAGAIN). What has to be kept for later "
      "in each case, and who owns the bytes meanwhile?",
      "advance() drops what was taken from the front of the buffers: some vanish whole, one in "
      "part. The rest goes to uv_write with on_written; UV_EAGAIN means that nothing was taken, "
      "and is no error.",
      "Sum the lengths; taken = uv_try_write(...); if fewer than all, advance by max(taken, 0), "
      "set request.data = parcel, uv_write the rest and set parcel->busy when it began. Last: "
      "record(link, parcel, error), in every case."}},
    {"02.4",
     2,
     "reduce-scatter",
     "lesson02_allreduce/ring.c",
     "ring",
     {"Take the picture above ring.c and follow chunk 0: at which rank does it set out, and after "
      "how many rounds is it at home?",
      "pass() is one comm_exchange, two sides at once: to = (rank + 1) % world, from = (rank + "
      "world - 1) "
      "% world, each with its chunk's place (collective_at) and count, and `how`. Then world - 1 "
      "rounds of it with "
      "COMM_REDUCE: what came in one round goes out in the next.",
      "In round s rank r sends chunk r - 1 - s and takes chunk r - 2 - s. Stop at the first error; "
      "a vector of no elements needs no round."}},
    {"02.5",
     2,
     "all-gather",
     "lesson02_allreduce/ring.c",
     "ring",
     {"It begins where reduce-scatter ended: rank r has chunk r whole. Nothing is added any more.",
      "World - 1 rounds of pass() with COMM_STORE. What a rank sends in round s is what it got in "
      "round s - 1; in round 0 it is its own chunk.",
      "In round s rank r sends chunk r - s and takes chunk r - 1 - s. Stop at the first error; a "
      "vector of no elements needs no round."}},
    {"02.6",
     2,
     "the ring, in the step",
     "lesson02_allreduce/ring.c lesson02_allreduce/main.c",
     "ring stairs",
     {"An all-reduce is one half after the other, in one call: what does comm.h want before the "
      "first exchange, and after the last?",
      "ring_allreduce looks like its two neighbours below it, but its call is a COMM_ALLREDUCE and "
      "it begins with collective_begin_allreduce. The step's line is the one under The idea in the "
      "README.",
      "error = begin; if there is none, reduce_scatter_rounds, then all_gather_rounds; return "
      "collective_end(&ring, error). In main.c the gradient is summed in place: allreduce(comm, "
      "run->grad, run->grad, run->model.count, COMM_F32, COMM_SUM)."}},
    {"03.1",
     3,
     "the bucket plan",
     "lesson03_ddp/bucket.c",
     "bucket",
     {"Walk the tensors in the order that is given, and keep one bucket open. When does a tensor "
      "have to begin a new one?",
      "A tensor joins when there is an open bucket, it lies beside it in the slab, and both "
      "together have at most the cap. The first bucket has a cap of its own.",
      "A new bucket begins where the tensor does, with count 0. Then every tensor: begin = the "
      "smaller one, count += its own, tensors++, of_tensor = the bucket's number. Tensors outside "
      "the order keep BUCKET_NONE."}},
    {"03.2",
     3,
     "counting down to ready",
     "lesson03_ddp/ddp.c",
     "ddp",
     {"A bucket is full when none of its gradients is missing. Gradients become ready in any "
      "order, but buckets leave in theirs: why must they, on all ranks?",
      "on_ready counts down missing[bucket of the tensor]; then all full buckets from `next` on "
      "are handed over, until one is not full. Without overlap none leaves before ddp_wait.",
      "ddp_begin sets missing[i] to the bucket's tensors, forgets `ready`, `seen`, `next` and "
      "`unused`, and resets the worker. on_ready skips BUCKET_NONE, notes handed_over = next, "
      "ready, seen and the trace. A submit function, where there is one, is called in place of "
      "worker_submit."}},
    {"03.3",
     3,
     "the worker's queue",
     "lesson03_ddp/worker.c",
     "worker",
     {"One lock guards the counts, and nobody may hold it while the ring runs. Who waits for what, "
      "and who wakes them?",
      "uv_cond_wait belongs into a while loop: woken is not the same as true. The thread waits for "
      "work or for the end; worker_wait for no work; worker_wait_for until its job is finished. "
      "After an error there is no more work.",
      "work_next: take jobs[begun++ % most], broadcast, unlock, work, lock, count finished, keep "
      "the error, broadcast. submit: ticket = submitted++, store the job, broadcast. run ends when "
      "it is stopping and nothing is left."}},
    {"03.4",
     3,
     "accumulation",
     "lesson01_single/trainer.c",
     "accumulate",
     {"Two micro-batches of 4 and 2 samples are to give the gradient of all 6 at once. What does "
      "each sample weigh?",
      "Each sample weighs 1 / (samples of the whole window, on all ranks), in every micro-batch. "
      "And a sum is final only when nothing is added to it any more.",
      "weight = scale / step->samples.count. last = m + 1 == batches: the listener hears of final "
      "gradients in the last micro-batch alone, or a bucket leaves too early."}},
    {"04.1",
     4,
     "who owns what",
     "lesson04_zero/shard.c",
     "shares zero",
     {"Lesson 2's reduce-scatter leaves rank r the sum of chunk r. Who owns what follows from it, "
      "bucket by bucket.",
      "shard_chunk is slice_of() of the bucket's count, counted from its beginning; in the slab it "
      "is moved to where the bucket begins. The plan's buckets descend in the slab, the owned "
      "slices are to ascend.",
      "Walk the plan from its last bucket to its first: owned[n++] = the chunk, moved; "
      "first[bucket] = elements owned so far; then count them. A chunk of 0 elements is kept as "
      "well."}},
    {"04.2",
     4,
     "the sharded step",
     "lesson04_zero/zero.c",
     "zero",
     {"An all-reduce is a reduce-scatter and an all-gather. Which half is left for the gradients, "
      "and what does the other carry now?",
      "reduce_in_place is lesson 3's ddp_allreduce with reduce_scatter in its place, compressed or "
      "not. share_slab walks all buckets with share_bucket, over parameters.",
      "compress_reduce_scatter(&ddp->compress, ddp->comm, grad, slice), else "
      "reduce_scatter(ddp->comm, grad, slice.count, COMM_F32, COMM_SUM), at ddp->grad + "
      "slice.begin. After the buckets: comm_tag(comm, 0)."}},
    {"04.3",
     4,
     "the norm over shards",
     "lesson04_zero/zero_norm.c",
     "zero",
     {"Each rank can sum the squares of what it owns. What must all ranks know before, so that the "
      "sums are on one grid (norm.h)?",
      "First the largest |element| of all ranks, then the sums. gather_numbers brings every rank's "
      "numbers to all; a NaN must win in `larger`. `passed` counts the elements owned so far.",
      "Add over owned slices: norm_add(norm, owned_grad(zero, i, passed), count), then gather both "
      "sums and add all ranks'. Do not add your own a second time: it is among those gathered, so "
      "begin at 0."}},
    {"04.4",
     4,
     "stage 2: gradients let go",
     "lesson04_zero/zero2.c",
     "zero",
     {"A full gradient needs its buffer until its owner has the sum, and not a moment longer. Who "
      "knows when that is?",
      "submit notes what the worker is to send, forgets that the bucket is being filled, and gives "
      "the buffer away together with the job's ticket: pool_hand_over. One that nothing was added "
      "to begins as zeros.",
      "reduce runs in the worker: scatter(), then copy this rank's chunk, shard_chunk(), from "
      "sending[bucket] to grad + first[bucket]. After an error copy nothing."}},
    {"04.5",
     4,
     "stage 3: parameters gathered",
     "lesson04_zero/zero3.c",
     "zero",
     {"Two threads share the work: this one asks for a buffer and later waits; the worker fills "
      "it. In which order do all ranks gather?",
      "fetch, for each bucket asked for: pool_take, note buffers and gathering, hand it over with "
      "worker_submit of DDP_OTHER + bucket. await: pool_await what is in flight, then place() its "
      "tensors. zero3_gather: own chunk into its place, then shard_gather_bucket.",
      "A run that is about to stop (ddp->unused) submits nothing. fetch adds to `here`. "
      "zero3_gather "
      "ends with round_values, error or not."}},
};

const struct task *task_find(const char *id)
{
    for (size_t i = 0; i < TASKS; i++)
        if (strcmp(tasks[i].id, id) == 0)
            return &tasks[i];
    return NULL;
}
