/* decimal: the grammar is checked here, the arithmetic is left to strtod. See the header. */
#include "common/decimal.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH_MOST = 200, MARK_BYTES_MOST = 8 };

/* The end of the run of digits that begins at `at`. */
static size_t digits_end(const char *text, size_t length, size_t at)
{
    while (at < length && text[at] >= '0' && text[at] <= '9')
        at++;
    return at;
}

static size_t sign_end(const char *text, size_t length, size_t at)
{
    return at < length && (text[at] == '+' || text[at] == '-') ? at + 1 : at;
}

/* number = [sign] digits [. digits] [e [sign] digits], with a digit before or after the point.
 * `point` is where the point stands, or would. */
static bool is_number(const char *text, size_t length, size_t *point)
{
    size_t begin = sign_end(text, length, 0);
    size_t end = digits_end(text, length, begin);
    size_t digits = end - begin;
    *point = end;
    if (end < length && text[end] == '.') {
        end = digits_end(text, length, end + 1);
        digits += end - *point - 1;
    }
    if (digits == 0)
        return false;
    if (end < length && (text[end] == 'e' || text[end] == 'E')) {
        begin = sign_end(text, length, end + 1);
        end = digits_end(text, length, begin);
        if (end == begin)
            return false;
    }
    return end == length;
}

bool decimal_read(const char *text, size_t length, double *value)
{
    size_t point;
    if (length > LENGTH_MOST || !is_number(text, length, &point))
        return false;
    /* strtod wants this locale's decimal mark, which may be several bytes. */
    const char *mark = localeconv()->decimal_point;
    size_t mark_bytes = strlen(mark);
    if (mark_bytes > MARK_BYTES_MOST)
        return false;
    char copy[LENGTH_MOST + MARK_BYTES_MOST + 1];
    size_t skipped = point < length && text[point] == '.' ? 1 : 0;
    size_t tail = length - point - skipped;
    memcpy(copy, text, point);
    memcpy(copy + point, mark, mark_bytes);
    if (skipped == 0)
        mark_bytes = 0;
    memcpy(copy + point + mark_bytes, text + point + skipped, tail);
    copy[point + mark_bytes + tail] = '\0';
    *value = strtod(copy, NULL);
    return isfinite(*value);
}
