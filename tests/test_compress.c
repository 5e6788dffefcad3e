/* Sums of bf16 numbers, added in float: what every rank holds, what it sent, what it kept back. */
#include "lesson03_ddp/compress.h"
#include "common/half.h"
#include "common/rng.h"
#include "common/slice.h"
#include "lesson02_allreduce/allreduce.h"
#include "lesson02_allreduce/wire.h"
#include "tests/ranks.h"
#include "tests/suites.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WORLDS = 4, COUNT_MOST = 3000 };

/* 0, 1, around the world's size, around the blocks that are worked on, and what divides by nothing. */
static size_t count_of(int world, int number)
{
    static const size_t others[] = {0, 1, 511, 513, 2051, COUNT_MOST - 1};
    size_t near = (size_t)world - 1 + (size_t)number;
    return number < 3 ? near : others[(size_t)(number - 3) % (sizeof others / sizeof *others)];
}

/* Of rank `rank` in step `step`: anything, of many sizes. */
static float gradient_at(int rank, uint32_t step, size_t i)
{
    struct rng rng = {.seed = step, .stream = RNG_TEST, .sub = (uint32_t)rank};
    return ldexpf(rng_uniform(&rng, 2 * i) - 0.5f, (int)(rng_bits(&rng, 2 * i + 1) % 30) - 20);
}

static void fill(float *grad, int rank, uint32_t step, size_t count)
{
    for (size_t i = 0; i < count; i++)
        grad[i] = gradient_at(rank, step, i);
}

/* By the definition, one element at a time. */
static float expected_at(int world, uint32_t step, size_t i)
{
    float sum = 0;
    for (int rank = 0; rank < world; rank++) {
        float part = half_bf16_value(half_bf16_of(gradient_at(rank, step, i)));
        sum = rank == 0 ? part : sum + part;
    }
    return half_bf16_value(half_bf16_of(sum));
}

static int open_compress(struct compress *compress, struct ranks_self *self, bool feedback,
                         struct memory *memory)
{
    return compress_init(compress, COUNT_MOST, self->world, COUNT_MOST, feedback, memory);
}

static int check_sum(struct ranks_self *self, const float *grad, struct slice part)
{
    for (size_t i = part.begin; i < part.begin + part.count; i++) {
        float expected = expected_at(self->world, 1, i);
        if (memcmp(&grad[i], &expected, sizeof expected) != 0)
            return ranks_expect(self, false, "element %zu is %a, not %a", i, (double)grad[i],
                                (double)expected);
    }
    return 0;
}

/* All-reduce, then the first half alone. */
static int sums_body(struct ranks_self *self)
{
    size_t count = *(const size_t *)self->context;
    float grad[COUNT_MOST];
    struct memory memory = {0};
    struct compress compress;
    struct slice all = {.count = count};
    int wrong = open_compress(&compress, self, false, &memory);
    fill(grad, self->rank, 1, count);
    if (!wrong)
        wrong = compress_allreduce(&compress, self->comm, grad, all);
    if (!wrong)
        wrong = check_sum(self, grad, all);
    fill(grad, self->rank, 1, count);
    if (!wrong)
        wrong = compress_reduce_scatter(&compress, self->comm, grad, all);
    if (!wrong)
        wrong = check_sum(self, grad, slice_of(count, (size_t)self->world, (size_t)self->rank));
    compress_release(&compress);
    if (!wrong)
        wrong =
            ranks_expect(self, memory.now_bytes[MEMORY_BUFFERS] == 0, "memory was not returned");
    return wrong ? 1 : 0;
}

START_TEST(each_rank_is_rounded_once_and_their_sum_once)
{
    int world = 1 + _i % WORLDS;
    size_t count = count_of(world, _i / WORLDS);
    struct ranks_result result;
    ranks_run(world, sums_body, &count, &result);
    ranks_assert_ok(&result);
}
END_TEST

static int cuts_body(struct ranks_self *self)
{
    static const struct slice cuts[] = {{700, 2000}, {0, 1}, {1, 699}, {2700, 100}};
    enum { CUT_COUNT = 2800 };
    float grad[COUNT_MOST];
    struct memory memory = {0};
    struct compress compress;
    int wrong = open_compress(&compress, self, false, &memory);
    fill(grad, self->rank, 1, CUT_COUNT);
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts && !wrong; i++)
        wrong = compress_allreduce(&compress, self->comm, grad + cuts[i].begin, cuts[i]);
    if (!wrong)
        wrong = check_sum(self, grad, (struct slice){.count = CUT_COUNT});
    compress_release(&compress);
    return wrong ? 1 : 0;
}

