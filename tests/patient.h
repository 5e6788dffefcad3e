/*
 * patient: a record as it would be read, made up in memory: of a small run in which all is well, until a test makes one
 * number of it wrong.
 *
 * Lesson 3, WORLD ranks, 10 samples in batches of 4: three steps an epoch, the last one short. Two tensors, and every step is
 * looked at. Its samples are the sampler's own, its gradients add up.
 */
#ifndef TESTS_PATIENT_H
#define TESTS_PATIENT_H

#include "common/doctor/doctor.h"

enum { PATIENT_WORLD = 3, PATIENT_STEPS = 7, PATIENT_TENSORS = 2 };

struct patient {
    struct casebook book;
    struct case_rank ranks[PATIENT_WORLD];
    struct case_start starts[PATIENT_WORLD][2];
    struct case_step steps[PATIENT_WORLD][PATIENT_STEPS];
    struct case_epoch epochs[PATIENT_WORLD][2];
    struct case_look looks[PATIENT_WORLD][PATIENT_STEPS];
    struct sketch sketches[PATIENT_WORLD][PATIENT_STEPS][3][PATIENT_TENSORS];
    struct sketch held[PATIENT_WORLD][2][PATIENT_TENSORS];
    struct diagnosis diagnosis;
};

/* A healthy one, trained with these options (batch, accumulate, clip, ...). Zeroed fields of options mean what the lessons'
 * defaults do. */
void patient_make(struct patient *patient, const struct options *options);

/* What every rank's optimizer was given is factor times the sum of own (rank) times their gradients, of all steps. */
void patient_reduce(struct patient *patient, double factor, const double *own);

/* Changes every step of every rank. */
void patient_each_step(struct patient *patient,
                       void (*change)(struct case_step *step, size_t rank));

/* Diagnoses it, beside a reference if there is one. Fails the test unless just these findings were made, with + between
 * them, in any order; "" for none. */
void patient_has(struct patient *patient, const struct patient *reference, const char *names);

#endif
