/* layer: a dense layer and a ReLU, forward and backward. See the header for the maths. */
#include "lesson01_single/layer.h"
#include "lesson01_single/matmul.h"

#include <string.h>

static struct matmul_shape product(size_t m, size_t n, size_t k, struct dense_shape shape)
{
    return (struct matmul_shape){.m = m, .n = n, .k = k, .profile = shape.profile};
}

void dense_forward(float *y, const float *x, const float *w, const float *b,
                   struct dense_shape shape)
{
    for (size_t row = 0; row < shape.rows; row++)
        if (b)
            memcpy(y + row * shape.out, b, shape.out * sizeof *y);
        else
            memset(y + row * shape.out, 0, shape.out * sizeof *y);
    matmul_nt(y, x, w, product(shape.rows, shape.out, shape.in, shape));
}

void dense_backward_weight(float *dw, const float *dy, const float *x, struct dense_shape shape)
{
    // task 01.2 {
    matmul_tn(dw, dy, x, product(shape.out, shape.in, shape.rows, shape));
    // } 01.2
}

void dense_backward_bias(float *db, const float *dy, struct dense_shape shape)
{
    // task 01.2 {
    for (size_t row = 0; row < shape.rows; row++)
        for (size_t i = 0; i < shape.out; i++)
            db[i] += dy[row * shape.out + i];
    // } 01.2
}

void dense_backward_input(float *dx, const float *dy, const float *w, struct dense_shape shape)
{
    // task 01.2 {
    matmul_nn(dx, dy, w, product(shape.rows, shape.in, shape.out, shape));
    // } 01.2
}

void relu_forward(float *y, size_t count)
{
    for (size_t i = 0; i < count; i++)
        y[i] = y[i] < 0 ? 0 : y[i]; // a NaN stays a NaN: it must be seen
}

void relu_backward(float *dy, const float *y, size_t count)
{
    // task 01.2 {
    for (size_t i = 0; i < count; i++)
        dy[i] = y[i] > 0 ? dy[i] : 0;
    // } 01.2
}
