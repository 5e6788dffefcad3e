/*
 * Every algorithm over real sockets, of both transports: bit for bit what its replay makes of the
 * same vectors, for every type and operation, at awkward worlds and counts, in place and not.
 *
 * Every rank can make every rank's vector, so each replays the whole call alone; all compare with
 * the same replay, so all hold the same bits.
 */
#include "lesson02_allreduce/allreduce.h"
#include "common/slice.h"
#include "lesson02_allreduce/direct.h"
#include "lesson02_allreduce/replay.h"
#include "lesson02_allreduce/steps.h"
#include "lesson02_allreduce/wire.h"
#include "tests/ranks.h"
#include "tests/suites.h"
#include "tests/watched.h"

#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const int worlds[] = {1, 2, 3, 4, 5, 7, 8};
enum {
    WORLDS = sizeof worlds / sizeof *worlds,
    ALGORITHMS = ALGORITHM_AUTO,
    TYPES = 5,
    REDUCTIONS = 4,
    TRANSPORTS = 2,
    LONG = 100003 // several segments of every algorithm, and divisible by no world
};

/* One call, on vectors that every rank can make. */
struct call {
    enum algorithm algorithm;
    enum comm_type type;
    enum comm_reduction reduction;
    size_t count;
    bool in_place;
};

typedef void filler(void *vector, const struct call *call, int rank);

static uint64_t scramble(uint64_t i, int rank)
{
    uint64_t x = (i + 1) * 0x9E3779B97F4A7C15u + (uint64_t)(rank + 1) * 0xD1B54A32D192ED03u;
    return (x ^ (x >> 29)) * 0xBF58476D1CE4E5B9u;
}

/* Fractions whose sums and products round differently in every order; whole numbers that wrap. */
static void fill_any(void *vector, const struct call *call, int rank)
{
    for (size_t i = 0; i < call->count; i++) {
        uint64_t bits = scramble(i, rank);
        double f64 = (double)(bits >> 11) * 0x1p-52 - 0.75;
        if (call->type == COMM_F32)
            ((float *)vector)[i] = (float)f64;
        else if (call->type == COMM_F64)
            ((double *)vector)[i] = f64;
        else
            memcpy((uint8_t *)vector + i * comm_type_bytes(call->type), &bits,
                   comm_type_bytes(call->type));
    }
}

/* A NaN, infinities and zeros of either sign, on some rank or other; the rest are whole numbers. */
static double special(size_t i, int rank)
{
    switch (i % 8) {
    case 0: // one bad number, on a rank that differs from element to element
        return (size_t)rank == i / 8 % 3 ? (double)NAN : rank + 1;
    case 1:
        return (size_t)rank == i / 8 % 3 ? (double)INFINITY : rank + 1;
    case 2:
        return (size_t)rank == i / 8 % 3 ? (double)-INFINITY : -rank - 1;
    case 3: // infinities of both signs
        return rank % 2 ? (double)INFINITY : (double)-INFINITY;
    case 4: // zeros of both signs
        return ((size_t)rank + i / 8) % 2 ? 0.0 : -0.0;
    case 5:
        return -0.0;
    default:
        return rank + (double)i;
    }
}

static void fill_special(void *vector, const struct call *call, int rank)
{
    for (size_t i = 0; i < call->count; i++)
        if (call->type == COMM_F32)
            ((float *)vector)[i] = (float)special(i, rank);
        else
            ((double *)vector)[i] = special(i, rank);
}

/* What the algorithm should make of all ranks' vectors, into out. */
static void replay(struct ranks_self *self, const struct call *call, filler *fill, void *out)
{
    const void *shares[RANKS_MOST];
    size_t bytes = call->count * comm_type_bytes(call->type);
    uint8_t *all = malloc((size_t)self->world * bytes + 1);
    for (int rank = 0; rank < self->world; rank++) {
        shares[rank] = all + (size_t)rank * bytes;
        fill(all + (size_t)rank * bytes, call, rank);
    }
    struct replay replay = {shares, (size_t)self->world, call->count, call->type, call->reduction};
    replay_allreduce(&replay, call->algorithm, out);
    free(all);
}

