/* number: a text that is a number from its first byte to its last. See the header. */
#include "common/number.h"

#include <locale.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

static size_t digits(const char *text)
{
    size_t count = 0;
    while (text[count] >= '0' && text[count] <= '9')
        count++;
    return count;
}

static size_t sign(const char *text)
{
    return *text == '-' || *text == '+';
}

bool number_whole(const char *text, uint64_t *value)
{
    size_t length = digits(text);
    uint64_t sum = 0;
    if (length == 0 || text[length] != '\0')
        return false;
    for (size_t i = 0; i < length; i++) {
        uint64_t digit = (uint64_t)(text[i] - '0');
        if (sum > (UINT64_MAX - digit) / 10)
            return false;
        sum = sum * 10 + digit;
    }
    *value = sum;
    return true;
}

static bool is_real(const char *text)
{
    text += sign(text);
    size_t before = digits(text), after = 0;
    text += before;
    if (*text == '.') {
        after = digits(text + 1);
        text += 1 + after;
    }
    if (before + after == 0)
        return false;
    if (*text == 'e' || *text == 'E') {
        text += 1 + sign(text + 1);
        if (digits(text) == 0)
            return false;
        text += digits(text);
    }
    return *text == '\0';
}

bool number_real(const char *text, double *value)
{
    if (!is_real(text))
        return false;
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (plain == (locale_t)0)
        return false;
    locale_t before = uselocale(plain); // this thread's only
    double read = strtod(text, NULL);
    uselocale(before);
    freelocale(plain);
    if (!isfinite(read))
        return false;
    *value = read;
    return true;
}
