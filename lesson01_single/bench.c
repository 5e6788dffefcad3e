/* bench: how much of the machine's matrix multiply does training reach? See the header. */
#include "lesson01_single/bench.h"
#include "common/clock.h"
#include "common/rng.h"
#include "common/statistics.h"
#include "lesson01_single/matmul.h"
#include "lesson01_single/optimizer.h"
#include "lesson01_single/trainer.h"

#include <errno.h>

enum { SAMPLES = 2048, FEATURES = 784, CLASSES = 10, SQUARE = 1024, ROUNDS = 5 };

static const double ROUND_SECONDS = 0.3;

struct network {
    size_t widths[MODEL_LAYERS_MOST + 1], layers, batch;
};

static const struct network networks[] = {
    {{FEATURES, 128, 64, CLASSES}, 3, 64},
    {{FEATURES, 512, 256, CLASSES}, 3, 128},
    {{FEATURES, 1024, 1024, 1024, CLASSES}, 4, 256},
};

/* Everything a round needs, taken once. */
struct bench {
    struct memory memory;
    struct options options;
    struct fail *fail;
    struct dataset dataset;
    struct sampler sampler;
    struct model model;
    struct slice whole;
    struct trainer trainer;
    struct optimizer optimizer;
    float *param, *grad;
    size_t step;
    float *a, *b, *c; // (SQUARE, SQUARE)
};

/* Multiplications and additions of one sample: forward, dW, and dx but for the first layer. */
static double operations_of(const struct network *network)
{
    double sum = 0;
    for (size_t layer = 0; layer < network->layers; layer++) {
        double one = 2 * (double)network->widths[layer] * (double)network->widths[layer + 1];
        sum += layer == 0 ? 2 * one : 3 * one;
    }
    return sum;
}

static void fill(float *array, size_t count)
{
    struct rng rng = {.seed = 1, .stream = RNG_BENCH};
    for (size_t i = 0; i < count; i++)
        array[i] = rng_uniform(&rng, i);
}

static int open_data(struct bench *bench)
{
    struct dataset *data = &bench->dataset;
    *data = (struct dataset){.count = SAMPLES, .width = FEATURES, .outputs = CLASSES};
    size_t features = (size_t)SAMPLES * FEATURES, square = (size_t)SQUARE * SQUARE;
    data->memory = &bench->memory;
    data->features = memory_floats(&bench->memory, MEMORY_BUFFERS, features);
    data->labels = (int32_t *)(void *)memory_floats(&bench->memory, MEMORY_BUFFERS, SAMPLES);
    bench->a = memory_floats(&bench->memory, MEMORY_OTHER, square);
    bench->b = memory_floats(&bench->memory, MEMORY_OTHER, square);
    bench->c = memory_floats(&bench->memory, MEMORY_OTHER, square);
    if (!data->features || !data->labels || !bench->a || !bench->b || !bench->c)
        return -ENOMEM;
    fill(data->features, features);
    fill(bench->a, square);
    fill(bench->b, square);
    for (size_t i = 0; i < SAMPLES; i++)
        data->labels[i] = (int32_t)(i % CLASSES);
    return 0;
}

static void close_data(struct bench *bench)
{
    size_t square = (size_t)SQUARE * SQUARE;
    memory_return(&bench->memory, MEMORY_OTHER, bench->a, square);
    memory_return(&bench->memory, MEMORY_OTHER, bench->b, square);
    memory_return(&bench->memory, MEMORY_OTHER, bench->c, square);
    dataset_release(&bench->dataset);
}

