/* report: what a grading has come to, for people. See the header. */
#include "tests/grade/report.h"
#include "common/course/tasks.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const kinds[KINDS] = {"correct", "counted", "robust", "speed"};

int report_points(const struct grading *grading, const char *task, bool most)
{
    int points = 0;
    for (size_t i = 0; i < grading->count; i++) {
        const struct outcome *outcome = &grading->outcomes[i];
        if (task && strcmp(task, outcome->check->task) != 0)
            continue;
        if (most || outcome->verdict == VERDICT_PASSED)
            points += outcome->check->points;
    }
    return points;
}

/* A task of which nothing is written, or can be built, says so once. */
static bool print_lost(const struct outcome *outcome, bool told)
{
    const struct check *check = outcome->check;
    if (outcome->verdict == VERDICT_LOST)
        printf("      %s/%s -%d (%s): %s\n", check->task, check->name, check->points,
               kinds[check->kind], check->shows);
    if (outcome->verdict == VERDICT_LOST)
        printf("         %s\n", outcome->text);
    bool none = outcome->verdict == VERDICT_UNWRITTEN || outcome->verdict == VERDICT_UNBUILT;
    if (none && !told)
        printf("      %s\n", outcome->text);
    return told || none;
}

/* As one word of a shell's. */
static void print_from(const char *from)
{
    fputs(" FROM='", stdout);
    for (; *from; from++)
        if (*from == '\'')
            fputs("'\\''", stdout);
        else
            putchar(*from);
    putchar('\'');
}

void report_task(const struct grading *grading, const char *task)
{
    int points = report_points(grading, task, false), most = report_points(grading, task, true);
    double seconds = 0;
    bool told = false;
    for (size_t i = 0; i < grading->count; i++)
        if (strcmp(task, grading->outcomes[i].check->task) == 0)
            seconds += grading->outcomes[i].seconds;
    printf("%s  %-32s %3d / %3d  %6.1f s\n", task, task_find(task)->title, points, most, seconds);
    for (size_t i = 0; i < grading->count; i++)
        if (strcmp(task, grading->outcomes[i].check->task) == 0)
            told = print_lost(&grading->outcomes[i], told);
    if (points < most) {
        printf("      again: make grade LESSON=%02d TASK=%s SEED=%" PRIu64, grading->lesson, task,
               grading->seed);
        if (grading->from)
            print_from(grading->from);
        printf("   hint: make hint TASK=%s\n", task);
    }
    fflush(stdout);
}

void report_total(const struct grading *grading)
{
    printf("total %35s %3d / %3d\n", "", report_points(grading, NULL, false),
           report_points(grading, NULL, true));
}
