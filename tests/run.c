/* run: the one runner of every suite. `build/check` runs all, `build/check SUITE...` some. */
#include "tests/suites.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static SRunner *runner_of_all(void)
{
    SRunner *runner = srunner_create(NULL);
    for (size_t i = 0; suites[i].name; i++)
        srunner_add_suite(runner, suites[i].make());
    return runner;
}

static const struct suite_entry *find(const char *name)
{
    for (size_t i = 0; suites[i].name; i++)
        if (strcmp(suites[i].name, name) == 0)
            return &suites[i];
    return NULL;
}

static SRunner *runner_of(int count, char **names)
{
    SRunner *runner = srunner_create(NULL);
    for (int i = 0; i < count; i++) {
        const struct suite_entry *entry = find(names[i]);
        if (!entry) {
            fprintf(stderr, "check: no suite is called '%s'; the suites are:", names[i]);
            for (size_t j = 0; suites[j].name; j++)
                fprintf(stderr, " %s", suites[j].name);
            fprintf(stderr, "\n");
            srunner_free(runner);
            return NULL;
        }
        srunner_add_suite(runner, entry->make());
    }
    return runner;
}

int main(int argc, char **argv)
{
    /* In seconds: Check's own 4 are short where cores are shared. Every tcase_create reads it. */
    setenv("CK_DEFAULT_TIMEOUT", "60", 0);
    /* Only a hang is to reach a limit: not a machine that has much else to do. */
    setenv("CK_TIMEOUT_MULTIPLIER", "5", 0);
    SRunner *runner = argc > 1 ? runner_of(argc - 1, argv + 1) : runner_of_all();
    if (!runner)
        return 2;
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
