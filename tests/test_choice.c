/* Which algorithm for which size: rows, their borders, and the built-in tables. */
#include "lesson02_allreduce/choice.h"
#include "common/environment.h"
#include "tests/suites.h"

#include <check.h>

START_TEST(a_row_holds_up_to_and_with_its_border)
{
    const struct choice choice = {{{4, ALGORITHM_TREE},
                                   {1024, ALGORITHM_DIRECT},
                                   {(int64_t)1 << 33, ALGORITHM_HALVING},
                                   {INT64_MAX, ALGORITHM_RING}}};
    ck_assert_int_eq(choice_for(&choice, 0), ALGORITHM_TREE);
    ck_assert_int_eq(choice_for(&choice, 4), ALGORITHM_TREE);
    ck_assert_int_eq(choice_for(&choice, 5), ALGORITHM_DIRECT);
    ck_assert_int_eq(choice_border(&choice, 4), 4);
    ck_assert_int_eq(choice_border(&choice, 5), 1024);
    ck_assert_int_eq(choice_border(&choice, INT64_MAX), INT64_MAX);
    ck_assert_int_eq(choice_for(&choice, 1024), ALGORITHM_DIRECT);
    ck_assert_int_eq(choice_for(&choice, 1025), ALGORITHM_HALVING);
    ck_assert_int_eq(choice_for(&choice, (size_t)1 << 33), ALGORITHM_HALVING);
    ck_assert_int_eq(choice_for(&choice, ((size_t)1 << 33) + 1), ALGORITHM_RING);
    ck_assert_int_eq(choice_for(&choice, INT64_MAX), ALGORITHM_RING);
}
END_TEST

START_TEST(a_full_table_ends_with_its_last_row)
{
    struct choice choice;
    for (int row = 0; row < CHOICE_ROWS_MOST; row++)
        choice.rows[row] = (struct choice_row){row, ALGORITHM_ROOT};
    choice.rows[CHOICE_ROWS_MOST - 1] = (struct choice_row){INT64_MAX, ALGORITHM_RING};
    ck_assert_int_eq(choice_for(&choice, CHOICE_ROWS_MOST - 2), ALGORITHM_ROOT);
    ck_assert_int_eq(choice_for(&choice, CHOICE_ROWS_MOST - 1), ALGORITHM_RING);
    ck_assert_int_eq(choice_for(&choice, SIZE_MAX), ALGORITHM_RING);
}
END_TEST

START_TEST(one_algorithm_is_used_for_every_size)
{
    enum algorithm algorithm = (enum algorithm)_i;
    const struct choice choice = choice_fixed(algorithm);
    ck_assert_int_eq(choice_for(&choice, 0), algorithm);
    ck_assert_int_eq(choice_for(&choice, 1), algorithm);
    ck_assert_int_eq(choice_for(&choice, INT64_MAX), algorithm);
}
END_TEST

START_TEST(the_built_in_tables_ascend_end_with_a_row_for_all_and_name_real_algorithms)
{
    for (int world = 1; world <= ENVIRONMENT_WORLD_MOST; world++) {
        const struct choice choice = choice_builtin(world);
        int row = 0;
        while (row < CHOICE_ROWS_MOST && choice.rows[row].most_bytes != INT64_MAX) {
            ck_assert_int_ge(choice.rows[row].most_bytes,
                             row ? choice.rows[row - 1].most_bytes + 1 : 0);
            ck_assert_int_ge(choice.rows[row].algorithm, 0);
            ck_assert_int_lt(choice.rows[row].algorithm, ALGORITHM_AUTO);
            row++;
        }
        ck_assert_int_lt(row, CHOICE_ROWS_MOST);
        ck_assert_int_lt(choice.rows[row].algorithm, ALGORITHM_AUTO);
    }
}
END_TEST

/* The latency of a ring's 2 (R - 1) steps is the last thing a short vector needs; its two partners are the
 * least that a host's one link can have, when a long vector crosses many. */
START_TEST(the_built_in_tables_spare_short_vectors_the_ring_and_leave_it_the_long_of_many_ranks)
{
    for (int world = 2; world <= ENVIRONMENT_WORLD_MOST; world++) {
        const struct choice choice = choice_builtin(world);
        ck_assert_int_ne(choice_for(&choice, 4), ALGORITHM_RING);
        ck_assert_int_ne(choice_for(&choice, algorithm_direct_whole_bytes(world)), ALGORITHM_RING);
        if (world == 2 || world > 8)
            ck_assert_int_eq(choice_for(&choice, (size_t)1 << 30), ALGORITHM_RING);
    }
}
END_TEST

START_TEST(halves_are_made_by_ring_and_direct_and_elsewhere_alike)
{
    for (int world = 1; world <= ENVIRONMENT_WORLD_MOST; world++) {
        const struct choice whole = choice_builtin(world), halves = choice_builtin_halves(world);
        for (size_t bytes = 1; bytes < (size_t)1 << 30; bytes *= 2) {
            enum algorithm algorithm = choice_for(&halves, bytes);
            ck_assert(algorithm == ALGORITHM_RING || algorithm == ALGORITHM_DIRECT);
            if (choice_for(&whole, bytes) != ALGORITHM_ROOT)
                ck_assert_int_eq(algorithm, choice_for(&whole, bytes));
        }
    }
}
END_TEST

Suite *choice_suite(void)
{
    Suite *suite = suite_create("choice");
    TCase *tcase = tcase_create("choice");
    tcase_add_test(tcase, a_row_holds_up_to_and_with_its_border);
    tcase_add_test(tcase, a_full_table_ends_with_its_last_row);
    tcase_add_loop_test(tcase, one_algorithm_is_used_for_every_size, 0, ALGORITHM_AUTO);
    tcase_add_test(tcase,
                   the_built_in_tables_ascend_end_with_a_row_for_all_and_name_real_algorithms);
    tcase_add_test(
        tcase,
        the_built_in_tables_spare_short_vectors_the_ring_and_leave_it_the_long_of_many_ranks);
    tcase_add_test(tcase, halves_are_made_by_ring_and_direct_and_elsewhere_alike);
    suite_add_tcase(suite, tcase);
    return suite;
}
