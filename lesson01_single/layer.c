/* layer: a dense layer and a ReLU, forward and backward. See the header for the maths. */
#include "lesson01_single/layer.h"
#include "lesson01_single/matmul.h"

#include <string.h>

void dense_forward(float *y, const float *x, const float *w, const float *b,
                   struct dense_shape shape)
{
    for (size_t row = 0; row < shape.rows; row++)
        if (b)
            memcpy(y + row * shape.out, b, shape.out * sizeof *y);
        else
            memset(y + row * shape.out, 0, shape.out * sizeof *y);
    matmul_nt(y, x, w, (struct matmul_shape){.m = shape.rows, .n = shape.out, .k = shape.in});
}

void dense_backward_weight(float *dw, const float *dy, const float *x, struct dense_shape shape)
{
    matmul_tn(dw, dy, x, (struct matmul_shape){.m = shape.out, .n = shape.in, .k = shape.rows});
}

void dense_backward_bias(float *db, const float *dy, struct dense_shape shape)
{
    for (size_t row = 0; row < shape.rows; row++)
        for (size_t i = 0; i < shape.out; i++)
            db[i] += dy[row * shape.out + i];
}

void dense_backward_input(float *dx, const float *dy, const float *w, struct dense_shape shape)
{
    matmul_nn(dx, dy, w, (struct matmul_shape){.m = shape.rows, .n = shape.in, .k = shape.out});
}

void relu_forward(float *y, size_t count)
{
    for (size_t i = 0; i < count; i++)
        y[i] = y[i] < 0 ? 0 : y[i]; // a NaN stays a NaN: it must be seen
}

void relu_backward(float *dy, const float *y, size_t count)
{
    for (size_t i = 0; i < count; i++)
        dy[i] = y[i] > 0 ? dy[i] : 0;
}
