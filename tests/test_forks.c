/* A process that has used BLAS forks ranks that use it too: right products, and nobody waits for a
 * thread that stayed behind. */
#include "lesson01_single/matmul.h"
#include "lesson02_allreduce/barrier.h"
#include "lesson02_allreduce/ring.h"
#include "tests/ranks.h"
#include "tests/suites.h"

#include <check.h>

enum { LEAST = 7, MOST = 64 };

/* y = x W^T of small whole numbers, exact in any order. Returns how many elements are wrong. */
static size_t wrong_products(size_t n)
{
    float x[MOST * MOST], w[MOST * MOST], y[MOST * MOST] = {0};
    size_t wrong = 0;
    for (size_t i = 0; i < n * n; i++) {
        x[i] = (float)(i % 5) - 2;
        w[i] = (float)(i % 7) - 3;
    }
    matmul_nt(y, x, w, (struct matmul_shape){.m = n, .n = n, .k = n});
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            float sum = 0;
            for (size_t k = 0; k < n; k++)
                sum += x[i * n + k] * w[j * n + k];
            wrong += y[i * n + j] != sum;
        }
    return wrong;
}

static int products_body(struct ranks_self *self)
{
    int wrong = 0;
    for (size_t n = LEAST; n <= MOST && !wrong; n++) {
        wrong = ranks_expect(self, wrong_products(n) == 0, "%zu x %zu", n, n);
        if (!wrong)
            wrong = barrier(self->comm);
    }
    return wrong ? 1 : 0;
}

START_TEST(products_are_right_in_ranks_forked_after_products)
{
    struct ranks_result result;
    for (size_t n = LEAST; n <= MOST; n++)
        ck_assert_uint_eq(wrong_products(n), 0);
    ranks_run(1 + _i, products_body, NULL, &result);
    ranks_assert_ok(&result);
    ck_assert_uint_eq(wrong_products(MOST), 0); // and still here
}
END_TEST

Suite *forks_suite(void)
{
    Suite *suite = suite_create("forks");
    TCase *tcase = tcase_create("blas");
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, products_are_right_in_ranks_forked_after_products, 0, 3);
    suite_add_tcase(suite, tcase);
    return suite;
}
