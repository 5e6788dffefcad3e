/* One number of a healthy record made wrong: the doctor names the mistake, and nothing else. */
#include "tests/patient.h"
#include "tests/suites.h"

#include <check.h>
#include <math.h>

static const struct options plain = {.seed = 1, .shuffle = true};

/* --- gradients ----------------------------------------------------------------------------------- */

START_TEST(a_gradient_divided_once_more_is_named)
{
    struct patient patient;
    patient_make(&patient, &plain);
    patient_reduce(&patient, 1. / PATIENT_WORLD, NULL);
    patient_has(&patient, NULL, "mean-twice");
}
END_TEST

/* Norms are the roots of 2, 4 and 6: each tensor's squares are 1, 2 and 3. An even share is a third of the samples. */
START_TEST(gradients_clipped_before_the_sum_are_named)
{
    struct patient patient;
    struct options options = plain;
    options.clip = 2;
    options.batch = 3; // 1 sample each; in a batch of 1 two ranks have none
    options.drop_last = true;
    patient_make(&patient, &options);
    double own[PATIENT_WORLD];
    for (size_t rank = 0; rank < PATIENT_WORLD; rank++)
        own[rank] = fmin(1, 2 / (3 * sqrt(2 + 2 * (double)rank) + 1e-6));
    patient_reduce(&patient, 1, own);
    patient_has(&patient, NULL, "clip-before-reduce");
    patient_reduce(&patient, 1. / PATIENT_WORLD, own);
    patient_has(&patient, NULL, "clip-before-reduce+mean-twice");
}
END_TEST

START_TEST(a_tensor_of_the_step_before_is_named)
{
    struct patient patient;
    patient_make(&patient, &plain);
    for (size_t rank = 0; rank < PATIENT_WORLD; rank++)
        for (size_t k = PATIENT_STEPS; k-- > 0;)
            patient.looks[rank][k].reduced[0] =
                k > 0 ? patient.looks[rank][k - 1].reduced[0] : (struct sketch){0};
    patient_has(&patient, NULL, "stale-bucket");
}
END_TEST

START_TEST(gradients_that_no_known_mistake_gives_are_told_as_such)
{
    struct patient patient;
    patient_make(&patient, &plain);
    patient_reduce(&patient, 1.001, NULL);
    patient_has(&patient, NULL, "wrong-gradient");
}
END_TEST

START_TEST(micro_batches_that_are_not_reduced_are_named)
{
    struct patient patient;
    struct options options = plain;
    options.batch = 2;
    options.accumulate = 2;
    patient_make(&patient, &options); // steps of 4, 4 and 2 samples: the last has one micro-batch
    for (size_t rank = 0; rank < PATIENT_WORLD; rank++)
        for (size_t k = 0; k < PATIENT_STEPS; k++) {
            struct case_step *step = &patient.steps[rank][k];
            step->handed_over = _i ? 1 : step->micro_batches;
            if (step->micro_batches > 1)
                step->look->reduced[0].sum += 1 + (double)rank;
            step->look->param_hash.bits += rank;
        }
    patient_has(&patient, NULL, _i ? "sync-first-microbatch-only" : "sync-last-microbatch-only");
}
END_TEST

START_TEST(gradients_that_differ_with_one_micro_batch_are_told_as_such)
{
    struct patient patient;
    patient_make(&patient, &plain);
    patient.looks[1][3].reduced[1].sum += 1;
    patient_has(&patient, NULL, "wrong-gradient");
}
END_TEST

/* --- updates ------------------------------------------------------------------------------------- */

START_TEST(first_weights_that_differ_are_named_and_their_drift_is_not)
{
    struct patient patient;
    patient_make(&patient, &plain);
    patient.starts[2][0].param_hash.bits++;
    for (size_t k = 0; k < PATIENT_STEPS; k++)
        patient.looks[2][k].param_hash.bits++;
    patient_has(&patient, NULL, "seed-per-rank");
}
END_TEST

START_TEST(where_no_rank_has_all_weights_their_streams_tell)
{
    struct patient patient;
    patient_make(&patient, &plain);
    for (size_t rank = 0; rank < PATIENT_WORLD; rank++)
        patient.starts[rank][0].param_hash.there = false;
    patient_has(&patient, NULL, "");
    patient.starts[1][0].streams[STREAM_WEIGHTS].bits++;
    patient_has(&patient, NULL, "seed-per-rank");
}
END_TEST

START_TEST(parameters_that_drift_apart_for_no_reason_are_told_as_such)
{
    struct patient patient;
    patient_make(&patient, &plain);
    patient.looks[1][5].param_hash.bits++;
    patient_has(&patient, NULL, "replicas-differ");
}
END_TEST

