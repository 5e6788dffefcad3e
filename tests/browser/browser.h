/*
 * browser: a Chromium without a window, driven over two pipes: for tests of pages.
 *
 * It is spoken to in its DevTools protocol, JSON between zero bytes on descriptors 3 and 4
 * (--remote-debugging-pipe): no port, no library. One page is open; what it complains of (console,
 * exceptions) and every address that it asks for, other than the file itself, is kept.
 *
 *     browser_open(&browser, "chromium", folder);
 *     browser_load(&browser, "file:///.../page.html#step=2", 390);
 *     browser_press(&browser, "ArrowRight");
 *     char *told = browser_evaluate(&browser, "document.title"); // free it
 *
 * Whatever goes wrong here fails the test at hand (Check). A browser that says nothing for a minute has
 * failed, too.
 */
#ifndef TESTS_BROWSER_BROWSER_H
#define TESTS_BROWSER_BROWSER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { BROWSER_TEXT_BYTES = 1024 }; // of what is noted; what is beyond is left out

struct browser {
    pid_t pid;
    int to, from; // pipes
    json_int_t calls;
    char session[64]; // of the page; "" before there is one
    char *heard;      // bytes read, not yet a whole message
    size_t heard_bytes, heard_room;
    bool loaded;
    char complaints[BROWSER_TEXT_BYTES]; // console and exceptions, a line each
    char requests[BROWSER_TEXT_BYTES];   // addresses but file:, data: and about:, a line each
};

/* Starts it with an empty page; folder: for what it writes. */
void browser_open(struct browser *browser, const char *program, const char *folder);

/* Ends it, and waits until it has ended. */
void browser_close(struct browser *browser);

/* Opens an address in a window of this width, from an empty page, and waits until it has loaded. */
void browser_load(struct browser *browser, const char *address, int width);

/* The value of an expression, which must be a string, or a promise of one. To be freed. */
char *browser_evaluate(struct browser *browser, const char *expression);

/* A key as its user presses it: "Tab", "Enter", " ", "ArrowLeft", "Home", ... */
void browser_press(struct browser *browser, const char *name);

/* Text, into what has the focus. */
void browser_type(struct browser *browser, const char *text);

/* A method of the protocol; takes the reference to params (or NULL). Its result, to be released. */
json_t *browser_call(struct browser *browser, const char *method, json_t *params);

#endif