static int expect_equal(struct ranks_self *self, const struct call *call, const void *found,
                        const void *expected, const char *what)
{
    size_t bytes = call->count * comm_type_bytes(call->type);
    return ranks_expect(self, bytes == 0 || memcmp(found, expected, bytes) == 0,
                        "%s, %zu of type %d, reduction %d, %s: %s", algorithm_name(call->algorithm),
                        call->count, call->type, call->reduction,
                        call->in_place ? "in place" : "not in place", what);
}

/* Guards one element past the end, and the input. */
static int check_call(struct ranks_self *self, const struct call *call, filler *fill)
{
    size_t size = comm_type_bytes(call->type), bytes = call->count * size;
    uint8_t *slab = malloc(4 * (bytes + 8));
    uint8_t *expected = slab, *before = slab + (bytes + 8), *in = before + (bytes + 8);
    uint8_t *out = call->in_place ? in : in + (bytes + 8);
    bytes = call->count * size;
    replay(self, call, fill, expected);
    fill(before, call, self->rank);
    fill(in, call, self->rank);
    memset(in + bytes, 0x5A, 8);
    memset(out + bytes, 0x5A, 8);
    int wrong = allreduce(self->comm, in, out, call->count, call->type, call->reduction);
    if (!wrong)
        wrong = expect_equal(self, call, out, expected, "other bits than the replay's");
    if (!wrong && !call->in_place)
        wrong = expect_equal(self, call, in, before, "the input changed");
    for (size_t i = 0; i < 8 && !wrong; i++)
        wrong = ranks_expect(self, out[bytes + i] == 0x5A, "%zu elements: wrote past the end",
                             call->count);
    free(slab);
    return wrong;
}

static int check_both_ways(struct ranks_self *self, struct call call, filler *fill)
{
    call.in_place = true;
    int wrong = check_call(self, &call, fill);
    call.in_place = false;
    return wrong ? wrong : check_call(self, &call, fill);
}

static enum algorithm choose(struct ranks_self *self)
{
    enum algorithm algorithm = *(const enum algorithm *)self->context;
    struct choice choice = choice_fixed(algorithm);
    comm_set_choice(self->comm, &choice);
    return algorithm;
}

/* Each type and operation at each count in turn; the last is one more than direct sends whole. */
static int grid_body(struct ranks_self *self)
{
    enum algorithm algorithm = choose(self);
    size_t world = (size_t)self->world;
    int wrong = 0;
    int stride = world > 4 ? 3 : 1; // many ranks on few cores are slow: a third of the pairs
    for (int pair = 0; pair < TYPES * REDUCTIONS && !wrong; pair += stride) {
        struct call call = {algorithm, (enum comm_type)(pair % TYPES),
                            (enum comm_reduction)(pair / TYPES), 0, true};
        const size_t counts[] = {
            0,     1,
            2,     world - 1,
            world, world + 1,
            17,    algorithm_direct_whole_bytes(self->world) / comm_type_bytes(call.type) + 1};
        for (size_t i = 0; i < sizeof counts / sizeof *counts && !wrong; i++) {
            call.count = counts[i];
            wrong = check_both_ways(self, call, fill_any);
        }
    }
    struct call longest = {algorithm, COMM_F32, COMM_SUM, LONG, true};
    return wrong || check_both_ways(self, longest, fill_any);
}

static void run(int world, ranks_body *body, enum algorithm algorithm,
                enum comm_transport transport)
{
    struct ranks_result result;
    struct ranks_plan plan = {
        .world = world, .body = body, .context = &algorithm, .transport = transport};
    ranks_run_plan(&plan, &result);
    ranks_assert_ok(&result);
}

START_TEST(every_algorithm_has_its_replays_bits_for_every_type_operation_count_and_world)
{
    run(worlds[_i / ALGORITHMS], grid_body, (enum algorithm)(_i % ALGORITHMS), COMM_TCP);
}
END_TEST

