/* linkspec: terms between commas, each read by what it begins or ends with. See the header. */
#include "common/linkspec.h"

#include "common/decimal.h"
#include "common/whole.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { TERM_BYTES = 40 };

static const double RATE_LEAST = 1e3, RATE_MOST = 10e9; // bits a second
static const double LATENCY_MOST = 60;                  // seconds
static const double UNDER_WAY_MOST = 64 << 20;          // bytes

struct unit {
    const char *name;
    double factor;
};

/* "bit" and "s" end the others' names too, so they come last. */
static const struct unit rate_units[] = {
    {"kbit", 1e3}, {"mbit", 1e6}, {"gbit", 1e9}, {"bit", 1}, {NULL, 0}};
static const struct unit time_units[] = {{"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {NULL, 0}};

static const struct unit *unit_of(const char *term, const struct unit *units)
{
    size_t length = strlen(term);
    for (; units->name; units++) {
        size_t size = strlen(units->name);
        if (length > size && strcmp(term + length - size, units->name) == 0)
            return units;
    }
    return NULL;
}

/* "2.5ms" in seconds; not below 0. */
static bool read_quantity(const char *term, const struct unit *units, double *value)
{
    const struct unit *unit = unit_of(term, units);
    if (!unit || !decimal_read(term, strlen(term) - strlen(unit->name), value))
        return false;
    *value *= unit->factor;
    return *value >= 0;
}

/* The term that begins at *next, without the blanks around it; *next moves behind its comma, or
 * becomes NULL. A term too long for any meaning is cut. */
static void take_term(const char **next, char term[TERM_BYTES])
{
    const char *begin = *next + strspn(*next, " ");
    size_t length = strcspn(begin, ",");
    *next = begin[length] == ',' ? begin + length + 1 : NULL;
    while (length > 0 && begin[length - 1] == ' ')
        length--;
    snprintf(term, TERM_BYTES, "%.*s", (int)(length < TERM_BYTES ? length : TERM_BYTES - 1), begin);
}

/* What follows `word` and blanks, or NULL. */
static const char *behind(const char *term, const char *word)
{
    size_t length = strlen(word);
    if (strncmp(term, word, length) != 0 || term[length] != ' ')
        return NULL;
    return term + length + strspn(term + length, " ");
}

static int read_rate(struct linkspec *spec, const char *term, struct fail *fail)
{
    double bits;
    if (!read_quantity(term, rate_units, &bits) || bits < RATE_LEAST || bits > RATE_MOST)
        return fail_set(fail, -EINVAL,
                        "--link: expected a rate from 1kbit to 10gbit first (a number and bit, "
                        "kbit, mbit or gbit), as in 100mbit,2ms; found '%s'",
                        term);
    spec->bytes_per_second = bits / 8;
    return 0;
}

static int read_latency(struct linkspec *spec, const char *term, struct fail *fail)
{
    if (!read_quantity(term, time_units, &spec->latency_seconds) ||
        spec->latency_seconds > LATENCY_MOST)
        return fail_set(fail, -EINVAL,
                        "--link: expected a latency from 0us to 60s behind the rate (a number and "
                        "us, ms or s), as in 100mbit,2ms; found '%s'",
                        term);
    return 0;
}

static int read_jitter(struct linkspec *spec, const char *value, struct fail *fail)
{
    if (!read_quantity(value, time_units, &spec->jitter_seconds) ||
        spec->jitter_seconds > spec->latency_seconds)
        return fail_set(fail, -EINVAL,
                        "--link: expected a jitter of at most the latency, which it adds to or "
                        "takes from, as in 100mbit,2ms,jitter 1ms; found '%s'",
                        value);
    return 0;
}

static int read_straggler(struct linkspec *spec, const char *value, struct fail *fail)
{
    uint64_t rank;
    if (!whole_read(value, &rank) || rank > INT_MAX)
        return fail_set(fail, -EINVAL,
                        "--link: expected the number of a rank, as in 100mbit,2ms,straggler 3; "
                        "found '%s'",
                        value);
    spec->straggler = (int)rank;
    return 0;
}

static int read_rest(struct linkspec *spec, const char *next, struct fail *fail)
{
    char term[TERM_BYTES];
    bool jitter_given = false;
    for (int error = 0; next;) {
        take_term(&next, term);
        const char *jitter = behind(term, "jitter"), *straggler = behind(term, "straggler");
        if (jitter && !jitter_given)
            error = read_jitter(spec, jitter, fail);
        else if (straggler && spec->straggler < 0)
            error = read_straggler(spec, straggler, fail);
        else
            error = fail_set(fail, -EINVAL,
                             "--link: behind rate and latency may come 'jitter TIME' and "
                             "'straggler RANK', each once; found '%s'",
                             term);
        if (error)
            return error;
        jitter_given = jitter_given || jitter;
    }
    return 0;
}

int linkspec_read(struct linkspec *spec, const char *text, struct fail *fail)
{
    char term[TERM_BYTES];
    const char *next = text;
    *spec = (struct linkspec){.straggler = -1};
    take_term(&next, term);
    int error = read_rate(spec, term, fail);
    if (error)
        return error;
    snprintf(term, sizeof term, "nothing");
    if (next)
        take_term(&next, term);
    error = read_latency(spec, term, fail);
    if (!error)
        error = read_rest(spec, next, fail);
    double bytes = spec->bytes_per_second * (spec->latency_seconds + spec->jitter_seconds);
    if (!error && bytes > UNDER_WAY_MOST)
        error = fail_set(fail, -EINVAL,
                         "--link: '%s' has %.0f bytes under way on each link, and only %.0f are "
                         "kept: lower rate or latency",
                         text, bytes, UNDER_WAY_MOST);
    return error;
}
