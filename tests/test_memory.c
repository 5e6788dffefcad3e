/* The ledger counts what was asked for; large arrays ask for huge pages, small ones do not. */
#include "common/memory.h"
#include "tests/suites.h"

#include <check.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LINUX_SAYS "/sys/kernel/mm/transparent_hugepage/enabled"
enum { HUGE_PAGE_BYTES = 2 << 20 };

/* Has the mapping in which `at` lies the flag hg? By /proc/self/smaps: "VmFlags: rd wr mr mw me ac hg". */
static bool asks_for_huge_pages(const void *at)
{
    static const char FLAGS[] = "VmFlags:";
    char line[512];
    bool inside = false, told = false, asks = false;
    FILE *smaps = fopen("/proc/self/smaps", "re");
    ck_assert_ptr_nonnull(smaps);
    while (!told && fgets(line, sizeof line, smaps)) {
        uintptr_t from, to;
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &from, &to) == 2)
            inside = from <= (uintptr_t)at && (uintptr_t)at < to;
        told = inside && strncmp(line, FLAGS, sizeof FLAGS - 1) == 0;
        asks = told && strstr(line, " hg") != NULL;
    }
    fclose(smaps);
    ck_assert_msg(told, "smaps says no flags of %p", at);
    return asks;
}

static bool can_tell(void)
{
    bool can = access(LINUX_SAYS, R_OK) == 0;
    if (!can)
        printf("memory: skipped: no huge pages without " LINUX_SAYS "\n");
    return can;
}

/* The last page is not full: it stays small, so that no more is resident than was asked for. */
START_TEST(a_large_array_asks_for_huge_pages)
{
    struct memory ledger = {0};
    size_t bytes = 3 * (size_t)HUGE_PAGE_BYTES + 4096;
    char *array = memory_take(&ledger, MEMORY_BUFFERS, bytes);
    ck_assert_ptr_nonnull(array);
    ck_assert_uint_eq((uintptr_t)array % HUGE_PAGE_BYTES, 0);
    ck_assert_uint_eq(memory_total(&ledger), bytes);
    if (can_tell()) {
        ck_assert(asks_for_huge_pages(array));
        ck_assert(asks_for_huge_pages(array + 3 * (size_t)HUGE_PAGE_BYTES - 1));
        ck_assert(!asks_for_huge_pages(array + 3 * (size_t)HUGE_PAGE_BYTES));
    }
    memory_give_back(&ledger, MEMORY_BUFFERS, array, bytes);
    ck_assert_uint_eq(memory_total(&ledger), 0);
    ck_assert_uint_eq(ledger.peak_total_bytes, bytes);
}
END_TEST

START_TEST(a_small_array_does_not)
{
    struct memory ledger = {0};
    size_t count = HUGE_PAGE_BYTES / sizeof(float) - 1;
    float *array = memory_floats(&ledger, MEMORY_GRADIENTS, count);
    ck_assert_ptr_nonnull(array);
    ck_assert_uint_eq((uintptr_t)array % 64, 0);
    if (can_tell())
        ck_assert(!asks_for_huge_pages(array));
    memory_return(&ledger, MEMORY_GRADIENTS, array, count);
    ck_assert_uint_eq(memory_total(&ledger), 0);
}
END_TEST

/* A size that no number holds. */
START_TEST(what_is_not_given_is_not_counted)
{
    struct memory ledger = {0};
    ck_assert_ptr_null(memory_floats(&ledger, MEMORY_OTHER, SIZE_MAX / sizeof(float)));
    ck_assert_ptr_null(memory_take(&ledger, MEMORY_OTHER, SIZE_MAX));
    ck_assert_uint_eq(memory_total(&ledger), 0);
    ck_assert_uint_eq(ledger.peak_total_bytes, 0);
}
END_TEST

Suite *memory_suite(void)
{
    Suite *suite = suite_create("memory");
    TCase *ledger = tcase_create("ledger");
    tcase_add_test(ledger, a_large_array_asks_for_huge_pages);
    tcase_add_test(ledger, a_small_array_does_not);
    tcase_add_test(ledger, what_is_not_given_is_not_counted);
    suite_add_tcase(suite, ledger);
    return suite;
}
