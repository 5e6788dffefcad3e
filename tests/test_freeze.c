/* A frozen tensor gets no gradient, no update and no state, and is not sent. */
#include "lesson01_single/freeze.h"
#include "lesson01_single/activations.h"
#include "lesson01_single/tie.h"
#include "tests/lessons.h"
#include "tests/heard.h"
#include "tests/suites.h"

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LAYERS = 3, COUNT = 4 * 3 + 3 + 3 * 3 + 3 + 3 * 2 + 2 };
static const size_t widths[LAYERS + 1] = {4, 3, 3, 2};

START_TEST(what_is_named_is_frozen)
{
    static const struct {
        const char *names;
        bool frozen[2 * LAYERS];
        size_t lowest, slices;
    } rows[] = {
        {NULL, {0}, 0, 1},
        {"fc1", {1, 1, 0, 0, 0, 0}, 1, 1},
        {"fc1,fc2", {1, 1, 1, 1, 0, 0}, 2, 1},
        {"fc2", {0, 0, 1, 1, 0, 0}, 0, 2},
        {"fc1.weight,fc3.bias", {1, 0, 0, 0, 0, 1}, 0, 1},
        {"fc1,fc2.bias,fc1", {1, 1, 0, 1, 0, 0}, 1, 2},
    };
    struct model model;
    struct fail fail = {0};
    struct slice slices[MODEL_TENSORS_MOST];
    model_plan(&model, widths, LAYERS, true);
    ck_assert_int_eq(freeze(&model, rows[_i].names, &fail), 0);
    ck_assert_uint_eq(model.lowest, rows[_i].lowest);
    ck_assert_uint_eq(freeze_trained(&model, slices), rows[_i].slices);
    size_t trained = 0, found = 0;
    for (size_t i = 0; i < 2 * LAYERS; i++) {
        ck_assert_msg(model.tensors[i].frozen == rows[_i].frozen[i], "%s", model.tensors[i].name);
        trained += model.tensors[i].frozen ? 0 : model.tensors[i].slice.count;
    }
    for (size_t i = 0; i < rows[_i].slices; i++)
        found += slices[i].count;
    ck_assert_uint_eq(found, trained);
}
END_TEST

START_TEST(what_is_no_tensor_is_refused_with_those_there_are)
{
    static const struct {
        const char *names, *words;
    } rows[] = {
        {"fc4", "there is no tensor fc4; there are fc1.weight, fc1.bias, fc2.weight"},
        {"fc", "there is no tensor fc; there are"},
        {"fc1.", "there is no tensor fc1.; there are"},
        {"fc1.weights", "there is no tensor fc1.weights; there are"},
        {"", "there is no tensor ; there are"},
        {"fc1,", "there is no tensor ; there are"},
        {"fc1,fc2,fc3", "--freeze fc1,fc2,fc3 leaves nothing to train"},
    };
    struct model model;
    struct fail fail = {0};
    model_plan(&model, widths, LAYERS, true);
    ck_assert_int_eq(freeze(&model, rows[_i].names, &fail), -EINVAL);
    ck_assert_msg(strstr(fail.text, rows[_i].words) != NULL, "%s", fail.text);
}
END_TEST

START_TEST(a_layer_that_has_anothers_weight_is_asked_for_that_one)
{
    static const char *const names[] = {"fc2", "fc2.weight"};
    size_t weight_from[3];
    static const size_t equal[4] = {3, 3, 3, 2};
    struct model model;
    struct fail fail = {0};
    ck_assert_int_eq(tie_read("fc2=fc1", equal, 3, weight_from, &fail), 0);
    model_plan_tied(&model, equal, 3, true, weight_from);
    ck_assert_int_eq(freeze(&model, names[_i], &fail), -EINVAL);
    ck_assert_msg(strstr(fail.text, "fc2 has no weight of its own, it uses fc1.weight (--tie): "
                                    "name that, and fc2.bias"),
                  "%s", fail.text);
}
END_TEST

/* The others' gradients are those of a model in which nothing is frozen. */
START_TEST(a_frozen_tensor_gets_no_gradient_and_is_not_announced)
{
    static const char *const names[] = {"fc1", "fc2", "fc3.bias,fc1.weight"};
    struct model model, free_model;
    struct fail fail = {0};
    struct memory memory = {0};
    struct activations activations;
    struct heard heard = {0};
    struct model_listener listener = heard_listener(&heard), nobody = {0};
    struct pass pass = {.rows = 2};
    float param[COUNT], grad[COUNT] = {0}, expected[COUNT] = {0};
    model_plan(&model, widths, LAYERS, true);
    free_model = model;
    ck_assert_int_eq(freeze(&model, names[_i], &fail), 0);
    model_init_he(&model, param, 3);
    ck_assert_int_eq(activations_init(&activations, &model, 2, &memory), 0);
    for (size_t i = 0; i < 2; i++) {
        float *to = i ? grad : expected;
        for (size_t j = 0; j < 8; j++)
            activations.a[0][j] = (float)(j + 1);
        model_forward(&model, param, &activations, &pass);
        model_backward(i ? &model : &free_model, param, &activations, &pass, to,
                       i ? &listener : &nobody);
    }
    size_t trained = 0;
    for (size_t i = 0; i < model.tensor_count; i++) {
        struct slice slice = model.tensors[i].slice;
        trained += !model.tensors[i].frozen;
        for (size_t j = slice.begin; j < slice.begin + slice.count; j++)
            ck_assert(grad[j] == (model.tensors[i].frozen ? 0 : expected[j]));
    }
    ck_assert_uint_eq(heard.count, trained);
    for (size_t i = 0; i < heard.count; i++)
        ck_assert(!model.tensors[heard.tensors[i]].frozen);
    activations_release(&activations, &model, &memory);
}
END_TEST

