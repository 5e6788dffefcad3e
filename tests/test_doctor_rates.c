/* Losses that are not of all ranks, and rates that do not fit the batch: made wrong in a healthy record, and named. */
#include "tests/patient.h"
#include "tests/suites.h"

#include <check.h>
#include <math.h>

static const struct options plain = {.seed = 1, .shuffle = true};

/* --- losses and rates ---------------------------------------------------------------------------- */

static void report_own(struct case_step *step, size_t rank)
{
    (void)rank;
    step->loss = step->samples_local > 0 ? step->loss_local : NAN;
}

START_TEST(a_loss_of_the_ranks_own_share_is_named)
{
    struct patient patient;
    patient_make(&patient, &plain);
    patient_each_step(&patient, report_own);
    patient_has(&patient, NULL, "rank0-loss-only");
    patient_make(&patient, &plain);
    patient.steps[0][3].loss += 1e-6;
    patient_has(&patient, NULL, "wrong-loss");
}
END_TEST

START_TEST(test_samples_counted_twice_are_named)
{
    struct patient patient;
    patient_make(&patient, &plain);
    for (size_t rank = 0; rank < PATIENT_WORLD; rank++)
        patient.epochs[rank][1].evaluated = 3; // 7 samples, 3 ranks
    patient_has(&patient, NULL, "eval-padding-counted");
    patient.epochs[0][1].evaluated = 2;
    patient_has(&patient, NULL, "wrong-evaluation");
}
END_TEST

static const struct {
    double lr;
    enum lr_scale scale;
    size_t warmup, per_rank;
    double peak; // the loss of step 2
    const char *names;
} rates[] = {
    {0.05, LR_SCALE_NONE, 0, 0, 0, ""},
    {0.05, LR_SCALE_NONE, 0, 100, 0, "no-lr-scale"},
    {0.05, LR_SCALE_NONE, 0, 21, 0, ""}, // 63 samples: the default is for 64
    {0.05, LR_SCALE_NONE, 0, 22, 0, "no-lr-scale"},
    {0.15, LR_SCALE_NONE, 0, 100, 0, ""},                     // three ranks: scaled by hand
    {0.05, LR_SCALE_LINEAR, 2, 100, 0, ""},                   // as the books say
    {0.05, LR_SCALE_LINEAR, 0, 20, 0, ""},                    // not even a full batch of 64
    {0.05, LR_SCALE_LINEAR, 0, 100, 0, ""},                   // a note: the loss does not mind
    {0.5, LR_SCALE_LINEAR, 0, 100, 0, "lr-scale-no-warmup"},  // so large that it need not be seen
    {0.05, LR_SCALE_LINEAR, 0, 100, 5, "lr-scale-no-warmup"}, // seen
    {0.05, LR_SCALE_LINEAR, 2, 100, 5, ""},
    {0.5, LR_SCALE_LINEAR, 2, 100, 0, ""},
};
enum { RATES = sizeof rates / sizeof *rates };

START_TEST(rates_are_held_against_the_batch)
{
    struct patient patient;
    struct options options = plain;
    patient_make(&patient, &options); // of the batch as sampled below
    options.per_rank_batch = rates[_i].per_rank;
    options.batch = rates[_i].per_rank * PATIENT_WORLD;
    options.lr = rates[_i].lr;
    options.lr_scale = rates[_i].scale;
    options.warmup = rates[_i].warmup;
    patient_make(&patient, &options);
    double scale = options.lr_scale ? (double)patient.book.options.batch / 64 : 1;
    for (size_t rank = 0; rank < PATIENT_WORLD; rank++)
        for (size_t k = 0; k < PATIENT_STEPS; k++) {
            double warm = k < options.warmup ? (double)(k + 1) / (double)options.warmup : 1;
            patient.steps[rank][k].lr = options.lr * scale * warm;
            if (k == 2 && rates[_i].peak > 0)
                patient.steps[rank][k].loss = patient.steps[rank][k].loss_local = rates[_i].peak;
        }
    patient_has(&patient, NULL, rates[_i].names);
}
END_TEST

/* Without --per-rank-batch only what the loss does tells. */
START_TEST(a_loss_that_jumps_under_a_scaled_rate_is_named)
{
    struct patient patient;
    struct options options = plain;
    options.batch = 320;
    options.lr_scale = LR_SCALE_LINEAR;
    patient_make(&patient, &options);
    for (size_t rank = 0; rank < PATIENT_WORLD; rank++)
        for (size_t k = 0; k < PATIENT_STEPS; k++) {
            patient.steps[rank][k].lr = 0.25;
            patient.steps[rank][k].loss = patient.steps[rank][k].loss_local = k == 2 && _i ? 3 : 2;
        }
    patient_has(&patient, NULL, _i ? "lr-scale-no-warmup" : "");
}
END_TEST

START_TEST(a_rate_that_is_not_the_schedules_is_told)
{
    struct patient patient;
    patient_make(&patient, &plain);
    patient.steps[0][5].lr *= 0.5;
    patient_has(&patient, NULL, "wrong-rate");
}
END_TEST

Suite *doctor_rates_suite(void)
{
    Suite *suite = suite_create("doctor_rates");
    TCase *tcase = tcase_create("doctor_rates");
    tcase_add_test(tcase, a_loss_of_the_ranks_own_share_is_named);
    tcase_add_test(tcase, test_samples_counted_twice_are_named);
    tcase_add_loop_test(tcase, rates_are_held_against_the_batch, 0, RATES);
    tcase_add_loop_test(tcase, a_loss_that_jumps_under_a_scaled_rate_is_named, 0, 2);
    tcase_add_test(tcase, a_rate_that_is_not_the_schedules_is_told);
    suite_add_tcase(suite, tcase);
    return suite;
}
