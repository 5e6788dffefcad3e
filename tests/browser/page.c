/* page: docs/ring.html in a browser. See the header. */
#include "tests/browser/page.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ADDRESS_BYTES = 1024, EXPRESSION_BYTES = 8192, PATIENCE_SECONDS = 60 };

static struct browser browser;
static const char *program, *folder, *file;

void page_begin(const char *browser_program, const char *its_folder, const char *path)
{
    program = browser_program;
    folder = its_folder;
    file = path;
}

void page_end(void)
{
    browser_close(&browser);
}

struct browser *page_browser(void)
{
    return &browser;
}

void page_open(const char *fragment, int width)
{
    char address[ADDRESS_BYTES];
    if (browser.pid == 0)
        browser_open(&browser, program, folder); // here, so that a test says what goes wrong
    snprintf(address, sizeof address, "file://%s%s", file, fragment);
    browser_load(&browser, address, width);
}

/* The page listens first, so it has changed when the promise is kept. */
char *page_at(const char *fragment, const char *expression)
{
    static char whole[EXPRESSION_BYTES];
    int length = snprintf(
        whole, sizeof whole,
        "new Promise(done => { addEventListener('hashchange', () => done(%s), {once: true});"
        " location.hash = '%s' + '&new=' + Math.random(); })",
        expression, fragment);
    ck_assert_int_lt(length, EXPRESSION_BYTES);
    return browser_evaluate(&browser, whole);
}

void page_says(const char *expression, const char *expected)
{
    char *value = browser_evaluate(&browser, expression);
    ck_assert_msg(strcmp(value, expected) == 0, "%s\n    is        %s\n    should be %s",
                  expression, value, expected);
    free(value);
}

void page_comes_to_say(const char *expression, const char *expected)
{
    const struct timespec pause = {.tv_nsec = 20000000};
    bool said = false;
    for (time_t begun = time(NULL); !said && time(NULL) - begun < PATIENCE_SECONDS;) {
        char *value = browser_evaluate(&browser, expression);
        said = strcmp(value, expected) == 0;
        free(value);
        if (!said)
            nanosleep(&pause, NULL);
    }
    page_says(expression, expected);
}