/* Weight decay and momentum would move it, though its gradient is 0. */
START_TEST(a_frozen_tensor_stays_as_it_is_in_every_lesson)
{
    static const char set[] = "--hidden 6 --freeze fc1 --weight-decay 0.1 --steps 4 --verify 1 "
                              "--dump d --dump-steps 4 --optimizer adam";
    struct lesson lesson = {1 + _i, _i == 0 ? 1 : 2};
    float first[64 * 6], last[64 * 6], zero[64 * 6];
    struct folder folder;
    folder_open(&folder);
    lesson_ok(&folder, lesson, set);
    lesson_read(&folder, "d/rank-0/step-000000.safetensors", "param.fc1.weight", first, 64 * 6);
    lesson_read(&folder, "d/rank-0/step-000003.safetensors", "param.fc1.weight", last, 64 * 6);
    lesson_read(&folder, "d/rank-0/step-000003.safetensors", "grad.fc1.weight", zero, 64 * 6);
    ck_assert(memcmp(first, last, sizeof first) == 0);
    for (size_t i = 0; i < 64 * 6; i++)
        ck_assert(zero[i] == 0);
    struct program program;
    program_run(&program, folder.path, "grep -c 'adam_.\\.fc1' d/rank-0/step-000003.safetensors");
    ck_assert_str_eq(program.out, "0\n"); // no state
    program_close(&program);
    folder_close(&folder);
}
END_TEST

/* Bytes that rank 0 sends in a step without verification. */
static long bytes_of_a_step(const struct folder *folder, int lesson, const char *flags)
{
    char arguments[256];
    struct program program;
    snprintf(arguments, sizeof arguments, "%s --no-verify --steps 3 --metrics m.json", flags);
    lesson_ok(folder, (struct lesson){lesson, 2}, arguments);
    program_run(&program, folder->path,
                "grep '\"step\":2,' m.rank-0.json | grep -o '\"bytes_sent\":[0-9]*'");
    const char *number = strchr(program.out, ':');
    ck_assert_msg(program.code == 0 && number, "%s%s", program.out, program.err);
    long bytes = strtol(number + 1, NULL, 10);
    program_close(&program);
    return bytes;
}

/* fc2 of a 64-64-10 network is as large as the one layer of a 64-10 network. */
START_TEST(a_frozen_tensor_costs_no_traffic)
{
    struct folder folder;
    folder_open(&folder);
    long frozen = bytes_of_a_step(&folder, 3 + _i, "--hidden 64 --freeze fc1");
    ck_assert_int_eq(frozen, bytes_of_a_step(&folder, 3 + _i, "--hidden none"));
    ck_assert_int_lt(frozen, bytes_of_a_step(&folder, 3 + _i, "--hidden 64"));
    folder_close(&folder);
}
END_TEST

/* What was frozen has no state to go on with; what is frozen now needs none. */
START_TEST(a_checkpoint_resumes_frozen_but_not_thawed)
{
    struct folder folder;
    folder_open(&folder);
    lesson_ok(&folder, (struct lesson){1, 1}, "--hidden 6 --freeze fc1 --steps 2 --save frozen");
    lesson_ok(&folder, (struct lesson){1, 1}, "--hidden 6 --steps 2 --save whole");
    lesson_ok(&folder, (struct lesson){3, 2}, "--hidden 6 --freeze fc1 --steps 4 --resume whole");
    lesson_ok(&folder, (struct lesson){4, 3}, "--hidden 6 --freeze fc1 --steps 4 --resume frozen");
    lesson_fails(&folder, (struct lesson){1, 1}, "--hidden 6 --steps 4 --resume frozen", 1,
                 "it has no momentum of fc1.weight (another model, or frozen in it?)");
    folder_close(&folder);
}
END_TEST

Suite *freeze_suite(void)
{
    Suite *suite = suite_create("freeze");
    TCase *tcase = tcase_create("freeze");
    tcase_add_loop_test(tcase, what_is_named_is_frozen, 0, 6);
    tcase_add_loop_test(tcase, what_is_no_tensor_is_refused_with_those_there_are, 0, 7);
    tcase_add_loop_test(tcase, a_layer_that_has_anothers_weight_is_asked_for_that_one, 0, 2);
    tcase_add_loop_test(tcase, a_frozen_tensor_gets_no_gradient_and_is_not_announced, 0, 3);
    tcase_add_loop_test(tcase, a_frozen_tensor_stays_as_it_is_in_every_lesson, 0, 4);
    tcase_add_loop_test(tcase, a_frozen_tensor_costs_no_traffic, 0, 2);
    tcase_add_test(tcase, a_checkpoint_resumes_frozen_but_not_thawed);
    suite_add_tcase(suite, tcase);
    return suite;
}
