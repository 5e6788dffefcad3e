/* notes: what makes a curve look odd and is no mistake: files in order, small batches, another x-axis. */
#include "common/doctor/doctor.h"

#include <math.h>

enum { WINDOW = 8 };

/* How much the loss jumps from step to step, and how far it came: the root of half the mean squared difference of
 * neighbours is the noise of one step. */
static void note_noise(struct doctor *doctor)
{
    size_t steps = casebook_steps(doctor->book), pairs = 0;
    double squares = 0, sum = 0;
    for (size_t k = 1; k < steps; k++) {
        double a = doctor_step(doctor, 0, k - 1)->loss, b = doctor_step(doctor, 0, k)->loss;
        if (!isfinite(a) || !isfinite(b))
            continue;
        squares += (a - b) * (a - b);
        sum += b;
        pairs++;
    }
    double noise = pairs > 0 ? sqrt(squares / (2 * (double)pairs)) : 0, mean = sum / (double)pairs;
    if (pairs < 2 * WINDOW || noise <= 0.15 * mean)
        return;
    diagnosis_note(doctor->diagnosis, "noise",
                   "the loss of one step is off by about %.2g, %.0f %% of its mean, as an update "
                   "takes %zu samples: this is "
                   "noise of small batches; look at a mean over many steps, or at the test loss",
                   noise, 100 * noise / mean, doctor_step(doctor, 0, 0)->samples);
}

void notes_explain(struct doctor *doctor)
{
    const struct options *options = &doctor->book->options;
    if (!options->shuffle)
        diagnosis_note(doctor->diagnosis, "no shuffle",
                       "--no-shuffle was asked for: every epoch has the order of the file, and a "
                       "pattern that repeats epoch "
                       "by epoch is that");
    if (options->drop_last && doctor->facts.samples.wrong_step == NOWHERE &&
        doctor->facts.samples.coverage.never > 0)
        diagnosis_note(doctor->diagnosis, "drop last",
                       "--drop-last was asked for: %zu samples of epoch %zu were left out, %s",
                       doctor->facts.samples.coverage.never, doctor->facts.samples.coverage.epoch,
                       options->shuffle ? "by chance others in the next" : "and the same in each");
    note_noise(doctor);
}
