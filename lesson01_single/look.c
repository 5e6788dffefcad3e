/* look: what is measured of a step while it is made. See the header. */
#include "lesson01_single/look.h"

#include <math.h>

void look_begin(struct look *look, bool due)
{
    if (!look)
        return;
    *look = (struct look){
        .due = due,
        .steps = look->steps + 1,
        .weight_least = NAN,
        .weight_most = NAN,
        .clip = NAN,
        .epoch_seen = look->epoch_seen,
        .epoch_samples = look->epoch_samples,
    };
}

void look_rows(struct look *look, const uint32_t *samples, size_t rows, double weight)
{
    if (!look)
        return;
    look->micro_batches++;
    look->samples += rows;
    for (size_t row = 0; row < rows; row++)
        look->seen += sketch_mix((uint64_t)samples[row] + 1);
    if (rows > 0) {
        look->weight_least = fmin(look->weight_least, weight); // a NaN is no least
        look->weight_most = fmax(look->weight_most, weight);
    }
}

void look_final(struct look *look, const struct model *model, size_t tensor, const float *grad)
{
    if (!look)
        return;
    struct slice slice = model->tensors[tensor].slice;
    look->handed_over = look->micro_batches;
    if (look->due)
        sketch_add(&look->raw[tensor], grad, slice.count, slice.begin);
}

void look_update(struct look *look, size_t tensor, struct slice part, const float *grad,
                 bool decays)
{
    if (!look || !look->due)
        return;
    look->decayed += decays ? part.count : 0;
    sketch_add(&look->reduced[tensor], grad, part.count, part.begin);
}

void look_count(struct look *look, bool updated, double clip)
{
    if (!look)
        return;
    look->updated = updated;
    look->clip = updated ? clip : NAN;
}
