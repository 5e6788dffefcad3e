/*
 * grade: runs the checks of a lesson's tasks and adds up their points.
 *
 * All it draws comes from one seed, which it prints: the same seed draws the same again.
 */
#include "common/course/tasks.h"
#include "common/fail.h"
#include "tests/grade/report.h"
#include "tests/grade/unbuilt.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { DONE = 0, FAILED = 1, USAGE = 2, CHECKS_MOST = 128 };

static const char usage[] =
    "usage: grade LESSON [--task 02.4] [--seed N] [--json FILE] [--autolab]\n"
    "       grade LESSON --files\n"
    "\n"
    "Runs the checks of a lesson's tasks (LESSON: 01 to 04) on what this program was built from.\n"
    "\n"
    "  --task ID      of this task only, as in 02.4, or one check of it, as in 02.4/sums\n"
    "  --seed N       draw sizes, worlds and values from N; else from a number that is printed\n"
    "  --json FILE    also write Gradescope's results.json\n"
    "  --autolab, -A  end with Autolab's line of scores\n"
    "  --from DIR     say FROM=DIR in the line that runs a task again\n"
    "  --unbuilt F=S  the tasks in the file F are lost: the file S has what the compiler said\n"
    "  --files        list the files that hold the tasks of the lessons up to this one, and stop\n"
    "\n"
    "Exit code: 0 graded, whatever the points; 1 it could not be graded; 2 wrong usage.\n";

struct asked {
    int lesson;
    const char *task; // NULL: all
    const char *json; // NULL: none
    const char *from; // NULL: what this program is of
    struct unbuilt unbuilt;
    bool autolab, files;
    uint64_t seed;
};

static const struct check *checks_of(int lesson)
{
    const struct check *const tables[] = {lesson01_checks, lesson02_checks, lesson03_checks,
                                          lesson04_checks};
    return tables[lesson - 1];
}

