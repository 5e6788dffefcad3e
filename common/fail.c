/* fail: the one sentence that tells a user what went wrong. See the header. */
#include "common/fail.h"

#include <stdarg.h>
#include <stdio.h>

int fail_set(struct fail *fail, int code, const char *format, ...)
{
    if (fail->code == 0) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(fail->text, sizeof fail->text, format, arguments);
        va_end(arguments);
        fail->code = code;
    }
    return fail->code;
}