START_TEST(bits_do_not_depend_on_where_buckets_are_cut)
{
    struct ranks_result result;
    ranks_run(3, cuts_body, NULL, &result);
    ranks_assert_ok(&result);
}
END_TEST

/* --- the wire -------------------------------------------------------------------------------- */

/* Two bytes for each element that has to travel, and a header for each message. */
static uint64_t bytes_due(int world, int rank, size_t count)
{
    size_t ranks = (size_t)world, own = slice_of(count, ranks, (size_t)rank).count;
    size_t messages = 2 * (ranks - 1), elements = count - own + (ranks - 1) * own;
    return messages * WIRE_FRAME_BYTES + 2 * elements;
}

static int bytes_body(struct ranks_self *self)
{
    float grad[COUNT_MOST];
    struct memory memory = {0};
    struct compress compress;
    int wrong = open_compress(&compress, self, true, &memory);
    fill(grad, self->rank, 1, COUNT_MOST);
    uint64_t before = comm_bytes_sent(self->comm);
    if (!wrong)
        wrong =
            compress_allreduce(&compress, self->comm, grad, (struct slice){.count = COUNT_MOST});
    uint64_t sent = comm_bytes_sent(self->comm) - before;
    uint64_t due = bytes_due(self->world, self->rank, COUNT_MOST);
    if (!wrong)
        wrong = ranks_expect(self, sent == due, "%llu bytes were sent, %llu are due",
                             (unsigned long long)sent, (unsigned long long)due);
    compress_release(&compress);
    return wrong ? 1 : 0;
}

START_TEST(two_bytes_travel_for_each_element)
{
    struct ranks_result result;
    ranks_run(1 + _i, bytes_body, NULL, &result);
    ranks_assert_ok(&result);
}
END_TEST

/* Rank 1 does not compress. */
static int mixed_body(struct ranks_self *self)
{
    float grad[64] = {0};
    struct memory memory = {0};
    struct compress compress;
    int error = open_compress(&compress, self, false, &memory);
    if (!error && self->rank == 1)
        error = allreduce(self->comm, grad, grad, 64, COMM_F32, COMM_SUM);
    else if (!error)
        error = compress_allreduce(&compress, self->comm, grad, (struct slice){.count = 64});
    compress_release(&compress);
    return error ? 1 : 0;
}

START_TEST(ranks_that_disagree_whether_to_compress_are_told_so)
{
    struct ranks_result result;
    ranks_run(2, mixed_body, NULL, &result);
    for (int rank = 0; rank < 2; rank++) {
        ck_assert_int_eq(result.code[rank], 1);
        ck_assert_msg(strstr(result.text[rank], "64 bf16") && strstr(result.text[rank], "64 f32"),
                      "%s", result.text[rank]);
    }
}
END_TEST

/* --- error feedback -------------------------------------------------------------------------- */

enum { STEPS = 50, FEW = 37 };

/* Multiples of 2^-16 below 4: every sum of some of them is exact in float. */
static float dyadic_at(int rank, uint32_t step, size_t i)
{
    struct rng rng = {.seed = step, .stream = RNG_TEST, .sub = (uint32_t)rank};
    return (float)(rng_bits(&rng, i) % 0x40000) * 0x1p-16f - 2;
}

/* truth[i] += the sum over ranks of what they add in this step. */
static void add_truth(double *truth, int world, uint32_t step)
{
    for (int rank = 0; rank < world; rank++)
        for (size_t i = 0; i < FEW; i++)
            truth[i] += (double)dyadic_at(rank, step, i);
}

/* After each step: all that was applied and all that is kept back are all that was given. */
static int conserve(struct ranks_self *self, const struct compress *compress, const double *applied,
                    const double *truth)
{
    double kept[FEW];
    for (size_t i = 0; i < FEW; i++)
        kept[i] = (double)compress->residual[i];
    int wrong = allreduce(self->comm, kept, kept, FEW, COMM_F64, COMM_SUM);
    for (size_t i = 0; i < FEW && !wrong; i++)
        wrong = ranks_expect(self, applied[i] + kept[i] == truth[i], "element %zu: %a + %a, not %a",
                             i, applied[i], kept[i], truth[i]);
    return wrong;
}

