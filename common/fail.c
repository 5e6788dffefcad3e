/* fail: the one sentence that tells a user what went wrong. See the header. */
#include "common/fail.h"

#include <stdarg.h>
#include <stdio.h>

/* What is quoted must not command the terminal it is shown on, nor look like a line of ours. */
static void make_printable(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 127)
            *text = '?';
}

int fail_set(struct fail *fail, int code, const char *format, ...)
{
    if (fail->code == 0) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(fail->text, sizeof fail->text, format, arguments);
        va_end(arguments);
        make_printable(fail->text);
        fail->code = code;
    }
    return fail->code;
}
