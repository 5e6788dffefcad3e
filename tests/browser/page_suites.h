/* page_suites: what check_page looks at in docs/ring.html. */
#ifndef TESTS_BROWSER_PAGE_SUITES_H
#define TESTS_BROWSER_PAGE_SUITES_H

#include <check.h>

Suite *page_ring_suite(void);   // its steps are those of steps.h, its text is that of --explain
Suite *page_memory_suite(void); // its bytes are those of memory_plan.h and --plan
Suite *page_reader_suite(void); // keys, widths, addresses, paper

#endif
