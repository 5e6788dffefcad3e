/* loss: softmax cross-entropy and squared error, value and gradient. See the header. */
#include "lesson01_single/loss.h"

#include <math.h>

static float largest(const float *z, size_t count)
{
    float most = z[0];
    for (size_t i = 1; i < count; i++)
        most = z[i] > most ? z[i] : most;
    return most;
}

/* One sample: z becomes weight * (softmax(z) - onehot(label)). Subtracting the largest z leaves the
 * softmax as it is and keeps exp() from overflowing. */
static double cross_entropy_row(float *z, size_t label, float weight, size_t outputs)
{
    // task 01.1 {
    float most = largest(z, outputs), sum = 0;
    float margin = z[label] - most;
    for (size_t i = 0; i < outputs; i++) {
        z[i] = expf(z[i] - most);
        sum += z[i];
    }
    for (size_t i = 0; i < outputs; i++)
        z[i] = weight * (z[i] / sum - (i == label ? 1.0f : 0.0f));
    return log((double)sum) - (double)margin;
    // } 01.1
}

double loss_cross_entropy(float *z, const int32_t *labels, float weight, struct loss_shape shape)
{
    double sum = 0;
    for (size_t row = 0; row < shape.rows; row++)
        sum +=
            cross_entropy_row(z + row * shape.outputs, (size_t)labels[row], weight, shape.outputs);
    return sum;
}

double loss_squared_error(float *y, const float *t, float weight, struct loss_shape shape)
{
    float scale = 2 * weight / (float)shape.outputs;
    double sum = 0;
    for (size_t i = 0; i < shape.rows * shape.outputs; i++) {
        float error = y[i] - t[i];
        sum += (double)error * (double)error;
        y[i] = scale * error;
    }
    return sum / (double)shape.outputs;
}

size_t loss_correct(const float *z, const int32_t *labels, struct loss_shape shape)
{
    size_t correct = 0;
    for (size_t row = 0; row < shape.rows; row++) {
        const float *line = z + row * shape.outputs;
        size_t best = 0;
        for (size_t i = 1; i < shape.outputs; i++)
            best = line[i] > line[best] ? i : best;
        correct += best == (size_t)labels[row];
    }
    return correct;
}
