/* line: one object of a record, and its members taken out with a check of each. See the header. */
#include "common/doctor/line.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FOUND_BYTES = 48, HEX_DIGITS = 16 };
static const json_int_t WHOLE_MOST = (json_int_t)1 << 53;

/* What is there, short enough for a sentence. */
static void show(const json_t *member, char text[FOUND_BYTES])
{
    char *whole = member ? json_dumps(member, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
    snprintf(text, FOUND_BYTES, "%.40s", whole ? whole : "nothing");
    free(whole);
}

void line_refuse(const struct line *line, const char *key, const char *what)
{
    char found[FOUND_BYTES];
    if (line->fail->code)
        return;
    show(json_object_get(line->object, key), found);
    fail_set(
        line->fail, -EINVAL,
        "%s, line %zu: '%s' must be %s, found %s: the file was changed or damaged; record the run "
        "again",
        line->path, line->number, key, what, found);
}

size_t line_size(const struct line *line, const char *key)
{
    const json_t *member = json_object_get(line->object, key);
    json_int_t value = json_integer_value(member); // 0 where it is none
    if (json_is_integer(member) && value >= 0 && value <= WHOLE_MOST)
        return (size_t)value;
    line_refuse(line, key, "a whole number");
    return 0;
}

double line_real(const struct line *line, const char *key)
{
    const json_t *member = json_object_get(line->object, key);
    if (json_is_number(member))
        return json_number_value(member);
    if (!json_is_null(member))
        line_refuse(line, key, "a number or null");
    return NAN;
}

bool line_bool(const struct line *line, const char *key)
{
    const json_t *member = json_object_get(line->object, key);
    if (!json_is_boolean(member))
        line_refuse(line, key, "true or false");
    return json_is_true(member);
}

bool line_known_true(const struct line *line, const char *key)
{
    return !json_is_null(json_object_get(line->object, key)) && line_bool(line, key);
}

const char *line_text(const struct line *line, const char *key)
{
    const char *text = json_string_value(json_object_get(line->object, key));
    if (text)
        return text;
    line_refuse(line, key, "a text");
    return "";
}

struct case_hash line_hash(const struct line *line, const char *key)
{
    const json_t *member = json_object_get(line->object, key);
    const char *text = json_string_value(member);
    struct case_hash none = {0};
    if (json_is_null(member))
        return none;
    size_t length = text ? strlen(text) : 0;
    if (length == 0 || length > HEX_DIGITS || strspn(text, "0123456789abcdef") != length) {
        line_refuse(line, key, "up to 16 hexadecimal digits");
        return none;
    }
    return (struct case_hash){.there = true, .bits = strtoull(text, NULL, 16)};
}

static double number_at(const json_t *pair, size_t index, bool *wrong)
{
    const json_t *member = json_array_get(pair, index);
    if (json_is_number(member))
        return json_number_value(member);
    *wrong = *wrong || !json_is_null(member);
    return NAN;
}

void line_sketches(const struct line *line, const char *key, struct sketch *sketches, size_t count)
{
    const json_t *list = json_object_get(line->object, key);
    bool wrong = !json_is_null(list) && json_array_size(list) != count; // 0 where it is none
    for (size_t i = 0; i < count; i++)
        sketches[i] = (struct sketch){NAN, NAN};
    if (json_is_null(list))
        return;
    for (size_t i = 0; i < count && !wrong; i++) {
        const json_t *pair = json_array_get(list, i);
        wrong = json_array_size(pair) != 2;
        sketches[i].sum = number_at(pair, 0, &wrong);
        sketches[i].squares = number_at(pair, 1, &wrong);
        wrong = wrong || sketches[i].squares < 0;
    }
    if (wrong)
        line_refuse(line, key, "a pair of numbers for each tensor");
}
