/* look: what is measured of a step while it is made. See the header. */
#include "lesson01_single/look.h"

#include <math.h>

enum { MASK_ROWS_MOST = 8 };

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

/* Rows come in order; in backward, when activations are computed again, from the first once more. */
bool look_wants_mask(struct look *look, size_t layer, size_t row)
{
    if (!look || !look->due || layer > 0 || look->micro_batches > 1)
        return false;
    if (row != look->mask_rows || row == MASK_ROWS_MOST)
        return false;
    look->mask_rows++;
    return true;
}

void look_mask(struct look *look, size_t unit, bool kept)
{
    if (kept)
        look->mask += sketch_mix((uint64_t)look->mask_rows << 32 | unit);
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