START_TEST(and_over_unix_sockets)
{
    run(4, grid_body, (enum algorithm)_i, COMM_UNIX);
}
END_TEST

/* A bad number must reach everybody, whatever the operation: no rank alone can know of it. */
static int check_nan(struct ranks_self *self, struct call call)
{
    double data[64] = {0};
    fill_special(data, &call, self->rank);
    int wrong = allreduce(self->comm, data, data, call.count, COMM_F64, call.reduction);
    for (size_t i = 0; i < call.count && !wrong; i += 8)
        wrong = ranks_expect(self, isnan(data[i]), "%s, reduction %d: a NaN became %g",
                             algorithm_name(call.algorithm), call.reduction, data[i]);
    return wrong;
}

static int special_body(struct ranks_self *self)
{
    struct call call = {choose(self), COMM_F32, COMM_SUM, 64, true};
    int wrong = 0;
    for (int i = 0; i < REDUCTIONS && !wrong; i++) {
        call.reduction = (enum comm_reduction)i;
        call.type = COMM_F32;
        wrong = check_both_ways(self, call, fill_special);
        call.type = COMM_F64;
        if (!wrong)
            wrong = check_both_ways(self, call, fill_special);
        if (!wrong)
            wrong = check_nan(self, call);
    }
    return wrong != 0;
}

START_TEST(nan_infinities_and_zeros_of_either_sign_have_the_replays_bits_too)
{
    static const int of[] = {3, 5};
    run(of[_i / ALGORITHMS], special_body, (enum algorithm)(_i % ALGORITHMS), COMM_TCP);
}
END_TEST

/* 3e8, 1, -3e8, 2: the sum depends on the order, but not on the rank that asks. */
static int cancelling_body(struct ranks_self *self)
{
    static const float values[4] = {3e8f, 1, -3e8f, 2};
    float data[16], everyone[4][16] = {{0}};
    choose(self);
    for (int i = 0; i < 16; i++)
        data[i] = values[self->rank];
    int wrong = allreduce(self->comm, data, data, 16, COMM_F32, COMM_SUM);
    for (int i = 0; i < 16 && !wrong; i++)
        wrong = ranks_expect(self, data[i] >= 0 && data[i] <= 2, "[%d] is %g", i, (double)data[i]);
    memcpy(everyone[self->rank], data, sizeof data);
    if (!wrong)
        wrong = direct_all_gather(self->comm, everyone, 64, COMM_F32);
    for (int rank = 0; rank < 4 && !wrong; rank++)
        wrong = ranks_expect(self, memcmp(everyone[rank], data, sizeof data) == 0,
                             "rank %d has other bits", rank);
    return wrong != 0;
}

START_TEST(all_ranks_hold_the_same_bits_where_the_order_shows)
{
    run(4, cancelling_body, (enum algorithm)_i, COMM_TCP);
}
END_TEST

/* Whole, and in pieces of growing size. */
static int pieces_body(struct ranks_self *self)
{
    enum { COUNT = 40009 };
    struct call call = {choose(self), COMM_F32, COMM_SUM, COUNT, true};
    float *whole = malloc(2 * COUNT * sizeof *whole), *pieces = whole + COUNT;
    fill_any(whole, &call, self->rank);
    fill_any(pieces, &call, self->rank);
    int wrong = allreduce(self->comm, whole, whole, COUNT, COMM_F32, COMM_SUM);
    for (size_t at = 0, piece = 1; at < COUNT && !wrong; at += piece, piece = 3 * piece + 1) {
        size_t count = COUNT - at < piece ? COUNT - at : piece;
        wrong = allreduce(self->comm, pieces + at, pieces + at, count, COMM_F32, COMM_SUM);
    }
    if (!wrong)
        wrong = expect_equal(self, &call, pieces, whole, "in pieces it has other bits");
    free(whole);
    return wrong != 0;
}

static const int some_worlds[] = {1, 3, 4, 5};

START_TEST(the_bits_of_all_but_the_ring_do_not_depend_on_how_a_vector_is_cut)
{
    run(some_worlds[_i / 4], pieces_body, (enum algorithm)(ALGORITHM_ROOT + _i % 4), COMM_TCP);
}
END_TEST

