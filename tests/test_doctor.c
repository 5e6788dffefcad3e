/* One number of a healthy record made wrong: the doctor names the mistake, and nothing else. */
#include "tests/patient.h"
#include "tests/suites.h"

#include <check.h>
#include <math.h>

static const struct options plain = {.seed = 1, .shuffle = true};

static void each_step(struct patient *patient, void (*change)(struct case_step *step, size_t rank))
{
    for (size_t rank = 0; rank < PATIENT_WORLD; rank++)
        for (size_t k = 0; k < PATIENT_STEPS; k++)
            change(&patient->steps[rank][k], rank);
}

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
    each_step(&patient, weigh_by_rank);
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
    each_step(&patient, weigh_by_share);
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
    each_step(&patient, report_own);
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

START_TEST(two_mistakes_at_once_are_both_named)
{
    struct patient patient;
    patient_make(&patient, &plain);
    each_step(&patient, weigh_by_rank);
    patient.starts[1][0].param_hash.bits++;
    for (size_t rank = 0; rank < PATIENT_WORLD; rank++)
        patient.epochs[rank][0].evaluated = 3;
    patient_has(&patient, NULL, "sum-not-mean+seed-per-rank+eval-padding-counted");
}
END_TEST

Suite *doctor_suite(void)
{
    Suite *suite = suite_create("doctor");
    TCase *tcase = tcase_create("doctor");
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
    tcase_add_test(tcase, a_loss_of_the_ranks_own_share_is_named);
    tcase_add_test(tcase, test_samples_counted_twice_are_named);
    tcase_add_loop_test(tcase, rates_are_held_against_the_batch, 0, RATES);
    tcase_add_loop_test(tcase, a_loss_that_jumps_under_a_scaled_rate_is_named, 0, 2);
    tcase_add_test(tcase, a_rate_that_is_not_the_schedules_is_told);
    tcase_add_test(tcase, a_reference_shows_what_one_run_cannot);
    tcase_add_test(tcase, two_mistakes_at_once_are_both_named);
    suite_add_tcase(suite, tcase);
    return suite;
}
