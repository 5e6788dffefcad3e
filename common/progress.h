/*
 * progress: how far a training run is, for the person who waits for it.
 *
 * A line per epoch; and, on a terminal, a bar below the last line that is drawn over itself:
 *
 *     epoch  3/20  loss 0.1234  test loss 0.1410  accuracy 95.83 %  lr 0.05  51200 samples/s
 *     [###--------]  30 %  epoch 4/20  loss 0.1187  lr 0.05  51340 samples/s  0:12 left
 *
 * It has 79 columns, and on a narrower terminal one less than there are: then first the bar shrinks and goes, and
 * after it the rate, the epoch, the speed, the time left and the loss.
 *
 * It writes to the one stream it was given and nowhere else; NULL prints nothing, which is how the
 * ranks but one and a quiet run use it. Time comes from the caller. Nothing allocates.
 */
#ifndef COMMON_PROGRESS_H
#define COMMON_PROGRESS_H

#include "common/options.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct progress {
    FILE *out; // NULL: prints nothing
    bool bar;  // is there a bar?
    bool drawn;
    size_t first, steps, epochs;
    size_t samples; // since `began`
    double began_seconds, drawn_seconds;
};

struct progress_step {
    size_t done;  // updates, those before a resume included
    size_t epoch; // from 0
    double loss, lr;
    size_t samples; // of this update, over all ranks
    double now_seconds;
};

struct progress_epoch {
    size_t epoch;                  // from 0
    double loss, test_loss;        // the latter NAN without test samples
    double test_accuracy;          // 0..1; NAN for regression: left out
    double lr, samples_per_second; // a speed that is NAN is left out
};

/* PROGRESS_AUTO draws a bar when `out` is a terminal that can, PROGRESS_ALWAYS whatever it is,
 * PROGRESS_NEVER never. */
void progress_begin(struct progress *progress, FILE *out, enum progress_kind kind);

/* Before the first update: `first` of `steps` are done already, in a run of `epochs`. */
void progress_plan(struct progress *progress, size_t first, size_t steps, size_t epochs,
                   double now_seconds);

/* After an update: redraws the bar, at most ten times a second. */
void progress_step(struct progress *progress, const struct progress_step *step);

/* A loss for people: four decimals, or where these would follow a row of digits, four digits. */
enum { PROGRESS_LOSS_BYTES = 24 };
void progress_loss(char text[PROGRESS_LOSS_BYTES], double loss);

/* After an epoch: its line. */
void progress_epoch(struct progress *progress, const struct progress_epoch *epoch);

/* Takes the bar away, before something else is printed there; the next step draws it again. */
void progress_clear(struct progress *progress);

#endif
