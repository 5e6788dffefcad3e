/* doctor: first all is measured, then it is explained, in this order. See doctor.h. */
#include "common/doctor/doctor.h"

#include <math.h>

bool doctor_owns_all(const struct casebook *book)
{
    return book->lesson < 4;
}

bool doctor_clips(const struct casebook *book)
{
    for (size_t i = 0; i < book->ranks[0].start_count; i++)
        if (book->ranks[0].starts[i].asked.clip > 0)
            return true;
    return false;
}

static bool is_finite(const struct case_look *look, size_t tensors)
{
    for (size_t i = 0; i < tensors; i++)
        if (!isfinite(look->raw[i].sum) || !isfinite(look->raw[i].squares) ||
            !isfinite(look->reduced[i].sum) || !isfinite(look->reduced[i].squares))
            return false;
    return true;
}

bool doctor_looked(const struct casebook *book, size_t k)
{
    for (size_t rank = 0; rank < book->world; rank++) {
        const struct case_step *step = &book->ranks[rank].steps[k];
        if (!step->look || !step->updated || step->nonfinite ||
            !is_finite(step->look, book->tensor_count))
            return false;
    }
    return true;
}

static void introduce(struct doctor *doctor)
{
    const struct casebook *book = doctor->book;
    size_t steps = casebook_steps(book), first = book->ranks[0].starts[0].first;
    snprintf(
        doctor->diagnosis->run, sizeof doctor->diagnosis->run,
        "lesson %d, %zu rank%s, %zu step%s from step %zu on, %zu parameters, %zu training samples",
        book->lesson, book->world, plural(book->world), steps, plural(steps), first,
        book->parameters, book->train_samples);
}

int doctor_diagnose(struct doctor *doctor, struct fail *fail)
{
    *doctor->diagnosis = (struct diagnosis){0};
    doctor->facts = (struct facts){0};
    introduce(doctor);
    int error = samples_measure(doctor, fail);
    if (error)
        return error;
    setup_measure(doctor);
    weights_measure(doctor);
    gradients_measure(doctor);
    updates_measure(doctor);
    masks_measure(doctor);
    losses_measure(doctor);

    setup_explain(doctor);
    samples_explain(doctor);
    weights_explain(doctor);
    gradients_explain(doctor);
    updates_explain(doctor);
    masks_explain(doctor);
    losses_explain(doctor);
    rates_explain(doctor);
    drift_explain(doctor);
    reference_explain(doctor);
    waiting_explain(doctor);
    notes_explain(doctor);
    return 0;
}
