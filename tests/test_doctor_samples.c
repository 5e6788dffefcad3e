/* Samples and their weights made wrong in a healthy record: the doctor names the mistake, and nothing else. */
#include "tests/patient.h"
#include "tests/suites.h"

#include <check.h>
#include <math.h>

static const struct options plain = {.seed = 1, .shuffle = true};

/* --- samples ------------------------------------------------------------------------------------- */

/* Rank 0's share on all. */
static void share_first(struct patient *patient)
{
    for (size_t k = 0; k < PATIENT_STEPS; k++)
        for (size_t rank = 1; rank < PATIENT_WORLD; rank++) {
            patient->steps[rank][k].seen = patient->steps[0][k].seen;
            patient->steps[rank][k].samples_local = patient->steps[0][k].samples_local;
            patient->steps[rank][k].loss = patient->steps[0][k].loss = NAN; // another theme
        }
}

START_TEST(the_first_ranks_share_on_all_ranks_is_named)
{
    struct patient patient;
    patient_make(&patient, &plain);
    share_first(&patient);
    patient_has(&patient, NULL, "same-shard");
}
END_TEST

/* Samples of epoch 1 are taken from a patient whose order of epoch 0 is kept. */
START_TEST(the_same_order_in_every_epoch_is_named)
{
    struct patient patient;
    patient_make(&patient, &plain);
    for (size_t rank = 0; rank < PATIENT_WORLD; rank++) {
        for (size_t k = 3; k < PATIENT_STEPS; k++)
            patient.steps[rank][k].seen = patient.steps[rank][k % 3].seen;
        patient.epochs[rank][1].order = patient.epochs[rank][0].order;
    }
    patient_has(&patient, NULL, "no-set-epoch");
}
END_TEST

START_TEST(a_seed_of_its_own_for_each_ranks_order_is_named)
{
    struct patient patient, other;
    struct options options = plain;
    patient_make(&patient, &plain);
    for (size_t rank = 1; rank < PATIENT_WORLD; rank++) {
        options.seed = plain.seed + rank;
        patient_make(&other, &options);
        for (size_t k = 0; k < PATIENT_STEPS; k++)
            patient.steps[rank][k].seen = other.steps[rank][k].seen;
    }
    patient_has(&patient, NULL, "shuffle-per-rank");
}
END_TEST

START_TEST(samples_that_no_known_mistake_gives_are_told_as_such)
{
    struct patient patient;
    patient_make(&patient, &plain);
    patient.steps[2][4].seen++;
    patient_has(&patient, NULL, "wrong-samples");
}
END_TEST

/* Resumed behind step 3, that is one step into epoch 1. */
static void resume(struct patient *patient)
{
    for (size_t rank = 0; rank < PATIENT_WORLD; rank++) {
        patient->ranks[rank].start_count = 2;
        patient->starts[rank][1].first = 4;
    }
}

START_TEST(a_resumed_run_is_healthy_unless_it_repeats_its_samples)
{
    struct patient patient;
    patient_make(&patient, &plain);
    resume(&patient);
    patient_has(&patient, NULL, "");
    for (size_t rank = 0; rank < PATIENT_WORLD; rank++) {
        struct case_step *steps = patient.steps[rank];
        steps[5].seen = steps[4].seen;
        steps[4].seen = steps[3].seen;
        steps[5].samples = 4;
        steps[5].samples_local = steps[4].samples_local;
        steps[5].weight_least = steps[5].weight_most = 0.25;
        steps[5].loss = NAN;
    }
    patient_has(&patient, NULL, "resume-repeats-data");
}
END_TEST

