/* target: what every refusal promises. See the header. */
#include "tests/fuzz/target.h"

#include <errno.h>
#include <string.h>

static bool is_fit_to_print(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 127)
            return false;
    return true;
}

struct verdict target_refused(int code, const struct fail *fail, const char *path)
{
    struct verdict verdict = {0};
    if (code != -EINVAL) // not even -ENOMEM: a small file asks for little
        verdict.broken = "a file is refused for what it holds: -EINVAL";
    else if (fail->code != code)
        verdict.broken = "the code of a refusal is that of its sentence";
    else if (!strstr(fail->text, path))
        verdict.broken = "a refusal names the file";
    else if (!is_fit_to_print(fail->text))
        verdict.broken = "a refusal is fit to print: no byte of it commands a terminal";
    return verdict;
}
