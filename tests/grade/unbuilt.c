/* unbuilt: whose tasks are lost, and why. See the header. */
#include "tests/grade/unbuilt.h"
#include "common/course/tasks.h"

#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 128, LINE_BYTES = 512 };

/* The first line that is an error, the compiler's or the linker's, from the file's name on: where the file lay is
 * nobody's business. */
static void first_error(const char *path, const char *name, char line[LINE_BYTES])
{
    FILE *said = fopen(path, "r");
    line[0] = '\0';
    while (said && fgets(line, LINE_BYTES, said) && !strstr(line, "error:") &&
           !strstr(line, "undefined reference"))
        line[0] = '\0';
    if (said)
        fclose(said);
    line[strcspn(line, "\n")] = '\0';
    const char *named = strstr(line, name);
    if (named)
        memmove(line, named, strlen(named) + 1);
}

bool unbuilt_judge(const struct unbuilt *unbuilt, const struct check *check,
                   struct outcome *outcome)
{
    char name[NAME_BYTES], line[LINE_BYTES];
    for (size_t i = 0; i < unbuilt->count; i++) {
        int length = (int)strcspn(unbuilt->files[i], "=");
        snprintf(name, sizeof name, "%.*s", length, unbuilt->files[i]);
        if (!strstr(task_find(check->task)->files, name)) // no file's name ends as another begins
            continue;
        *outcome = (struct outcome){.check = check, .verdict = VERDICT_UNBUILT};
        first_error(unbuilt->files[i] + length + 1, name, line);
        snprintf(outcome->text, sizeof outcome->text, "%s does not compile: %s", name, line);
        return true;
    }
    return false;
}
