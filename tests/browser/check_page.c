/*
 * check_page: docs/ring.html in a browser without a window, held against the C code it repeats.
 *
 *     sh tests/browser/check.sh build/check_page docs/ring.html build
 *
 * 0, or 1 where a check failed.
 */
#include "tests/browser/page.h"
#include "tests/browser/page_suites.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    char path[PATH_MAX];
    if (argc != 5 || !realpath(argv[3], path)) {
        fprintf(stderr, "usage: check_page BROWSER FOLDER PAGE BUILD\n");
        return 2;
    }
    setenv("CHECK_PAGE_BUILD", argv[4], 1); // whose programs are asked
    SRunner *runner = srunner_create(page_ring_suite());
    srunner_add_suite(runner, page_memory_suite());
    srunner_add_suite(runner, page_reader_suite());
    srunner_set_fork_status(runner, CK_NOFORK); // one browser for all
    page_begin(argv[1], argv[2], path);
    srunner_run_all(runner, CK_ENV);
    page_end();
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
