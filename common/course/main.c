/*
 * tasks: the table of the tasks, one a line, for scripts and people: id, title, files, suites, how many
 * hints, parted by tabs. `make texts` puts it into the lessons' texts.
 */
#include "common/course/tasks.h"

#include <stdio.h>

int main(void)
{
    for (int i = 0; i < TASKS; i++) {
        const struct task *task = &tasks[i];
        int hints = 0;
        while (hints < TASK_HINTS_MOST && task->hints[hints])
            hints++;
        printf("%s\t%s\t%s\t%s\t%d\n", task->id, task->title, task->files, task->suites, hints);
    }
    return 0;
}