static bool read_number(const char *text, uint64_t *number)
{
    char *end;
    errno = 0;
    *number = strtoull(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0;
}

/* Is it the check's task, or its id? NULL: all are. */
static bool is_asked(const char *asked, const struct check *check)
{
    size_t length = asked ? strlen(check->task) : 0;
    if (!asked)
        return true;
    return strncmp(asked, check->task, length) == 0 &&
           (!asked[length] ||
            (asked[length] == '/' && strcmp(asked + length + 1, check->name) == 0));
}

static int check_asked(const struct asked *asked, struct fail *fail)
{
    for (const struct check *check = checks_of(asked->lesson); check->task; check++)
        if (is_asked(asked->task, check))
            return 0;
    fail_set(fail, -EINVAL, "lesson %02d has no task or check '%s'; there are", asked->lesson,
             asked->task ? asked->task : "");
    for (size_t i = 0; i < TASKS; i++)
        if (tasks[i].lesson == asked->lesson) {
            size_t used = strlen(fail->text);
            snprintf(fail->text + used, sizeof fail->text - used, " %s", tasks[i].id);
        }
    return fail->code;
}

static int read_flags(int argc, char **argv, struct asked *asked, struct fail *fail)
{
    static const struct option flags[] = {{"task", required_argument, NULL, 't'},
                                          {"seed", required_argument, NULL, 's'},
                                          {"json", required_argument, NULL, 'j'},
                                          {"from", required_argument, NULL, 'F'},
                                          {"unbuilt", required_argument, NULL, 'u'},
                                          {"autolab", no_argument, NULL, 'A'},
                                          {"files", no_argument, NULL, 'f'},
                                          {"help", no_argument, NULL, 'h'},
                                          {0}};
    int flag;
    while ((flag = getopt_long(argc, argv, "A", flags, NULL)) != -1) {
        if (flag == 't')
            asked->task = optarg;
        else if (flag == 'j')
            asked->json = optarg;
        else if (flag == 'F')
            asked->from = optarg;
        else if (flag == 'u' && asked->unbuilt.count < UNBUILT_MOST && strchr(optarg, '='))
            asked->unbuilt.files[asked->unbuilt.count++] = optarg;
        else if (flag == 'A')
            asked->autolab = true;
        else if (flag == 'f')
            asked->files = true;
        else if (flag == 'h')
            return fputs(usage, stdout) < 0 ? -EIO : 1;
        else if (flag != 's')
            return fail_set(fail, -EINVAL, "see grade --help");
        else if (!read_number(optarg, &asked->seed))
            return fail_set(fail, -EINVAL, "--seed: expected a whole number, found '%s'", optarg);
    }
    return 0;
}

/* 0; 1: it was all about --help; negative: wrong. */
static int read_asked(int argc, char **argv, struct asked *asked, struct fail *fail)
{
    uint64_t lesson = 0;
    int stop = read_flags(argc, argv, asked, fail);
    if (stop)
        return stop;
    if (optind + 1 != argc)
        return fail_set(fail, -EINVAL, "expected one lesson, 01 to 04: grade 02 (see --help)");
    if (!read_number(argv[optind], &lesson) || lesson < 1 || lesson > 4)
        return fail_set(fail, -EINVAL, "expected a lesson, 01 to 04, found '%s'", argv[optind]);
    asked->lesson = (int)lesson;
    return check_asked(asked, fail);
}

/* Is a file one of an earlier task's? */
static bool listed_before(size_t task, const char *file)
{
    for (size_t i = 0; i < task; i++)
        if (strstr(tasks[i].files, file)) // no file's name ends as another begins
            return true;
    return false;
}

/* Each file once, as the tasks come. */
static void list_files(int lesson)
{
    char file[128];
    for (size_t i = 0; i < TASKS && tasks[i].lesson <= lesson; i++)
        for (const char *at = tasks[i].files; *at; at += strspn(at, " ")) {
            size_t length = strcspn(at, " ");
            snprintf(file, sizeof file, "%.*s", (int)length, at);
            at += length;
            if (!listed_before(i, file))
                puts(file);
        }
}

/* The checks of a task stand together in the table; its lines are printed once they are done. */
static int grade(const struct asked *asked, struct fail *fail)
{
    struct outcome outcomes[CHECKS_MOST];
    struct grading grading = {asked->lesson, asked->seed, asked->from, outcomes, 0};
    printf("lesson %02d, seed %" PRIu64 "\n\n", asked->lesson, asked->seed);
    for (const struct check *check = checks_of(asked->lesson); check->task; check++) {
        if (!is_asked(asked->task, check))
            continue;
        if (grading.count && strcmp(outcomes[grading.count - 1].check->task, check->task) != 0)
            report_task(&grading, outcomes[grading.count - 1].check->task);
        struct outcome *outcome = &outcomes[grading.count++];
        if (!unbuilt_judge(&asked->unbuilt, check, outcome))
            runner_run(check, asked->seed, outcome);
    }
    if (grading.count)
        report_task(&grading, outcomes[grading.count - 1].check->task);
    report_total(&grading);
    if (asked->json && report_gradescope(&grading, asked->json) != 0)
        return fail_set(fail, -EIO, "cannot write %s: %s", asked->json, strerror(errno));
    if (asked->autolab)
        report_autolab(&grading);
    return 0;
}

int main(int argc, char **argv)
{
    struct fail fail = {0};
    struct asked asked = {.seed = ((uint64_t)time(NULL) * 65537 + (uint64_t)getpid()) % 1000000};
    int stop = read_asked(argc, argv, &asked, &fail), code = stop < 0 ? USAGE : DONE;
    if (!stop && asked.files)
        list_files(asked.lesson);
    else if (!stop && grade(&asked, &fail) != 0)
        code = FAILED;
    if (fflush(stdout) || ferror(stdout))
        code = FAILED;
    if (fail.code)
        fprintf(stderr, "grade: %s\n", fail.text);
    return code;
}
