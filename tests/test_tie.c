/* One weight in several layers: one tensor, ready after its last use, reduced and updated once. */
#include "lesson01_single/tie.h"
#include "lesson01_single/activations.h"
#include "lesson01_single/optimizer.h"
#include "lesson03_ddp/ddp.h"
#include "tests/inside.h"
#include "tests/heard.h"
#include "tests/suites.h"

#include <check.h>
#include <errno.h>
#include <string.h>

enum { LAYERS = 5 };
static const size_t widths[LAYERS + 1] = {8, 4, 4, 4, 4, 2};

static int read_tie(const char *text, size_t *weight_from, struct fail *fail)
{
    return tie_read(text, widths, LAYERS, weight_from, fail);
}

START_TEST(a_layer_uses_the_weight_it_is_tied_to)
{
    static const struct {
        const char *text;
        size_t weight_from[LAYERS];
    } rows[] = {
        {NULL, {0, 1, 2, 3, 4}},
        {"fc3=fc2", {0, 1, 1, 3, 4}},
        {"fc2=fc3", {0, 2, 2, 3, 4}},
        {"fc3=fc2,fc4=fc2", {0, 1, 1, 1, 4}},
    };
    size_t found[LAYERS];
    struct fail fail = {0};
    ck_assert_int_eq(read_tie(rows[_i].text, found, &fail), 0);
    for (size_t i = 0; i < LAYERS; i++)
        ck_assert_uint_eq(found[i], rows[_i].weight_from[i]);
}
END_TEST

START_TEST(what_cannot_be_one_weight_is_refused)
{
    static const struct {
        const char *text, *words;
    } rows[] = {
        {"fc2=fc1", "fc2's weight is (4, 4) and fc1's is (4, 8): only one shape can be one weight"},
        {"fc5=fc4", "fc5's weight is (2, 4) and fc4's is (4, 4)"},
        {"fc3", "--tie: expected fcA=fcB[,...]"},
        {"", "layers fc1 to fc5; found ''"},
        {"fc3=", "found 'fc3='"},
        {"fc3=fc2,", "found ''"},
        {"fc6=fc2", "found 'fc6=fc2'"},
        {"fc0=fc2", "found 'fc0=fc2'"},
        {"fc03=fc2", "found 'fc03=fc2'"},
        {"fc3=fc2=fc2", "found 'fc3=fc2=fc2'"},
        {"fc3=fc3", "fc3 uses fc3's weight already"},
        {"fc3=fc2,fc3=fc4", "fc3 uses fc2's weight already"},
        {"fc3=fc2,fc4=fc3", "fc3 has no weight of its own, it uses fc2's: name that one"},
        {"fc3=fc2,fc2=fc4", "fc2's weight is used by fc3: let that one use fc4's too"},
    };
    size_t found[LAYERS];
    struct fail fail = {0};
    ck_assert_int_eq(read_tie(rows[_i].text, found, &fail), -EINVAL);
    ck_assert_msg(strstr(fail.text, rows[_i].words) != NULL, "%s", fail.text);
}
END_TEST

static void plan(struct model *model, const char *text)
{
    size_t weight_from[LAYERS];
    struct fail fail = {0};
    ck_assert_int_eq(read_tie(text, weight_from, &fail), 0);
    model_plan_tied(model, widths, LAYERS, true, weight_from);
}

START_TEST(a_tied_weight_is_registered_once)
{
    static const char *const names[] = {"fc1.weight", "fc1.bias",   "fc2.weight",
                                        "fc2.bias",   "fc3.bias",   "fc4.weight",
                                        "fc4.bias",   "fc5.weight", "fc5.bias"};
    struct model model;
    plan(&model, "fc3=fc2");
    ck_assert_uint_eq(model.tensor_count, 9);
    for (size_t i = 0; i < 9; i++)
        ck_assert_str_eq(model.tensors[i].name, names[i]);
    ck_assert_uint_eq(model.count, 32 + 4 + 16 + 4 + 4 + 16 + 4 + 8 + 2);
    ck_assert_ptr_eq(model_weight(&model, 2), model_weight(&model, 1));
    ck_assert_uint_eq(model_weight(&model, 2)->uses, 2);
    ck_assert_str_eq(model_bias(&model, 2)->name, "fc3.bias");
}
END_TEST

