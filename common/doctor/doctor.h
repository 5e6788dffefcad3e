/*
 * doctor: from records to a diagnosis. First all is measured, theme by theme; only then is anything explained, so that
 * what follows from a fault is not taken for another one.
 *
 *     measure    setup, samples, weights, gradients, updates, masks, rates, losses: facts, no opinions
 *     explain    each theme's facts; parameters that drift apart are no finding where a fault that was found
 *                makes them drift
 *
 * Themes know nothing of each other but their facts.
 */
#ifndef DOCTOR_DOCTOR_H
#define DOCTOR_DOCTOR_H

#include "common/doctor/casebook.h"
#include "common/doctor/facts.h"
#include "common/doctor/diagnosis.h"

struct doctor {
    const struct casebook *book;
    const struct casebook *reference; // a healthy run of the same configuration, or NULL
    struct diagnosis *diagnosis;
    struct facts facts;
};

/* 0, or -ENOMEM. */
int doctor_diagnose(struct doctor *doctor, struct fail *fail);

/* Each fills its part of the facts; and says what that means. */
int samples_measure(struct doctor *doctor, struct fail *fail); // 0 or -ENOMEM
void setup_measure(struct doctor *doctor);
void weights_measure(struct doctor *doctor);
void gradients_measure(struct doctor *doctor);
void updates_measure(struct doctor *doctor);
void masks_measure(struct doctor *doctor);
void losses_measure(struct doctor *doctor);

void setup_explain(struct doctor *doctor);
void samples_explain(struct doctor *doctor);
void weights_explain(struct doctor *doctor);
void gradients_explain(struct doctor *doctor);
void updates_explain(struct doctor *doctor);
void masks_explain(struct doctor *doctor);
void losses_explain(struct doctor *doctor);
void rates_explain(struct doctor *doctor);
void drift_explain(struct doctor *doctor);     // after all that may be its cause
void reference_explain(struct doctor *doctor); // where there is one
void waiting_explain(struct doctor *doctor);
void notes_explain(struct doctor *doctor);

/* --- what several themes ask of a record --------------------------------------------------------- */

/* Step k of a rank, k < casebook_steps. */
static inline const struct case_step *doctor_step(const struct doctor *doctor, size_t rank,
                                                  size_t k)
{
    return &doctor->book->ranks[rank].steps[k];
}

/* Does every rank's optimizer own all parameters (lessons 1 to 3)? */
bool doctor_owns_all(const struct casebook *book);

/* Was one of its processes asked to clip? */
bool doctor_clips(const struct casebook *book);

/* Have all ranks looked closely at step k, and is every number of it finite? */
bool doctor_looked(const struct casebook *book, size_t k);

static inline const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

#endif
