/* Activations that are computed again: the same bits from less memory. */
#include "common/rng.h"
#include "lesson01_single/activations.h"
#include "lesson01_single/layer_drop.h"
#include "lesson01_single/tie.h"
#include "tests/lessons.h"
#include "tests/suites.h"
#include "tests/watched.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 3, COUNT_MOST = 4096, KS = 9 };

/* Widths that differ, so that shared arrays must fit the widest that shares them. */
static const struct {
    size_t layers, widths[MODEL_LAYERS_MOST + 1];
    const char *tie;
} networks[] = {
    {1, {4, 3}, NULL},
    {2, {4, 5, 3}, NULL},
    {3, {4, 9, 2, 3}, NULL},
    {7, {5, 6, 6, 12, 3, 6, 6, 4}, "fc6=fc2"},
    {8, {5, 5, 5, 5, 5, 5, 5, 5, 5}, "fc3=fc2,fc5=fc2"},
    {17, {3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 7, 7, 6, 6, 5, 5, 4}, NULL},
};
enum { NETWORKS = sizeof networks / sizeof *networks };

static void plan(struct model *model, size_t network)
{
    size_t weight_from[MODEL_LAYERS_MOST];
    struct fail fail = {0};
    ck_assert_int_eq(tie_read(networks[network].tie, networks[network].widths,
                              networks[network].layers, weight_from, &fail),
                     0);
    model_plan_tied(model, networks[network].widths, networks[network].layers, true, weight_from);
    ck_assert_uint_le(model->count, COUNT_MOST);
}

/* One forward and backward, with units and layers left out; returns the layers computed again. */
static size_t gradient(const struct model *model, size_t every, float *grad)
{
    static const uint32_t samples[ROWS] = {4, 0, 9};
    static const struct layer_drop drop = {.rate = 0.3, .seed = 1};
    struct pass pass = {
        .rows = ROWS,
        .dropout = {.rate = 0.3f, .seed = 2, .step = 5, .samples = samples},
        .skipped = layer_drop_skipped(&drop, model, 5, 1),
    };
    struct rng rng = {.seed = 6, .stream = RNG_TEST};
    struct model_listener nobody = {0};
    struct activations activations;
    struct memory memory = {0};
    float param[COUNT_MOST];
    model_init_he(model, param, 8);
    memset(grad, 0, model->count * sizeof *grad);
    ck_assert_int_eq(activations_init_every(&activations, model, ROWS, every, &memory), 0);
    ck_assert_uint_eq(memory.now_bytes[MEMORY_ACTIVATIONS],
                      ROWS * activations_width(model, every) * sizeof(float));
    for (size_t i = 0; i < ROWS * model->widths[0]; i++)
        activations.a[0][i] = rng_uniform(&rng, i);
    for (int micro_batch = 0; micro_batch < 2; micro_batch++) {
        model_forward(model, param, &activations, &pass);
        model_backward(model, param, &activations, &pass, grad, &nobody);
    }
    size_t recomputed = activations.recomputed;
    activations_release(&activations, model, &memory);
    ck_assert_uint_eq(memory.now_bytes[MEMORY_ACTIVATIONS], 0);
    return recomputed;
}

START_TEST(gradients_have_the_bits_of_those_from_kept_activations)
{
    struct model model;
    float kept[COUNT_MOST], again[COUNT_MOST];
    size_t every = 1 + (size_t)_i % KS;
    plan(&model, (size_t)_i / KS);
    ck_assert_uint_eq(gradient(&model, 1, kept), 0);
    gradient(&model, every, again);
    ck_assert(memcmp(kept, again, model.count * sizeof *kept) == 0);
}
END_TEST

/* Eight layers of one width: a[0] to a[8] and the two on their way down. */
START_TEST(memory_and_work_are_those_of_the_plan)
{
    static const struct {
        size_t every, arrays, recomputed; // of one pass
    } rows[] = {
        {1, 9 + 2, 0},     {2, 5 + 1 + 2, 3}, // a[1], a[3], a[5] again
        {3, 4 + 2 + 2, 4},                    // a[1], a[2], a[4], a[5]; a[7] is still there
        {4, 3 + 3 + 2, 3}, {8, 2 + 7 + 2, 0}, // nothing is shared, so nothing is lost
    };
    struct model model;
    float grad[COUNT_MOST];
    plan(&model, 4);
    ck_assert_uint_eq(activations_width(&model, rows[_i].every), 5 * rows[_i].arrays);
    ck_assert_uint_eq(gradient(&model, rows[_i].every, grad), 2 * rows[_i].recomputed);
}
END_TEST

static size_t number_after(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    ck_assert_msg(at != NULL, "no %s in %s", key, text);
    return strtoul(at + strlen(key), NULL, 10);
}

START_TEST(a_deep_run_needs_less_memory_for_the_same_bits)
{
    static const char set[] = "--hidden 32,32,32,32,32,32,32,32,32,32,32,32,32,32,32 --steps 3 "
                              "--lr 0.001 --dropout 0.1 --metrics %s.json --dump %s --recompute %d";
    char arguments[256];
    size_t bytes[2], layers[2];
    struct folder folder;
    struct program program;
    folder_open(&folder);
    for (int i = 0; i < 2; i++) {
        const char *name = i ? "again" : "kept";
        snprintf(arguments, sizeof arguments, set, name, name, i ? 4 : 1);
        lesson_ok(&folder, (struct lesson){1, 1}, arguments);
        snprintf(arguments, sizeof arguments, "tail -n 1 %s.json", name);
        program_run(&program, folder.path, arguments);
        bytes[i] = number_after(program.out, "\"activation_bytes\":");
        layers[i] = number_after(program.out, "\"recomputed_layers\":");
        program_close(&program);
    }
    lesson_dumps_equal(&folder, "kept again");
    ck_assert_uint_eq(bytes[0], 64 * (64 + 15 * 32 + 10 + 2 * 32) * sizeof(float));
    ck_assert_uint_eq(bytes[1], 64 * (64 + 3 * 32 + 10 + 3 * 32 + 2 * 32) * sizeof(float));
    ck_assert_uint_eq(layers[0], 0);
    ck_assert_uint_eq(layers[1], 3 * 9);
    folder_close(&folder);
}
END_TEST

Suite *recompute_suite(void)
{
    Suite *suite = suite_create("recompute");
    TCase *tcase = tcase_create("recompute");
    watched_add_rows(tcase, gradients_have_the_bits_of_those_from_kept_activations, NETWORKS * KS);
    tcase_add_loop_test(tcase, memory_and_work_are_those_of_the_plan, 0, 5);
    tcase_add_test(tcase, a_deep_run_needs_less_memory_for_the_same_bits);
    suite_add_tcase(suite, tcase);
    return suite;
}
