/* patient: a record as it would be read, made up in memory. See the header. */
#include "tests/patient.h"

#include "common/sampler.h"
#include "common/sketch.h"

#include <check.h>
#include <math.h>
#include <string.h>

enum { SAMPLES = 10, TESTED = 7 };

static void set_options(struct patient *patient, const struct options *options)
{
    struct options *mine = &patient->book.options;
    *mine = *options;
    mine->lesson = 3;
    mine->batch = mine->batch > 0 ? mine->batch : 4;
    mine->accumulate = mine->accumulate > 0 ? mine->accumulate : 1;
    mine->lr = mine->lr > 0 ? mine->lr : 0.05;
    mine->epochs = 3;
    mine->hidden[0] = 8;
    mine->hidden_count = 1;
    mine->bias = true;
}

static void set_run(struct patient *patient)
{
    static const struct case_tensor tensors[PATIENT_TENSORS] = {{"fc1.weight", 0, 12, true, false},
                                                                {"fc1.bias", 12, 4, false, false}};
    struct casebook *book = &patient->book;
    book->folder = "/nowhere";
    book->lesson = 3;
    book->world = book->rank_count = PATIENT_WORLD;
    book->updates = PATIENT_STEPS;
    book->train_samples = SAMPLES;
    book->test_samples = TESTED;
    book->parameters = 16;
    book->tensor_count = PATIENT_TENSORS;
    memcpy(book->tensors, tensors, sizeof tensors);
    book->ranks = patient->ranks;
}

static void set_rank(struct patient *patient, size_t rank)
{
    struct case_rank *page = &patient->ranks[rank];
    page->starts = patient->starts[rank];
    page->steps = patient->steps[rank];
    page->epochs = patient->epochs[rank];
    page->start_count = 1;
    page->step_count = PATIENT_STEPS;
    page->epoch_count = 2;
    page->ended = true;
    for (size_t i = 0; i < 2; i++) {
        struct case_start *start = &page->starts[i];
        start->updates = PATIENT_STEPS;
        start->asked = patient->book.options;
        start->decaying = 12;
        start->trained = 16;
        start->param_hash = (struct case_hash){true, 5};
        start->streams[STREAM_WEIGHTS] = (struct case_hash){true, 6};
        start->state_norm = i;
        start->param = patient->held[rank][i];
        page->epochs[i] =
            (struct case_epoch){.epoch = i,
                                .step = 3 * (i + 1),
                                .evaluated = slice_of(TESTED, PATIENT_WORLD, rank).count,
                                .order = 1 + i};
    }
}

static void set_samples(struct case_step *found, struct sampler *sampler, size_t rank)
{
    struct step step = sampler_step(sampler, found->step);
    const uint32_t *order = sampler_order(sampler, step.epoch);
    found->epoch = step.epoch;
    found->samples = step.samples.count;
    found->micro_batches = found->handed_over = sampler_micro_batches(sampler, &step);
    for (size_t m = 0; m < found->micro_batches; m++) {
        struct slice share = sampler_share(sampler, &step, m, PATIENT_WORLD, rank);
        found->samples_local += share.count;
        for (size_t i = 0; i < share.count; i++)
            found->seen += sketch_mix((uint64_t)order[share.begin + i] + 1);
    }
}

static void set_step(struct patient *patient, size_t rank, size_t k, struct sampler *sampler)
{
    const struct options *options = &patient->book.options;
    struct case_step *step = &patient->steps[rank][k];
    struct case_look *look = &patient->looks[rank][k];
    struct sketch(*sketches)[PATIENT_TENSORS] = patient->sketches[rank][k];
    *step =
        (struct case_step){.step = k, .updated = true, .clip = 1, .lr = options->lr, .look = look};
    set_samples(step, sampler, rank);
    step->weight_least = step->weight_most = 1 / (double)step->samples;
    step->loss_local = 2 - 0.1 * (double)k + 0.01 * (double)rank;
    step->grad_norm = 1;
    *look = (struct case_look){.param_hash = {true, 100 + k},
                               .raw = sketches[0],
                               .reduced = sketches[1],
                               .param = sketches[2],
                               .decayed = options->weight_decay > 0 ? 12 : 0};
    for (size_t i = 0; i < PATIENT_TENSORS; i++)
        look->raw[i] = (struct sketch){sin((double)(7 * k + 3 * i + rank) + 1), 1 + (double)rank};
}