START_TEST(a_rank_that_skips_alone_is_named_and_its_drift_is_not)
{
    struct patient patient;
    patient_make(&patient, &plain);
    patient.steps[1][2].updated = false;
    patient.steps[1][2].clip = NAN;
    for (size_t k = 2; k < PATIENT_STEPS; k++)
        patient.looks[1][k].param_hash.bits++;
    patient_has(&patient, NULL, "skip-one-rank");
}
END_TEST

/* In lesson 4 each has a part of the sum. */
static void shard(struct patient *patient)
{
    patient->book.lesson = 4;
    for (size_t k = 0; k < PATIENT_STEPS; k++)
        for (size_t rank = 1; rank < PATIENT_WORLD; rank++) {
            patient->looks[rank][k].reduced[0].sum = patient->looks[rank][k].reduced[1].sum = 0;
            patient->looks[rank][k].decayed = 0;
        }
}

START_TEST(shards_clipped_by_norms_of_their_own_are_named)
{
    struct patient patient;
    struct options options = plain;
    options.clip = 1;
    patient_make(&patient, &options);
    shard(&patient);
    patient_has(&patient, NULL, "");
    if (_i)
        patient.steps[1][3].clip = 0.9;
    else
        patient.steps[1][3].grad_norm = 0.9; // below the limit, and yet not the same
    patient_has(&patient, NULL, "clip-per-shard");
}
END_TEST

START_TEST(decay_of_biases_is_named_and_of_anything_else_told)
{
    static const char *const names[] = {"decay-biases", "wrong-decay", ""};
    static const size_t decayed[] = {16, 11, 12};
    struct patient patient;
    struct options options = plain;
    options.weight_decay = 0.1;
    patient_make(&patient, &options);
    for (size_t rank = 0; rank < PATIENT_WORLD; rank++)
        patient.looks[rank][5].decayed = decayed[_i];
    patient_has(&patient, NULL, names[_i]);
}
END_TEST

/* --- beside a reference -------------------------------------------------------------------------- */

START_TEST(a_reference_shows_what_one_run_cannot)
{
    struct patient patient, reference;
    struct options options = plain;
    patient_make(&reference, &plain);
    patient_make(&patient, &plain);
    patient_has(&patient, &reference, "");
    patient.held[0][0][0].sum = 1;
    patient_has(&patient, &reference, "seed-per-rank");
    patient.book.options.init = "const:1"; // as it was asked for
    patient_has(&patient, &reference, "");
    options.shuffle = false; // other samples, another gradient
    patient_make(&patient, &options);
    for (size_t rank = 0; rank < PATIENT_WORLD; rank++)
        patient.looks[rank][0].raw[0].sum *= 3;
    patient_reduce(&patient, 1, NULL);
    patient_has(&patient, &reference, "");
    options.shuffle = true;
    patient_make(&patient, &options);
    for (size_t rank = 0; rank < PATIENT_WORLD; rank++)
        patient.looks[rank][0].raw[0].sum *= 3;
    patient_reduce(&patient, 1, NULL);
    patient_has(&patient, &reference, "unlike-reference");
    options.batch = 8;
    patient_make(&patient, &options);
    patient_has(&patient, &reference, "no-lr-scale");
    options.lr = 0.1;
    patient_make(&patient, &options);
    patient_has(&patient, &reference, "");
}
END_TEST

Suite *doctor_suite(void)
{
    Suite *suite = suite_create("doctor");
    TCase *tcase = tcase_create("doctor");
    tcase_add_test(tcase, a_gradient_divided_once_more_is_named);
    tcase_add_test(tcase, gradients_clipped_before_the_sum_are_named);
    tcase_add_test(tcase, a_tensor_of_the_step_before_is_named);
    tcase_add_test(tcase, gradients_that_no_known_mistake_gives_are_told_as_such);
    tcase_add_loop_test(tcase, micro_batches_that_are_not_reduced_are_named, 0, 2);
    tcase_add_test(tcase, gradients_that_differ_with_one_micro_batch_are_told_as_such);
    tcase_add_test(tcase, first_weights_that_differ_are_named_and_their_drift_is_not);
    tcase_add_test(tcase, where_no_rank_has_all_weights_their_streams_tell);
    tcase_add_test(tcase, parameters_that_drift_apart_for_no_reason_are_told_as_such);
    tcase_add_test(tcase, a_rank_that_skips_alone_is_named_and_its_drift_is_not);
    tcase_add_loop_test(tcase, shards_clipped_by_norms_of_their_own_are_named, 0, 2);
    tcase_add_loop_test(tcase, decay_of_biases_is_named_and_of_anything_else_told, 0, 3);
    tcase_add_test(tcase, a_reference_shows_what_one_run_cannot);
    suite_add_tcase(suite, tcase);
    return suite;
}
