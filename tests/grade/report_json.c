/* report_json: what a grading has come to, for Gradescope and Autolab. See report.h. */
#include "common/course/tasks.h"
#include "tests/grade/report.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

/* Each task once, in the table's order: the outcome it begins with. */
static bool begins_task(const struct grading *grading, size_t i)
{
    return i == 0 ||
           strcmp(grading->outcomes[i].check->task, grading->outcomes[i - 1].check->task) != 0;
}

static json_t *test_of(const struct outcome *outcome)
{
    const struct check *check = outcome->check;
    bool passed = outcome->verdict == VERDICT_PASSED;
    char name[128];
    snprintf(name, sizeof name, "%s, %s: %s", task_find(check->task)->title, check->name,
             check->shows);
    return json_pack("{s:s, s:s, s:i, s:i, s:s, s:s}", "number", check->task, "name", name, "score",
                     passed ? check->points : 0, "max_score", check->points, "status",
                     passed ? "passed" : "failed", "output", outcome->text);
}

int report_gradescope(const struct grading *grading, const char *path)
{
    json_t *tests = json_array();
    char output[128];
    double seconds = 0;
    for (size_t i = 0; i < grading->count; i++) {
        json_array_append_new(tests, test_of(&grading->outcomes[i]));
        seconds += grading->outcomes[i].seconds;
    }
    snprintf(output, sizeof output, "lesson %02d, seed %llu", grading->lesson,
             (unsigned long long)grading->seed);
    json_t *all = json_pack("{s:i, s:f, s:s, s:o}", "score", report_points(grading, NULL, false),
                            "execution_time", seconds, "output", output, "tests", tests);
    errno = 0;
    int error = all ? json_dump_file(all, path, JSON_INDENT(2)) : -1;
    json_decref(all);
    return error;
}

void report_autolab(const struct grading *grading)
{
    json_t *scores = json_object();
    for (size_t i = 0; i < grading->count; i++) {
        const char *task = grading->outcomes[i].check->task;
        if (begins_task(grading, i))
            json_object_set_new(scores, task, json_integer(report_points(grading, task, false)));
    }
    json_t *all = json_pack("{s:o}", "scores", scores);
    char *line = json_dumps(all, JSON_PRESERVE_ORDER);
    puts(line ? line : "{\"scores\": {}}");
    free(line);
    json_decref(all);
}
