/*
 * tasks: the table of the tasks, and their hints.
 *
 *   tasks                 one a line, for scripts: id, title, files, suites, how many hints, parted by tabs
 *   tasks 02.4 [STEP]     a hint, from a nudge (1, the default) to almost the answer
 */
#include "common/course/tasks.h"

#include <stdio.h>
#include <stdlib.h>

enum { EXIT_USAGE = 2 };

static int hints_of(const struct task *task)
{
    int hints = 0;
    while (hints < TASK_HINTS_MOST && task->hints[hints])
        hints++;
    return hints;
}

static void list(void)
{
    for (int i = 0; i < TASKS; i++)
        printf("%s\t%s\t%s\t%s\t%d\n", tasks[i].id, tasks[i].title, tasks[i].files, tasks[i].suites,
               hints_of(&tasks[i]));
}

static int refuse(const char *id)
{
    fprintf(stderr, "hint: expected a task, found '%s': make hint TASK=02.4; the tasks are:", id);
    for (int i = 0; i < TASKS; i++)
        fprintf(stderr, " %s", tasks[i].id);
    fprintf(stderr, "\n");
    return EXIT_USAGE;
}

static int hint(const char *id, const char *given)
{
    const struct task *task = task_find(id);
    if (!task)
        return refuse(id);
    char *end;
    long step = strtol(given, &end, 10), hints = hints_of(task);
    if (step < 1 || step > hints || *end) {
        fprintf(stderr, "hint: task %s has hints 1 to %ld, found STEP=%s\n", id, hints, given);
        return EXIT_USAGE;
    }
    printf("%s, %s (%s), hint %ld of %ld:\n%s\n", id, task->title, task->files, step, hints,
           task->hints[step - 1]);
    if (step < hints)
        printf("For more: make hint TASK=%s STEP=%ld\n", id, step + 1);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return hint(argv[1], argc > 2 && argv[2][0] ? argv[2] : "1");
    list();
    return 0;
}
