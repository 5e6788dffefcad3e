/* verdict: Check's own log of a suite, read line by line. See the header. */
#include "tests/verdict.h"
#include "tests/folder.h"
#include "tests/unwritten.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES = 16 * 1024, NAME_BYTES = 256, PATH_BYTES = 64 };

/* A line of the log: FILE:LINE:R:CASE:TEST:ITERATION: MESSAGE, where R is P, F or E. */
struct result {
    char file[NAME_BYTES], test[NAME_BYTES];
    char kind;
    int task; // that it waits for, or -1; TASKS: one that was not named
};

/* The checks of one test, row after row of its table. */
struct waiting {
    char test[NAME_BYTES];
    int checks;
    bool tasks[TASKS + 1];
};

static const char *id_of(int task)
{
    return task < TASKS ? tasks[task].id : UNWRITTEN_UNNAMED;
}

static bool parse(struct result *result, const char *line)
{
    result->task = -1;
    if (sscanf(line, "%255[^:]:%*d:%c:%*[^:]:%255[^:]:", result->file, &result->kind,
               result->test) != 3)
        return false;
    const struct task *task = task_find(result->file); // as unwritten.c says
    if (strstr(line, "Early exit with return value 77"))
        result->task = task ? (int)(task - tasks) : TASKS;
    return strchr("PFES", result->kind) != NULL;
}

static void print_waiting(struct waiting *waiting, const char *suite)
{
    if (waiting->checks == 0)
        return;
    printf("TODO %s: %s (%d check%s):", suite, waiting->test, waiting->checks,
           waiting->checks == 1 ? "" : "s");
    for (int i = 0; i <= TASKS; i++)
        if (waiting->tasks[i])
            printf(" %s", id_of(i));
    printf("\n");
    *waiting = (struct waiting){0};
}

static void wait_for(struct waiting *waiting, const struct result *result, const char *suite)
{
    if (strcmp(waiting->test, result->test) != 0)
        print_waiting(waiting, suite);
    snprintf(waiting->test, sizeof waiting->test, "%s", result->test);
    waiting->checks++;
    waiting->tasks[result->task] = true;
}

/* Of the failed checks, those that only wait. */
static void count_waiting(struct verdict *verdict, FILE *log)
{
    char line[LINE_BYTES];
    struct result result;
    rewind(log);
    while (fgets(line, sizeof line, log))
        if (parse(&result, line) && result.task >= 0) {
            verdict->todo[result.task]++;
            verdict->errors -= result.kind == 'E';
            verdict->failures -= result.kind == 'F'; // of a test that was to end by a signal
        }
}

/* A failure as it is, with all the lines it has; of a passed test nothing. */
static void print(FILE *log, const char *suite)
{
    char line[LINE_BYTES];
    struct result result;
    struct waiting waiting = {0};
    bool shown = false;
    rewind(log);
    while (fgets(line, sizeof line, log) && strncmp(line, "Results for all", 15) != 0) {
        if (parse(&result, line)) {
            shown = result.kind != 'P' && result.task < 0;
            if (result.task >= 0)
                wait_for(&waiting, &result, suite);
        }
        if (shown)
            fputs(line, stdout);
    }
    print_waiting(&waiting, suite);
}

static int sum_of(const int todo[TASKS + 1])
{
    int sum = 0;
    for (int i = 0; i <= TASKS; i++)
        sum += todo[i];
    return sum;
}

static void print_summary(const struct verdict *verdict)
{
    int todo = sum_of(verdict->todo);
    int passed = verdict->checks - verdict->failures - verdict->errors - todo;
    printf("%d%%: Checks: %d, Failures: %d, Errors: %d",
           verdict->checks > 0 ? 100 * passed / verdict->checks : 100, verdict->checks,
           verdict->failures, verdict->errors);
    if (todo > 0)
        printf(", To do: %d", todo);
    printf("\n");
}

void verdict_print_todo(const struct verdict *verdict)
{
    int todo = sum_of(verdict->todo);
    const char *before = ":";
    if (todo == 0)
        return;
    printf(", %d to do", todo);
    for (int i = 0; i <= TASKS; i++) {
        if (verdict->todo[i] == 0)
            continue;
        printf("%s %s (%d)", before, id_of(i), verdict->todo[i]);
        before = ",";
    }
}

void verdict_add(struct verdict *verdict, const struct verdict *more)
{
    verdict->checks += more->checks;
    verdict->failures += more->failures;
    verdict->errors += more->errors;
    for (int i = 0; i <= TASKS; i++)
        verdict->todo[i] += more->todo[i];
}

/* Check opens its log by name, which it keeps no copy of, and writes it when all tests are over. */
static FILE *open_log(SRunner *runner, char path[PATH_BYTES])
{
    FILE *log = tmpfile();
    if (!log) {
        perror("check: no file for a suite's log");
        exit(2);
    }
    snprintf(path, PATH_BYTES, "/dev/fd/%d", fileno(log));
    srunner_set_log(runner, path);
    return log;
}

static int failures_of(SRunner *runner)
{
    int failures = 0, failed = srunner_ntests_failed(runner);
    TestResult **results = srunner_failures(runner);
    for (int i = 0; i < failed; i++)
        failures += tr_rtype(results[i]) == CK_FAILURE;
    free(results);
    return failures;
}

/* A test that fails, crashes or hangs does not come to where it takes its folders away. So they are made
 * in one of the suite's, which goes with all that is in it. */
static void run_in_a_folder(SRunner *runner)
{
    struct folder folder;
    char before[sizeof folder.path];
    const char *set = getenv("TMPDIR");
    snprintf(before, sizeof before, "%s", set ? set : "");
    if (!folder_try(&folder)) {
        perror("check: no folder for a suite's tests");
        exit(2);
    }
    setenv("TMPDIR", folder.path, 1);
    srunner_run_all(runner, CK_SILENT);
    if (set)
        setenv("TMPDIR", before, 1);
    else
        unsetenv("TMPDIR");
    folder_remove(&folder);
}

struct verdict verdict_of(const char *name, Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    char path[PATH_BYTES];
    FILE *log = open_log(runner, path);
    printf("Running suite(s): %s\n", name);
    fflush(NULL); // or a test's process would print it again
    run_in_a_folder(runner);
    struct verdict verdict = {.checks = srunner_ntests_run(runner),
                              .failures = failures_of(runner)};
    verdict.errors = srunner_ntests_failed(runner) - verdict.failures;
    count_waiting(&verdict, log);
    print_summary(&verdict);
    print(log, name);
    fflush(stdout);
    srunner_free(runner);
    fclose(log);
    return verdict;
}
