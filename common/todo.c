/* todo: ends a process that has come to a body nobody has written yet. See the header. */
#include "common/todo.h"
#include "common/course/tasks.h"

#include <stdio.h>
#include <unistd.h>

_Noreturn void todo(const char *id)
{
    const struct task *task = task_find(id);
    fprintf(stderr, "task %s (%s) is not yet written: look for it in %s; make hint TASK=%s\n", id,
            task ? task->title : "unknown", task ? task->files : "the lessons", id);
    fflush(stderr);
    _exit(EXIT_TODO);
}
