/* matmul: OpenBLAS's sgemm under the names of a dense layer's products. See the header. */
#include "lesson01_single/matmul.h"

#include <cblas.h>

void matmul_nt(float *c, const float *a, const float *b, struct matmul_shape shape)
{
    blasint m = (blasint)shape.m, n = (blasint)shape.n, k = (blasint)shape.k;
    profile_lap(shape.profile, PROFILE_ELEMENTWISE);
    if (m > 0)
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, n, k, 1, a, k, b, k, 1, c, n);
    profile_lap(shape.profile, PROFILE_GEMM);
}

void matmul_nn(float *c, const float *a, const float *b, struct matmul_shape shape)
{
    blasint m = (blasint)shape.m, n = (blasint)shape.n, k = (blasint)shape.k;
    profile_lap(shape.profile, PROFILE_ELEMENTWISE);
    if (m > 0)
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, a, k, b, n, 0, c, n);
    profile_lap(shape.profile, PROFILE_GEMM);
}

void matmul_tn(float *c, const float *a, const float *b, struct matmul_shape shape)
{
    blasint m = (blasint)shape.m, n = (blasint)shape.n, k = (blasint)shape.k;
    profile_lap(shape.profile, PROFILE_ELEMENTWISE);
    if (k > 0)
        cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, m, n, k, 1, a, m, b, n, 1, c, n);
    profile_lap(shape.profile, PROFILE_GEMM);
}