/* Reduce-scatter leaves chunk r at rank r; then all-gather makes it an all-reduce. */
static int halves_body(struct ranks_self *self)
{
    struct call call = {choose(self), COMM_F32, COMM_SUM, LONG, true};
    float *data = malloc(2 * LONG * sizeof *data), *expected = data + LONG;
    fill_any(data, &call, self->rank);
    replay(self, &call, fill_any, expected);
    struct slice own = slice_of(LONG, (size_t)self->world, (size_t)self->rank);
    int wrong = reduce_scatter(self->comm, data, LONG, COMM_F32, COMM_SUM);
    if (!wrong)
        wrong = ranks_expect(
            self, memcmp(data + own.begin, expected + own.begin, own.count * sizeof *data) == 0,
            "the owned chunk has other bits");
    for (size_t i = 0; i < LONG; i++) // what is not owned must come from its owner
        data[i] = i >= own.begin && i < own.begin + own.count ? data[i] : -1;
    if (!wrong)
        wrong = all_gather(self->comm, data, LONG, COMM_F32);
    if (!wrong)
        wrong = expect_equal(self, &call, data, expected, "its halves make other bits");
    free(data);
    return wrong != 0;
}

START_TEST(ring_and_direct_come_in_two_halves_of_the_same_bits)
{
    run(some_worlds[_i / 2], halves_body, _i % 2 ? ALGORITHM_DIRECT : ALGORITHM_RING, COMM_TCP);
}
END_TEST

/* The payload of the list's messages, and a header for each frame. */
static int check_sent(struct ranks_self *self, enum algorithm algorithm, size_t count, float *data)
{
    enum { TRANSFERS_MOST = 100, FRAMES_MOST = 64 };
    struct transfer transfers[TRANSFERS_MOST];
    size_t made = steps_of(algorithm, self->world, count, transfers, TRANSFERS_MOST);
    uint64_t listed = 0, before = comm_bytes_sent(self->comm);
    for (size_t i = 0; i < made && i < TRANSFERS_MOST; i++)
        listed += transfers[i].from == self->rank ? transfers[i].part.count * sizeof *data : 0;
    int wrong = allreduce(self->comm, data, data, count, COMM_F32, COMM_SUM);
    uint64_t sent = comm_bytes_sent(self->comm) - before, headers = sent - listed;
    return wrong ||
           ranks_expect(self,
                        made <= TRANSFERS_MOST && sent >= listed &&
                            headers % WIRE_FRAME_BYTES == 0 &&
                            headers <= FRAMES_MOST * WIRE_FRAME_BYTES,
                        "%s of %zu: sent %llu bytes, the list says %llu", algorithm_name(algorithm),
                        count, (unsigned long long)sent, (unsigned long long)listed);
}

/* Direct sends whole up to its limit, and in parts from there. */
static int sent_body(struct ranks_self *self)
{
    enum algorithm algorithm = choose(self);
    size_t whole = algorithm_direct_whole_bytes(self->world) / sizeof(float);
    const size_t counts[] = {1, 19, whole, whole + 1, LONG};
    float *data = calloc(LONG, sizeof *data);
    int wrong = data == NULL;
    for (size_t i = 0; i < sizeof counts / sizeof *counts && !wrong; i++)
        wrong = check_sent(self, algorithm, counts[i], data);
    free(data);
    return wrong;
}

START_TEST(a_rank_sends_what_the_list_of_steps_says)
{
    run(some_worlds[_i / ALGORITHMS], sent_body, (enum algorithm)(_i % ALGORITHMS), COMM_TCP);
}
END_TEST

