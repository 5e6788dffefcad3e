/* A record in which all is well: the doctor says so. And what only looks like a mistake is none. */
#include "tests/patient.h"
#include "tests/suites.h"

#include <check.h>
#include <math.h>
#include <string.h>

static const struct options plain = {.seed = 1, .shuffle = true};

static const struct options healthy[] = {
    {.seed = 1, .shuffle = true},
    {.seed = 2, .shuffle = false},
    {.seed = 3, .shuffle = true, .drop_last = true},
    {.seed = 4, .shuffle = true, .batch = 2, .accumulate = 3},
    {.seed = 5, .shuffle = true, .batch = 1},
    {.seed = 6, .shuffle = true, .batch = 100},
    {.seed = 7, .shuffle = true, .clip = 0.5},
    {.seed = 8, .shuffle = true, .weight_decay = 0.1},
    {.seed = 9, .shuffle = true, .dropout = 0.5},
    {.seed = 10, .shuffle = true, .on_nonfinite = NONFINITE_SKIP, .precision = PRECISION_FP16},
    {.seed = 11, .shuffle = true, .optimizer = OPTIMIZER_ADAM, .lr = 0.001},
    {.seed = 12, .shuffle = false, .drop_last = true, .dropout = 1e-9},
};
enum { HEALTHY_RUNS = sizeof healthy / sizeof *healthy };

START_TEST(a_healthy_record_has_nothing_wrong_and_says_what_was_looked_at)
{
    struct patient patient;
    patient_make(&patient, &healthy[_i]);
    patient_has(&patient, NULL, "");
    ck_assert_uint_ge(patient.diagnosis.looked_count, 6);
}
END_TEST

START_TEST(a_step_that_all_ranks_skip_is_none_where_that_was_asked_for)
{
    struct patient patient;
    struct options options = plain;
    options.on_nonfinite = _i ? NONFINITE_SKIP : NONFINITE_STOP;
    patient_make(&patient, &options);
    for (size_t rank = 0; rank < PATIENT_WORLD; rank++) {
        struct case_step *step = &patient.steps[rank][2];
        step->updated = false;
        step->clip = step->loss = NAN;
        step->nonfinite = rank == 1;
    }
    patient_has(&patient, NULL, _i ? "" : "skip-one-rank");
}
END_TEST

START_TEST(numbers_within_rounding_are_equal)
{
    struct patient patient;
    patient_make(&patient, &plain);
    for (size_t rank = 0; rank < PATIENT_WORLD; rank++) {
        patient.looks[rank][3].reduced[0].sum += 3e-7; // of norms that add up to about 4
        patient.steps[rank][3].loss *= 1 + 1e-13;
        patient.steps[rank][3].weight_most *= 1 + 0x1p-22;
    }
    patient_has(&patient, NULL, "");
}
END_TEST

/* The second process goes on with another rate, clips, and leaves out what decayed. */
START_TEST(a_process_that_goes_on_may_be_asked_for_something_else)
{
    struct patient patient;
    struct options options = plain;
    options.weight_decay = 0.1;
    patient_make(&patient, &options);
    for (size_t rank = 0; rank < PATIENT_WORLD; rank++) {
        struct case_start *start = &patient.starts[rank][1];
        patient.ranks[rank].start_count = 2;
        start->first = 4;
        start->decaying = 4;
        start->asked.clip = 0.5;
        start->asked.lr = 0.01;
        start->asked.on_nonfinite = NONFINITE_SKIP;
        for (size_t k = 4; k < PATIENT_STEPS; k++) {
            patient.steps[rank][k].lr = 0.01;
            patient.looks[rank][k].decayed = 4;
        }
        patient.steps[rank][5].updated = false;
    }
    patient_has(&patient, NULL, "");
    patient.steps[0][6].lr = 0.05;
    patient.looks[0][6].decayed = 12;
    patient_has(&patient, NULL, "wrong-rate+wrong-decay");
}
END_TEST

/* Rank 0's rows are the samples of the same numbers; and nearly all units take part, in any mask. */
START_TEST(masks_that_are_equal_by_chance_are_no_mistake)
{
    struct patient patient;
    struct options options = plain;
    options.shuffle = _i == 0;
    options.dropout = 1e-9;
    patient_make(&patient, &options);
    for (size_t rank = 0; rank < PATIENT_WORLD; rank++)
        for (size_t k = 0; k < PATIENT_STEPS; k++) {
            struct case_look *look = &patient.looks[rank][k];
            look->dropout_mask.there = true;
            for (size_t row = 0; row < patient.steps[rank][k].samples_local; row++)
                for (size_t unit = 0; unit < 8; unit++)
                    look->dropout_mask.bits += sketch_mix((uint64_t)(row + 1) << 32 | unit);
        }
    patient_has(&patient, NULL, "");
    for (size_t rank = 0; rank < PATIENT_WORLD; rank++) // as if more were left out
        patient.starts[rank][0].asked.dropout = 1e-3;
    patient_has(&patient, NULL, "");
}
END_TEST

START_TEST(decay_that_is_nothing_in_float_takes_nothing)
{
    struct patient patient;
    struct options options = plain;
    options.weight_decay = 1e-50;
    patient_make(&patient, &options);
    for (size_t rank = 0; rank < PATIENT_WORLD; rank++)
        for (size_t k = 0; k < PATIENT_STEPS; k++)
            patient.looks[rank][k].decayed = 0;
    patient_has(&patient, NULL, "");
}
END_TEST

START_TEST(what_drop_last_leaves_out_is_told_as_it_is)
{
    static const char *const words[] = {"2 samples of epoch 0 were left out, and the same in each",
                                        "2 samples of epoch 0 were left out, by chance others"};
    struct patient patient;
    struct options options = plain;
    options.drop_last = true;
    options.shuffle = _i == 1;
    patient_make(&patient, &options);
    patient_has(&patient, NULL, "");
    ck_assert_msg(
        strstr(patient.diagnosis.notes[patient.diagnosis.note_count - 1].text, words[_i]) != NULL,
        "%s", patient.diagnosis.notes[patient.diagnosis.note_count - 1].text);
}
END_TEST

Suite *healthy_suite(void)
{
    Suite *suite = suite_create("healthy");
    TCase *tcase = tcase_create("healthy");
    tcase_add_loop_test(tcase, a_healthy_record_has_nothing_wrong_and_says_what_was_looked_at, 0,
                        HEALTHY_RUNS);
    tcase_add_loop_test(tcase, a_step_that_all_ranks_skip_is_none_where_that_was_asked_for, 0, 2);
    tcase_add_test(tcase, numbers_within_rounding_are_equal);
    tcase_add_test(tcase, a_process_that_goes_on_may_be_asked_for_something_else);
    tcase_add_loop_test(tcase, masks_that_are_equal_by_chance_are_no_mistake, 0, 2);
    tcase_add_test(tcase, decay_that_is_nothing_in_float_takes_nothing);
    tcase_add_loop_test(tcase, what_drop_last_leaves_out_is_told_as_it_is, 0, 2);
    suite_add_tcase(suite, tcase);
    return suite;
}
