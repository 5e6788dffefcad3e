/* check_loss: softmax and cross-entropy against the same in double. See lesson01.h. */
#include "lesson01_single/loss.h"
#include "tests/grade/lesson01.h"

#include <math.h>
#include <string.h>

enum { ROWS_MOST = 8, OUTPUTS_MOST = 20, LOGITS_MOST = ROWS_MOST * OUTPUTS_MOST };

/* The roundings between a logit and its gradient. */
static const double FEW = 32 * 0x1p-24;

struct batch {
    struct loss_shape shape;
    float weight;
    float z[LOGITS_MOST], dz[LOGITS_MOST];
    int32_t labels[ROWS_MOST];
};

static void draw_batch(struct grade *grade, struct batch *batch)
{
    batch->shape =
        (struct loss_shape){grade_draw(grade, 3, ROWS_MOST), grade_draw(grade, 3, OUTPUTS_MOST)};
    batch->weight = 1 / (float)grade_draw(grade, 3, 99);
    for (size_t i = 0; i < batch->shape.rows * batch->shape.outputs; i++)
        batch->z[i] = batch->dz[i] = 6 * grade_value(grade, 0, i);
    for (size_t row = 0; row < batch->shape.rows; row++)
        batch->labels[row] = (int32_t)grade_draw(grade, 0, batch->shape.outputs - 1);
}

/* log of the sum of exp(z), z (count) being small numbers. */
static double log_sum(const float *z, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += exp((double)z[i]);
    return log(sum);
}

/* Rows from `row` to below `end`. */
static int compare_rows(struct grade *grade, const struct batch *batch, size_t row, size_t end)
{
    int wrong = 0;
    for (; row < end; row++) {
        const float *z = batch->z + row * batch->shape.outputs;
        double log_of = log_sum(z, batch->shape.outputs);
        for (size_t i = 0; i < batch->shape.outputs && !wrong; i++) {
            double share = exp((double)z[i] - log_of) - ((int32_t)i == batch->labels[row]);
            size_t at = row * batch->shape.outputs + i;
            wrong = grade_near(grade, "dz", at, (double)batch->dz[at],
                               (double)batch->weight * share, FEW * (double)batch->weight);
        }
    }
    return wrong;
}

int loss_gradient(struct grade *grade)
{
    struct batch batch;
    draw_batch(grade, &batch);
    loss_cross_entropy(batch.dz, batch.labels, batch.weight, batch.shape);
    return compare_rows(grade, &batch, 0, batch.shape.rows);
}

int loss_value(struct grade *grade)
{
    struct batch batch;
    double expected = 0;
    draw_batch(grade, &batch);
    for (size_t row = 0; row < batch.shape.rows; row++) {
        const float *z = batch.z + row * batch.shape.outputs;
        expected += log_sum(z, batch.shape.outputs) - (double)z[batch.labels[row]];
    }
    double found = loss_cross_entropy(batch.dz, batch.labels, batch.weight, batch.shape);
    return grade_expect(grade, fabs(found - expected) <= FEW * (double)batch.shape.rows * 20,
                        "%zu rows, weight %g: expected a loss of %.7g, found %.7g",
                        batch.shape.rows, (double)batch.weight, expected, found);
}

/* One logit towers over the others; in the second row it is not the label's. */
int loss_large(struct grade *grade)
{
    static const float tops[] = {1e4f, 3e38f};
    static const int32_t labels[2] = {1, 0};
    int wrong = 0;
    for (int i = 0; i < 2; i++) {
        float z[6] = {0, tops[i], 0, 0, tops[i], 0};
        double loss = loss_cross_entropy(z, labels, 0.25f, (struct loss_shape){2, 3});
        bool right =
            z[0] == 0 && z[1] == 0 && z[2] == 0 && z[3] == -0.25f && z[4] == 0.25f && z[5] == 0;
        wrong |= grade_expect(grade, fabs(loss / (double)tops[i] - 1) < FEW,
                              "a logit of %g: expected that as the loss, found %g", (double)tops[i],
                              loss);
        wrong |=
            grade_expect(grade, right,
                         "a logit of %g: expected gradients 0 0 0 and -0.25 0.25 0, found %g %g %g "
                         "and %g %g %g",
                         (double)tops[i], (double)z[0], (double)z[1], (double)z[2], (double)z[3],
                         (double)z[4], (double)z[5]);
    }
    return wrong;
}

int loss_nan(struct grade *grade)
{
    struct batch batch;
    draw_batch(grade, &batch);
    size_t row = 1;
    batch.dz[row * batch.shape.outputs + grade_draw(grade, 0, batch.shape.outputs - 1)] = NAN;
    double loss = loss_cross_entropy(batch.dz, batch.labels, batch.weight, batch.shape);
    int wrong = grade_expect(grade, isnan(loss),
                             "a NaN among the logits: expected a loss of NaN, found %g", loss);
    wrong = wrong || compare_rows(grade, &batch, 0, row);
    return wrong || compare_rows(grade, &batch, row + 1, batch.shape.rows);
}