START_TEST(a_resumed_optimizer_has_a_state_unless_it_never_has_one)
{
    static const double norms[] = {1, 0, NAN};
    struct patient patient;
    patient_make(&patient, &plain);
    resume(&patient);
    for (size_t rank = 0; rank < PATIENT_WORLD; rank++)
        patient.starts[rank][1].state_norm = rank == 2 ? norms[_i] : norms[_i] * 0;
    patient_has(&patient, NULL, _i == 1 ? "resume-without-momentum" : "");
    for (size_t rank = 0; rank < PATIENT_WORLD; rank++)
        for (size_t k = 0; k < 4; k++) { // no update was made that would have left one
            patient.starts[rank][0].asked.on_nonfinite = NONFINITE_SKIP;
            patient.steps[rank][k].updated = false;
        }
    patient_has(&patient, NULL, "");
}
END_TEST

START_TEST(a_batch_for_each_rank_that_was_asked_for_all_is_named)
{
    struct patient patient;
    struct options options = plain;
    options.batch = 6;
    patient_make(&patient, &options);
    patient.book.options.batch = 2;
    patient_has(&patient, NULL, "batch-not-divided");
}
END_TEST

/* --- weights ------------------------------------------------------------------------------------- */

static void weigh_by_rank(struct case_step *step, size_t rank)
{
    (void)rank;
    step->weight_least = step->weight_most = 1 / (double)step->samples_local;
}

START_TEST(means_of_each_rank_that_are_summed_are_named)
{
    struct patient patient;
    patient_make(&patient, &plain);
    patient_each_step(&patient, weigh_by_rank);
    patient_has(&patient, NULL, "sum-not-mean");
}
END_TEST

/* Batches of 4 over 3 ranks: 2, 1, 1; the last of 2: 1, 1, 0. */
static void weigh_by_share(struct case_step *step, size_t rank)
{
    (void)rank;
    step->weight_least = step->weight_most =
        step->samples_local > 0 ? 1 / (3 * (double)step->samples_local) : NAN;
}

START_TEST(ranks_that_count_alike_with_uneven_shares_are_named)
{
    struct patient patient;
    patient_make(&patient, &plain);
    patient_each_step(&patient, weigh_by_share);
    patient_has(&patient, NULL, "last-batch-unweighted");
}
END_TEST

START_TEST(weights_that_no_known_mistake_gives_are_told_as_such)
{
    struct patient patient;
    patient_make(&patient, &plain);
    patient.steps[1][2].weight_most *= 1.01;
    patient_has(&patient, NULL, "wrong-weights");
}
END_TEST

START_TEST(two_mistakes_at_once_are_both_named)
{
    struct patient patient;
    patient_make(&patient, &plain);
    patient_each_step(&patient, weigh_by_rank);
    patient.starts[1][0].param_hash.bits++;
    for (size_t rank = 0; rank < PATIENT_WORLD; rank++)
        patient.epochs[rank][0].evaluated = 3;
    patient_has(&patient, NULL, "sum-not-mean+seed-per-rank+eval-padding-counted");
}
END_TEST

Suite *doctor_samples_suite(void)
{
    Suite *suite = suite_create("doctor_samples");
    TCase *tcase = tcase_create("doctor_samples");
    tcase_add_test(tcase, the_first_ranks_share_on_all_ranks_is_named);
    tcase_add_test(tcase, the_same_order_in_every_epoch_is_named);
    tcase_add_test(tcase, a_seed_of_its_own_for_each_ranks_order_is_named);
    tcase_add_test(tcase, samples_that_no_known_mistake_gives_are_told_as_such);
    tcase_add_test(tcase, a_resumed_run_is_healthy_unless_it_repeats_its_samples);
    tcase_add_loop_test(tcase, a_resumed_optimizer_has_a_state_unless_it_never_has_one, 0, 3);
    tcase_add_test(tcase, a_batch_for_each_rank_that_was_asked_for_all_is_named);
    tcase_add_test(tcase, means_of_each_rank_that_are_summed_are_named);
    tcase_add_test(tcase, ranks_that_count_alike_with_uneven_shares_are_named);
    tcase_add_test(tcase, weights_that_no_known_mistake_gives_are_told_as_such);
    tcase_add_test(tcase, two_mistakes_at_once_are_both_named);
    suite_add_tcase(suite, tcase);
    return suite;
}
