/*
 * overlapped: a lesson 3 within a rank that a test has forked (inside.h), whose backward the test may
 * interfere with: what it announces comes to the test's own listener first.
 */
#ifndef TESTS_OVERLAPPED_H
#define TESTS_OVERLAPPED_H

#include "lesson03_ddp/ddp.h"
#include "tests/inside.h"

enum { OVERLAPPED_COUNT_MOST = 2048 }; // parameters

struct overlapped {
    struct ranks_self *self;
    struct inside inside;
    struct run *run;
    struct ddp ddp;
    struct model_listener ddp_hears; // what the test's listener passes on to
};

/* Not 0: self has the sentence. `on_ready` is handed `context`. Close it in any case. */
int overlapped_open(struct overlapped *overlapped, struct ranks_self *self, const char *arguments,
                    void (*on_ready)(void *context, size_t tensor), void *context);
void overlapped_close(struct overlapped *overlapped);

/* run->grad = the reduced gradient of the step. 0 or an error. */
int overlapped_gradient(struct overlapped *overlapped, const struct step *step);

/* The same; and is it that of lesson 2's ring, bucket by bucket after backward? Not 0: it is not. */
int overlapped_check(struct overlapped *overlapped, const struct step *step);

#endif