static int open_network(struct bench *bench, const struct network *network)
{
    bench->options.batch = network->batch;
    model_plan(&bench->model, network->widths, network->layers, true);
    bench->whole = (struct slice){.count = bench->model.count};
    bench->param = memory_floats(&bench->memory, MEMORY_PARAMETERS, bench->model.count);
    bench->grad = memory_floats(&bench->memory, MEMORY_GRADIENTS, bench->model.count);
    if (!bench->param || !bench->grad)
        return -ENOMEM;
    model_init_he(&bench->model, bench->param, 1);
    int error =
        sampler_init(&bench->sampler, SAMPLES, &bench->options, &bench->memory, bench->fail);
    struct trainer like = {
        .model = &bench->model,
        .dataset = &bench->dataset,
        .sampler = &bench->sampler,
        .world = 1,
        .param = bench->param,
        .grad = bench->grad,
    };
    if (!error)
        error = trainer_init(&bench->trainer, &like, network->batch, &bench->memory);
    if (!error)
        error = optimizer_init(&bench->optimizer, &bench->options, &bench->model, &bench->whole, 1,
                               &bench->memory);
    return error;
}

static void close_network(struct bench *bench)
{
    optimizer_release(&bench->optimizer);
    trainer_release(&bench->trainer);
    sampler_release(&bench->sampler);
    memory_return(&bench->memory, MEMORY_PARAMETERS, bench->param, bench->model.count);
    memory_return(&bench->memory, MEMORY_GRADIENTS, bench->grad, bench->model.count);
}

/* Samples per second of one round. */
static double train(struct bench *bench)
{
    double began = clock_seconds(), seconds = 0;
    size_t samples = 0;
    while (seconds < ROUND_SECONDS) {
        struct step step = sampler_step(&bench->sampler, bench->step++);
        trainer_gradient(&bench->trainer, &step);
        optimizer_step(&bench->optimizer, bench->param, bench->grad,
                       (struct rate){.lr = 0.01f, .clip = 1});
        samples += step.samples.count;
        seconds = clock_seconds() - began;
    }
    return (double)samples / seconds;
}

/* Operations per second of one round of sgemm. */
static double multiply(struct bench *bench)
{
    double began = clock_seconds(), seconds = 0, operations = 0;
    while (seconds < ROUND_SECONDS) {
        matmul_nn(bench->c, bench->a, bench->b,
                  (struct matmul_shape){.m = SQUARE, .n = SQUARE, .k = SQUARE});
        operations += 2.0 * SQUARE * SQUARE * SQUARE;
        seconds = clock_seconds() - began;
    }
    return operations / seconds;
}

static void measure(struct bench *bench, const struct network *network, FILE *out)
{
    double speeds[ROUNDS], rates[ROUNDS], shares[ROUNDS];
    train(bench);
    multiply(bench);
    for (int round = 0; round < ROUNDS; round++) {
        speeds[round] = train(bench);
        rates[round] = multiply(bench);
        shares[round] = speeds[round] * operations_of(network) / rates[round];
    }
    char name[64];
    int at = 0;
    for (size_t i = 0; i <= network->layers; i++)
        at += snprintf(name + at, sizeof name - (size_t)at, "%s%zu", i ? "-" : "",
                       network->widths[i]);
    fprintf(out, "| %-22s | %5zu | %9.0f | %7.1f | %7.1f | %5.0f %% |\n", name, network->batch,
            statistics_median(speeds, ROUNDS),
            statistics_median(speeds, ROUNDS) * operations_of(network) / 1e9,
            statistics_median(rates, ROUNDS) / 1e9, 100 * statistics_median(shares, ROUNDS));
}

int bench_training(FILE *out, struct fail *fail)
{
    struct bench bench = {.fail = fail};
    bench.options = (struct options){.accumulate = 1, .epochs = 1, .momentum = 0.9};
    int error = open_data(&bench);
    fprintf(out,
            "training, alternating with sgemm of 1024 x 1024; medians of %d rounds\n"
            "| network                | batch | samples/s | GFLOP/s |   sgemm |   share |\n",
            ROUNDS);
    for (size_t i = 0; i < sizeof networks / sizeof *networks && !error; i++) {
        error = open_network(&bench, &networks[i]);
        if (!error)
            measure(&bench, &networks[i], out);
        close_network(&bench);
    }
    close_data(&bench);
    return error ? fail_set(fail, error, "no memory for the benchmark") : 0;
}