/* What is reported is the mean. */
static void set_losses(struct patient *patient)
{
    for (size_t k = 0; k < PATIENT_STEPS; k++) {
        double sum = 0;
        for (size_t rank = 0; rank < PATIENT_WORLD; rank++)
            sum +=
                patient->steps[rank][k].loss_local * (double)patient->steps[rank][k].samples_local;
        for (size_t rank = 0; rank < PATIENT_WORLD; rank++)
            patient->steps[rank][k].loss = sum / (double)patient->steps[rank][k].samples;
    }
}

void patient_reduce(struct patient *patient, double factor, const double *own)
{
    for (size_t k = 0; k < PATIENT_STEPS; k++)
        for (size_t i = 0; i < PATIENT_TENSORS; i++) {
            double sum = 0;
            for (size_t rank = 0; rank < PATIENT_WORLD; rank++)
                sum += (own ? own[rank] : 1) * patient->looks[rank][k].raw[i].sum;
            for (size_t rank = 0; rank < PATIENT_WORLD; rank++)
                patient->looks[rank][k].reduced[i] = (struct sketch){factor * sum, 1};
        }
}

void patient_make(struct patient *patient, const struct options *options)
{
    struct sampler sampler;
    struct fail fail = {0};
    *patient = (struct patient){0};
    set_options(patient, options);
    set_run(patient);
    ck_assert_int_eq(sampler_init(&sampler, SAMPLES, &patient->book.options, NULL, &fail), 0);
    patient->book.steps_per_epoch = sampler.steps_per_epoch;
    for (size_t rank = 0; rank < PATIENT_WORLD; rank++) {
        set_rank(patient, rank);
        for (size_t k = 0; k < PATIENT_STEPS; k++)
            set_step(patient, rank, k, &sampler);
    }
    sampler_release(&sampler);
    set_losses(patient);
    patient_reduce(patient, 1, NULL);
}

/* Is this name among those between +? */
static bool is_among(const char *names, const char *name)
{
    const char *at = strstr(names, name);
    size_t length = strlen(name);
    return at && (at == names || at[-1] == '+') && (at[length] == '\0' || at[length] == '+');
}

void patient_has(struct patient *patient, const struct patient *reference, const char *names)
{
    struct fail fail = {0};
    struct doctor doctor = {.book = &patient->book,
                            .reference = reference ? &reference->book : NULL,
                            .diagnosis = &patient->diagnosis};
    size_t expected = *names ? 1 : 0;
    for (const char *at = strchr(names, '+'); at; at = strchr(at + 1, '+'))
        expected++;
    ck_assert_msg(doctor_diagnose(&doctor, &fail) == 0, "%s", fail.text);
    for (size_t i = 0; i < patient->diagnosis.finding_count; i++)
        ck_assert_msg(is_among(names, patient->diagnosis.findings[i].name),
                      "found %s (%s), expected '%s'", patient->diagnosis.findings[i].name,
                      patient->diagnosis.findings[i].deciding, names);
    ck_assert_msg(patient->diagnosis.finding_count == expected, "found %zu, expected '%s'",
                  patient->diagnosis.finding_count, names);
}

void patient_each_step(struct patient *patient, void (*change)(struct case_step *step, size_t rank))
{
    for (size_t rank = 0; rank < PATIENT_WORLD; rank++)
        for (size_t k = 0; k < PATIENT_STEPS; k++)
            change(&patient->steps[rank][k], rank);
}
