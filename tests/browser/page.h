/*
 * page: docs/ring.html in a browser, as the tests of check_page share it.
 *
 * One browser serves all of them, one after the other (CK_NOFORK). Each test opens the page anew.
 */
#ifndef TESTS_BROWSER_PAGE_H
#define TESTS_BROWSER_PAGE_H

#include "tests/browser/browser.h"

enum { PAGE_PHONE = 390, PAGE_DESK = 1280 };

/* What page_open will start; `path`: the page's, absolute. */
void page_begin(const char *browser_program, const char *its_folder, const char *path);
void page_end(void);

struct browser *page_browser(void);

/* The page in the state that "#world=4&step=2" says; "": as it begins. */
void page_open(const char *fragment, int width);

/* As page_open, without loading it anew: the address changes, as by a link within the page. Then the
 * value of an expression, to be freed. */
char *page_at(const char *fragment, const char *expression);

/* The expression has this value. */
void page_says(const char *expression, const char *expected);

/* It has, or will have before a minute is over. */
void page_comes_to_say(const char *expression, const char *expected);

#endif