static int feedback_body(struct ranks_self *self)
{
    float grad[FEW];
    double applied[FEW] = {0}, truth[FEW] = {0};
    struct memory memory = {0};
    struct compress compress;
    int wrong = open_compress(&compress, self, true, &memory);
    for (uint32_t step = 0; step < STEPS && !wrong; step++) {
        struct slice parts[] = {{0, 1 + step % FEW}, {1 + step % FEW, FEW - 1 - step % FEW}};
        for (size_t i = 0; i < FEW; i++)
            grad[i] = dyadic_at(self->rank, step, i);
        for (int part = 0; part < 2 && !wrong; part++) // another cut, other owners, in every step
            wrong =
                compress_allreduce(&compress, self->comm, grad + parts[part].begin, parts[part]);
        for (size_t i = 0; i < FEW; i++)
            applied[i] += (double)grad[i];
        add_truth(truth, self->world, step);
        if (!wrong)
            wrong = conserve(self, &compress, applied, truth);
    }
    compress_release(&compress);
    return wrong ? 1 : 0;
}

START_TEST(with_error_feedback_nothing_is_lost_in_fifty_steps)
{
    struct ranks_result result;
    ranks_run(1 + _i, feedback_body, NULL, &result);
    ranks_assert_ok(&result);
}
END_TEST

/* A constant gradient a quarter of bf16's spacing above 1: without e it is 1 for ever. */
static int small_body(struct ranks_self *self)
{
    const bool *feedback = self->context;
    const float given = 1 + 0x1p-9f;
    double applied = 0;
    struct memory memory = {0};
    struct compress compress;
    int wrong = open_compress(&compress, self, *feedback, &memory);
    for (int step = 0; step < 64 && !wrong; step++) {
        float grad = given;
        wrong = compress_allreduce(&compress, self->comm, &grad, (struct slice){.count = 1});
        applied += (double)grad;
    }
    double truth = 64 * (double)given * self->world, off = fabs(applied - truth);
    double most = 0x1p-7 * self->world; // what e may hold: a unit in the last place
    compress_release(&compress);
    if (!wrong)
        wrong = ranks_expect(self, *feedback ? off <= most : applied == 64 * self->world,
                             "%a instead of %a", applied, truth);
    return wrong ? 1 : 0;
}

START_TEST(what_is_too_small_to_be_sent_is_sent_later_with_error_feedback_only)
{
    bool feedback = _i % 2;
    struct ranks_result result;
    ranks_run(1 + _i / 2, small_body, &feedback, &result);
    ranks_assert_ok(&result);
}
END_TEST

/* Rank 1 has a NaN, an infinity, and a number too large for bf16; the sum of another two is. */
static int broken_body(struct ranks_self *self)
{
    float grad[] = {1, 1 + 0x1p-9f, 1, 1, 0x1.fep127f};
    struct memory memory = {0};
    struct compress compress;
    int wrong = open_compress(&compress, self, true, &memory);
    if (self->rank == 1) {
        grad[0] = NAN;
        grad[2] = -INFINITY;
        grad[3] = 3.4028235e38f;
    }
    if (!wrong)
        wrong = compress_allreduce(&compress, self->comm, grad, (struct slice){.count = 5});
    if (!wrong)
        wrong = ranks_expect(self,
                             isnan(grad[0]) && grad[1] == 2 && isinf(grad[2]) && isinf(grad[3]) &&
                                 isinf(grad[4]),
                             "%f %f %f %f %f", (double)grad[0], (double)grad[1], (double)grad[2],
                             (double)grad[3], (double)grad[4]);
    for (size_t i = 0; i < 5 && !wrong; i++)
        wrong = ranks_expect(self, isfinite(compress.residual[i]), "e[%zu] is %f", i,
                             (double)compress.residual[i]);
    compress_release(&compress);
    return wrong ? 1 : 0;
}

START_TEST(what_is_not_finite_arrives_as_such_and_is_not_kept)
{
    struct ranks_result result;
    ranks_run(2, broken_body, NULL, &result);
    ranks_assert_ok(&result);
}
END_TEST

Suite *compress_suite(void)
{
    Suite *suite = suite_create("compress");
    TCase *tcase = tcase_create("compress");
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, each_rank_is_rounded_once_and_their_sum_once, 0, WORLDS * 9);
    tcase_add_test(tcase, bits_do_not_depend_on_where_buckets_are_cut);
    tcase_add_loop_test(tcase, two_bytes_travel_for_each_element, 0, WORLDS);
    tcase_add_test(tcase, ranks_that_disagree_whether_to_compress_are_told_so);
    tcase_add_loop_test(tcase, with_error_feedback_nothing_is_lost_in_fifty_steps, 0, WORLDS);
    tcase_add_loop_test(tcase, what_is_too_small_to_be_sent_is_sent_later_with_error_feedback_only,
                        0, 2 * WORLDS);
    tcase_add_test(tcase, what_is_not_finite_arrives_as_such_and_is_not_kept);
    suite_add_tcase(suite, tcase);
    return suite;
}
