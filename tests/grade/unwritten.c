/* unwritten: the same for the grader's checks (tests/unwritten.h), whose process says the sentence: the runner reads it. */
#include "tests/unwritten.h"
#include "common/todo.h"
#include "tests/folder.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

_Noreturn void unwritten_in_child(void)
{
    folder_close_all(getpid());
    _exit(EXIT_TODO); // the child has said it
}

void unwritten_if_said(const char *text)
{
    char task[8] = "";
    const char *said = strstr(text, "is not yet written"), *at = NULL;
    for (const char *next = strstr(text, "task "); said && next && next < said;
         next = strstr(next + 1, "task "))
        at = next;
    if (!at || sscanf(at, "task %5[0-9.] (", task) != 1)
        return;
    folder_close_all(getpid());
    todo(task);
}