/* Of 2^24, 1, 1, 1 root makes 2^24, and a tree, which adds the last two first, 2^24 + 2. */
static int choice_body(struct ranks_self *self)
{
    static const struct choice by_size = {{{16, ALGORITHM_ROOT}, {INT64_MAX, ALGORITHM_TREE}}};
    const float big = 16777216, mine = self->rank == 0 ? big : 1;
    int wrong = 0;
    comm_set_choice(self->comm, &by_size);
    for (size_t count = 3; count <= 5 && !wrong; count++) {
        float data[5] = {mine, mine, mine, mine, mine};
        wrong = allreduce(self->comm, data, data, count, COMM_F32, COMM_SUM) ||
                ranks_expect(self, data[0] == (count <= 4 ? big : big + 2), "%zu floats: %.0f",
                             count, (double)data[0]);
    }
    return wrong;
}

START_TEST(the_choice_goes_by_bytes)
{
    run(4, choice_body, ALGORITHM_AUTO, COMM_TCP);
}
END_TEST

/* Refused before a byte is sent, so the communicator lives; neighbours that only touch are fine. */
static int overlap_body(struct ranks_self *self)
{
    float data[16];
    choose(self);
    for (int i = 0; i < 16; i++)
        data[i] = 1;
    int up = allreduce(self->comm, data, data + 1, 8, COMM_F32, COMM_SUM);
    int down = allreduce(self->comm, data + 7, data, 8, COMM_F32, COMM_SUM);
    if (ranks_expect(self, up == -EINVAL && down == -EINVAL, "returned %d and %d", up, down))
        return 1;
    int error = allreduce(self->comm, data, data + 8, 8, COMM_F32, COMM_SUM);
    return ranks_expect(self, error == 0 && data[7] == 1 && data[8] == (float)self->world,
                        "error %d; %g and %g", error, (double)data[7], (double)data[8]);
}

START_TEST(arrays_that_overlap_in_part_are_refused_and_nothing_is_lost)
{
    run(3, overlap_body, (enum algorithm)_i, COMM_TCP);
}
END_TEST

/* A call is refused without a frame, alike on all ranks. */
static int no_halves_body(struct ranks_self *self)
{
    float data[4] = {1, 1, 1, 1};
    choose(self);
    int scatter = reduce_scatter(self->comm, data, 4, COMM_F32, COMM_SUM);
    int gather = all_gather(self->comm, data, 4, COMM_F32);
    return ranks_expect(self, scatter == -EOPNOTSUPP && gather == -EOPNOTSUPP, "%d and %d", scatter,
                        gather);
}

START_TEST(root_tree_and_halving_have_no_halves)
{
    run(2, no_halves_body, (enum algorithm)(ALGORITHM_ROOT + _i), COMM_TCP);
}
END_TEST

Suite *allreduce_suite(void)
{
    Suite *suite = suite_create("allreduce");
    TCase *tcase = tcase_create("allreduce");
    tcase_set_timeout(tcase, 120);
    watched_add_rows(tcase,
                     every_algorithm_has_its_replays_bits_for_every_type_operation_count_and_world,
                     WORLDS * ALGORITHMS);
    tcase_add_loop_test(tcase, and_over_unix_sockets, 0, ALGORITHMS);
    tcase_add_loop_test(tcase, nan_infinities_and_zeros_of_either_sign_have_the_replays_bits_too, 0,
                        2 * ALGORITHMS);
    tcase_add_loop_test(tcase, all_ranks_hold_the_same_bits_where_the_order_shows, 0, ALGORITHMS);
    tcase_add_loop_test(tcase, the_bits_of_all_but_the_ring_do_not_depend_on_how_a_vector_is_cut, 0,
                        16);
    tcase_add_loop_test(tcase, ring_and_direct_come_in_two_halves_of_the_same_bits, 0, 8);
    tcase_add_loop_test(tcase, a_rank_sends_what_the_list_of_steps_says, 0, 4 * ALGORITHMS);
    tcase_add_test(tcase, the_choice_goes_by_bytes);
    tcase_add_loop_test(tcase, arrays_that_overlap_in_part_are_refused_and_nothing_is_lost, 0,
                        ALGORITHMS);
    tcase_add_loop_test(tcase, root_tree_and_halving_have_no_halves, 0, 3);
    suite_add_tcase(suite, tcase);
    return suite;
}