/* Whichever layer it is registered for, it comes after the lower of the two. */
START_TEST(a_tied_weight_is_announced_once_after_its_last_use)
{
    static const struct {
        const char *text;
        const char *order[9];
    } rows[] = {
        {"fc3=fc2",
         {"fc5.bias", "fc5.weight", "fc4.bias", "fc4.weight", "fc3.bias", "fc2.bias", "fc2.weight",
          "fc1.bias", "fc1.weight"}},
        {"fc2=fc4",
         {"fc5.bias", "fc5.weight", "fc4.bias", "fc3.bias", "fc3.weight", "fc2.bias", "fc4.weight",
          "fc1.bias", "fc1.weight"}},
    };
    struct heard heard = {0};
    struct model_listener listener = heard_listener(&heard);
    struct activations activations;
    struct memory memory = {0};
    struct model model;
    struct pass pass = {.rows = 1};
    float param[128] = {0}, grad[128] = {0};
    plan(&model, rows[_i].text);
    ck_assert_int_eq(activations_init(&activations, &model, 1, &memory), 0);
    model_forward(&model, param, &activations, &pass);
    model_backward(&model, param, &activations, &pass, grad, &listener);
    ck_assert_uint_eq(heard.count, 9);
    for (size_t i = 0; i < 9; i++)
        ck_assert_str_eq(model.tensors[heard.tensors[i]].name, rows[_i].order[i]);
    activations_release(&activations, &model, &memory);
}
END_TEST

/* y = w h, h = w x, dy at hand: dw = dy h + (dy w) x. Backward sees w = 1, so that x and h are what
 * each use contributes. */
struct one_weight {
    struct model model;
    struct activations activations;
    struct memory memory;
};

static int open_one_weight(struct one_weight *one, float x, float h, float dy)
{
    static const size_t ones[3] = {1, 1, 1}, first[2] = {0, 0};
    *one = (struct one_weight){0};
    model_plan_tied(&one->model, ones, 2, false, first);
    int error = activations_init(&one->activations, &one->model, 1, &one->memory);
    if (error)
        return error;
    one->activations.a[0][0] = x;
    one->activations.a[1][0] = h;
    one->activations.a[2][0] = dy;
    return 0;
}

START_TEST(the_gradient_is_the_sum_over_the_uses)
{
    static const float w = 1;
    struct one_weight one;
    struct pass pass = {.rows = 1};
    struct model_listener nobody = {0};
    float grad = 0;
    ck_assert_int_eq(open_one_weight(&one, 3, 2, 1), 0);
    model_backward(&one.model, &w, &one.activations, &pass, &grad, &nobody);
    ck_assert(grad == 5);
    activations_release(&one.activations, &one.model, &one.memory);
}
END_TEST

/* Contributions 2 and 3 on rank 0, 6 and 7 on rank 1, from samples that weigh 1/2. */
static int used_twice_body(struct ranks_self *self)
{
    static const float seen = 1;
    struct inside inside;
    struct one_weight one = {0};
    struct ddp ddp = {0};
    struct pass pass = {.rows = 1};
    float x = self->rank ? 7 : 3, h = self->rank ? 6 : 2, w = 0, grad = 0;
    struct slice whole = {.begin = 0, .count = 1};
    struct optimizer optimizer = {0};
    int wrong = inside_open(&inside, self, 3, "--momentum 0") || open_one_weight(&one, x, h, 0.5f);
    inside.run.model = one.model;
    ddp.grad = &grad;
    ddp.reduce = ddp_allreduce;
    wrong = wrong || ddp_init_over(&ddp, &inside.run, self->comm, &inside.run.memory);
    if (!wrong) {
        struct model_listener listener = ddp_listener(&ddp);
        ddp_begin(&ddp);
        model_backward(&one.model, &seen, &one.activations, &pass, &grad, &listener);
        wrong = ddp_wait(&ddp, &self->fail) ||
                optimizer_init(&optimizer, &inside.run.options, &one.model, &whole, 1, &one.memory);
    }
    if (!wrong) {
        optimizer_step(&optimizer, &w, &grad, (struct rate){.lr = 0.1f, .clip = 1});
        wrong = ranks_expect(self, grad == 9, "the gradient is %g", (double)grad) ||
                ranks_expect(self, w == -0.1f * 9, "the weight is %g", (double)w) ||
                ranks_expect(self, ddp.plan.count == 1 && ddp.seen.count == 1, "not one tensor");
    }
    ddp_stop(&ddp);
    optimizer_release(&optimizer);
    activations_release(&one.activations, &one.model, &one.memory);
    inside_close(&inside);
    return wrong ? 1 : 0;
}

START_TEST(a_parameter_used_twice_is_reduced_once_after_both_uses_and_updated_once)
{
    struct ranks_result result;
    ranks_run(2, used_twice_body, NULL, &result);
    ranks_assert_ok(&result);
}
END_TEST

Suite *tie_suite(void)
{
    Suite *suite = suite_create("tie");
    TCase *tcase = tcase_create("tie");
    tcase_add_loop_test(tcase, a_layer_uses_the_weight_it_is_tied_to, 0, 4);
    tcase_add_loop_test(tcase, what_cannot_be_one_weight_is_refused, 0, 14);
    tcase_add_test(tcase, a_tied_weight_is_registered_once);
    tcase_add_loop_test(tcase, a_tied_weight_is_announced_once_after_its_last_use, 0, 2);
    tcase_add_test(tcase, the_gradient_is_the_sum_over_the_uses);
    tcase_add_test(tcase, a_parameter_used_twice_is_reduced_once_after_both_uses_and_updated_once);
    suite_add_tcase(suite, tcase);
    return suite;
}
