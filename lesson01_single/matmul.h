/*
 * matmul: the three matrix products of a dense layer. The only file that knows OpenBLAS.
 *
 * Matrices are row-major and packed. Two of them add to what c holds, one replaces it. For one
 * shape, one machine and one number of threads, the same inputs give the same bits. What a product
 * takes is filed as gemm with the shape's profile, and what was done since the clock was last looked
 * at as elementwise.
 */
#ifndef LESSON01_MATMUL_H
#define LESSON01_MATMUL_H

#include "common/profile.h"

#include <stddef.h>

/* c is (m, n); k is the dimension that is summed over. */
struct matmul_shape {
    size_t m, n, k;
    struct profile *profile; // NULL: nobody counts
};

/* c (m, n) += a (m, k) times b (n, k) transposed: y = x W^T */
void matmul_nt(float *c, const float *a, const float *b, struct matmul_shape shape);

/* c (m, n) = a (m, k) times b (k, n), replacing c: dx = dy W */
void matmul_nn(float *c, const float *a, const float *b, struct matmul_shape shape);

/* c (m, n) += a (k, m) transposed times b (k, n): dW = dy^T x */
void matmul_tn(float *c, const float *a, const float *b, struct matmul_shape shape);

#endif
