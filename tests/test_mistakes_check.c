/* A mistake that would change nothing of a run is refused, one that would change something is planted. */
#include "tests/lessons.h"
#include "tests/suites.h"

#include <check.h>
#include <string.h>

enum { LINE_BYTES = 256 };

/* 23 updates of 64 samples are an epoch. The test set of 3 samples has equal shares. */
static const struct {
    const char *member, *flags, *said;
} idle[] = {
    {"same-dropout", "--dropout 0.3 --hidden none", "without a hidden layer"},
    {"no-set-epoch", "--epochs 1", "before a second epoch"},
    {"no-set-epoch", "--steps 23", "before a second epoch"},
    {"eval-padding-counted", "--data x.csv --test-data t.csv --steps 1", "nothing would be padded"},
    {"no-lr-scale", "--batch 1438", "one batch is all samples"},
    {"batch-not-divided", "--batch 2000", "one batch is all samples"},
    {"sync-last-microbatch-only", "--accumulate 3 --batch 1438", "one micro-batch"},
    {"sync-first-microbatch-only", "--accumulate 3 --batch 1438", "one micro-batch"},
    {"last-batch-unweighted", "--accumulate 3 --batch 63 --drop-last", "shared out evenly"},
    {"last-batch-unweighted", "--accumulate 3 --batch 63 --steps 7", "shared out evenly"},
    {"sum-not-mean", "--batch 1 --steps 1", "one sample"},
    {"rank0-loss-only", "--batch 1 --steps 1", "one sample"},
    {"clip-before-reduce", "--clip 1 --batch 1 --steps 1", "one sample"},
};

START_TEST(what_would_change_nothing_is_refused)
{
    char line[LINE_BYTES];
    struct folder folder;
    folder_open(&folder);
    lesson_write(&folder, "x.csv", "1,0\n1,0\n1,0\n1,0\n");
    lesson_write(&folder, "t.csv", "2,0\n4,0\n6,0\n");
    snprintf(line, sizeof line, "--inject %s %s", idle[_i].member, idle[_i].flags);
    lesson_fails(&folder, (struct lesson){3, 3}, line, 2, idle[_i].member);
    lesson_fails(&folder, (struct lesson){3, 3}, line, 2, idle[_i].said);
    folder_close(&folder);
}
END_TEST

/* The same members, one step further: an update more, a sample more. */
START_TEST(what_would_change_something_is_planted)
{
    static const char *const lines[] = {
        "--inject no-set-epoch --steps 24",
        "--inject eval-padding-counted --steps 1",
        "--inject batch-not-divided --batch 1437 --steps 1",
        "--inject sync-last-microbatch-only --accumulate 3 --batch 1437 --steps 1",
        "--inject last-batch-unweighted --accumulate 3 --batch 64 --steps 1 --drop-last",
        "--inject last-batch-unweighted --accumulate 3 --batch 63 --steps 8",
        "--inject sum-not-mean --batch 2 --steps 1",
    };
    struct folder folder;
    folder_open(&folder);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        lesson_ok(&folder, (struct lesson){2, 3}, lines[i]);
    folder_close(&folder);
}
END_TEST

Suite *mistakes_check_suite(void)
{
    Suite *suite = suite_create("mistakes_check");
    TCase *tcase = tcase_create("mistakes_check");
    tcase_set_timeout(tcase, 600);
    tcase_add_loop_test(tcase, what_would_change_nothing_is_refused, 0, sizeof idle / sizeof *idle);
    tcase_add_test(tcase, what_would_change_something_is_planted);
    suite_add_tcase(suite, tcase);
    return suite;
}
