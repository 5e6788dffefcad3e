/* tasks: the table. See the header. */
#include "common/course/tasks.h"

#include <string.h>

const struct task tasks[TASKS] = {
    {"01.1", 1, "softmax and cross-entropy, backward", "lesson01_single/loss.c", "loss", {0}},
    {"01.2", 1, "a dense layer, backward", "lesson01_single/layer.c", "layer", {0}},
    {"01.3", 1, "SGD with momentum", "lesson01_single/optimizer.c", "optimizer", {0}},
    {"01.4", 1, "Adam and AdamW", "lesson01_single/optimizer.c", "optimizer", {0}},
    {"01.5", 1, "the sampler", "common/sampler.c common/slice.c", "sampler slice", {0}},
    {"02.1", 2, "chunks", "lesson02_allreduce/collective.c", "pieces ring", {0}},
    {"02.2", 2, "hello", "lesson02_allreduce/wire.c", "wire", {0}},
    {"02.3", 2, "short reads and writes", "lesson02_allreduce/link.c", "short_io", {0}},
    {"02.4", 2, "reduce-scatter", "lesson02_allreduce/ring.c", "ring", {0}},
    {"02.5", 2, "all-gather", "lesson02_allreduce/ring.c", "ring", {0}},
    {"02.6",
     2,
     "the ring, in the step",
     "lesson02_allreduce/ring.c lesson02_allreduce/main.c",
     "ring stairs",
     {0}},
    {"03.1", 3, "the bucket plan", "lesson03_ddp/bucket.c", "bucket", {0}},
    {"03.2", 3, "counting down to ready", "lesson03_ddp/ddp.c", "ddp", {0}},
    {"03.3", 3, "the worker's queue", "lesson03_ddp/worker.c", "worker", {0}},
    {"03.4", 3, "accumulation", "lesson01_single/trainer.c", "accumulate", {0}},
    {"04.1", 4, "who owns what", "lesson04_zero/shard.c", "shares zero", {0}},
    {"04.2", 4, "the sharded step", "lesson04_zero/zero.c", "zero", {0}},
    {"04.3", 4, "the norm over shards", "lesson04_zero/zero_norm.c", "norm zero", {0}},
    {"04.4", 4, "stage 2: gradients let go", "lesson04_zero/zero2.c", "zero", {0}},
    {"04.5", 4, "stage 3: parameters gathered", "lesson04_zero/zero3.c", "zero", {0}},
};

const struct task *task_find(const char *id)
{
    for (size_t i = 0; i < TASKS; i++)
        if (strcmp(tasks[i].id, id) == 0)
            return &tasks[i];
    return NULL;
}
