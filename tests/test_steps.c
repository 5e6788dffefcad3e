/* The steps of every algorithm, played with sets of ranks; and held against the cost model. */
#include "lesson02_allreduce/steps.h"
#include "lesson02_allreduce/costmodel.h"
#include "tests/suites.h"

#include <check.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ALGORITHMS = ALGORITHM_AUTO, WORLD_MOST = 17, COUNT_MOST = 2500, TRANSFERS_MOST = 600 };

/* The set of ranks whose parts are in each element, as every rank has it. */
struct play {
    uint32_t now[WORLD_MOST][COUNT_MOST], before[WORLD_MOST][COUNT_MOST];
};

/* False: something was added twice. (An assertion per element would take seconds.) */
static bool hear(struct play *play, const struct transfer *transfer)
{
    struct slice part = transfer->part;
    uint32_t twice = 0;
    for (size_t i = part.begin; i < part.begin + part.count; i++) {
        uint32_t heard = play->before[transfer->from][i], *mine = &play->now[transfer->to][i];
        twice |= transfer->adds ? *mine & heard : 0;
        *mine = transfer->adds ? *mine | heard : heard;
    }
    return twice == 0;
}

static void play_out(struct play *play, int world, const struct transfer *transfers, size_t count)
{
    for (int rank = 0; rank < world; rank++)
        for (size_t i = 0; i < COUNT_MOST; i++)
            play->now[rank][i] = 1u << rank;
    for (size_t i = 0; i < count; i++) {
        bool begins = i == 0 || transfers[i].step != transfers[i - 1].step;
        if (begins)
            memcpy(play->before, play->now, sizeof play->now);
        ck_assert(!begins || transfers[i].step == (i > 0 ? transfers[i - 1].step + 1 : 0));
        ck_assert(transfers[i].from != transfers[i].to && hear(play, &transfers[i]));
    }
}

static size_t incomplete(const struct play *play, int world, size_t count)
{
    size_t found = 0;
    for (int rank = 0; rank < world; rank++)
        for (size_t i = 0; i < count; i++)
            found += play->now[rank][i] != (1u << world) - 1;
    return found;
}

/* Of more ranks than two direct sends the last but one, 8 KiB, just whole, and the last in parts. */
static const size_t counts[] = {1, 3, 19, 2048, COUNT_MOST};

static void check_world(struct play *play, enum algorithm algorithm, int world, size_t count)
{
    const size_t room = TRANSFERS_MOST;
    struct transfer *transfers = malloc(room * sizeof *transfers);
    ck_assert_ptr_nonnull(transfers);
    size_t made = steps_of(algorithm, world, count, transfers, room);
    ck_assert_uint_le(made, room);
    play_out(play, world, transfers, made);
    size_t left = incomplete(play, world, count);
    ck_assert_msg(left == 0, "%s, world %d: %zu sums lack a part", algorithm_name(algorithm), world,
                  left);
    free(transfers);
}

START_TEST(after_the_last_step_every_rank_has_the_sum_of_all)
{
    struct play *play = malloc(sizeof *play);
    ck_assert_ptr_nonnull(play);
    for (int world = 1; world <= WORLD_MOST; world++)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
            check_world(play, (enum algorithm)_i, world, counts[c]);
    free(play);
}
END_TEST

/* Chunk r is whole at rank r when the first half ends: a reduce-scatter by itself. */
START_TEST(the_first_half_of_ring_and_direct_leaves_chunk_r_at_rank_r)
{
    struct play *play = malloc(sizeof *play);
    struct transfer transfers[TRANSFERS_MOST];
    ck_assert_ptr_nonnull(play);
    for (int world = 3; world <= WORLD_MOST; world++) { // direct between two: all at once
        size_t half = 0, made = steps_of(_i ? ALGORITHM_DIRECT : ALGORITHM_RING, world, COUNT_MOST,
                                         transfers, TRANSFERS_MOST);
        while (half < made && transfers[half].adds)
            half++;
        ck_assert_uint_lt(half, made);
        play_out(play, world, transfers, half);
        for (int rank = 0; rank < world; rank++) {
            struct slice own = slice_of(COUNT_MOST, (size_t)world, (size_t)rank);
            for (size_t i = own.begin; i < own.begin + own.count; i++)
                ck_assert_uint_eq(play->now[rank][i], (1u << world) - 1);
        }
    }
    free(play);
}
END_TEST

/* The formulas and the lists were written apart. */
START_TEST(the_cost_model_counts_the_same_steps_and_bytes)
{
    struct transfer transfers[TRANSFERS_MOST];
    for (int world = 1; world <= WORLD_MOST; world++)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            size_t made = steps_of((enum algorithm)_i, world, counts[c], transfers, TRANSFERS_MOST);
            double bytes = 0;
            for (size_t i = 0; i < made; i++)
                bytes += (double)(transfers[i].part.count * sizeof(float));
            struct cost_terms terms =
                costmodel_terms((enum algorithm)_i, world, counts[c] * sizeof(float));
            ck_assert_double_eq_tol(bytes, terms.total_bytes, 1e-6);
            ck_assert_double_eq(made > 0 ? transfers[made - 1].step + 1 : 0, terms.messages);
        }
}
END_TEST

START_TEST(a_list_is_cut_where_there_is_no_more_room)
{
    struct transfer transfers[3] = {{.from = -1}, {.from = -1}, {.from = -1}};
    ck_assert_uint_eq(steps_of(ALGORITHM_ROOT, 4, 10, transfers, 2), 6);
    ck_assert_int_eq(transfers[1].from, 2);
    ck_assert_int_eq(transfers[2].from, -1);
    ck_assert_uint_eq(steps_of(ALGORITHM_AUTO, 4, 10, transfers, 2), 0);
}
END_TEST

Suite *steps_suite(void)
{
    Suite *suite = suite_create("steps");
    TCase *tcase = tcase_create("steps");
    tcase_add_loop_test(tcase, after_the_last_step_every_rank_has_the_sum_of_all, 0, ALGORITHMS);
    tcase_add_loop_test(tcase, the_first_half_of_ring_and_direct_leaves_chunk_r_at_rank_r, 0, 2);
    tcase_add_loop_test(tcase, the_cost_model_counts_the_same_steps_and_bytes, 0, ALGORITHMS);
    tcase_add_test(tcase, a_list_is_cut_where_there_is_no_more_room);
    suite_add_tcase(suite, tcase);
    return suite;
}
