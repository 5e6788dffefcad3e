/* flag: reading one value as its row of the table says. See the header. */
#include "common/flag.h"

#include "common/decimal.h"
#include "common/whole.h"
#include "common/zoo.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool flag_in_lesson(const struct flag *flag, int lesson)
{
    return (flag->lessons >> lesson & 1) != 0;
}

const struct flag *flag_find(const char *name, size_t length)
{
    for (const struct flag *flag = flags; flag->help; flag++)
        if (flag->kind != FLAG_TITLE && strlen(flag->name) == length &&
            memcmp(flag->name, name, length) == 0)
            return flag;
    return NULL;
}

_Static_assert(sizeof(size_t) == sizeof(uint64_t), "a FLAG_WHOLE holds the seed, 64 bits");

enum { NAME_MOST = 32 }; // no flag's name is as long

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Levenshtein's distance: letters to insert, delete or replace; one row of its table at a time. */
static size_t distance(const char *from, size_t length, const char *to)
{
    size_t row[NAME_MOST + 1], width = strlen(to);
    for (size_t j = 0; j <= width; j++)
        row[j] = j;
    for (size_t i = 1; i <= length; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= width; j++) {
            size_t replaced = diagonal + (from[i - 1] != to[j - 1]);
            diagonal = row[j];
            row[j] = least(replaced, least(row[j], row[j - 1]) + 1);
        }
    }
    return row[width];
}

const struct flag *flag_nearest(const char *name, size_t length, int lesson)
{
    const struct flag *nearest = NULL;
    size_t best = least(length / 2, 3) + 1; // farther away is a guess, not a suggestion
    for (const struct flag *flag = flags; length < NAME_MOST && flag->help; flag++) {
        bool offered = flag->kind != FLAG_TITLE;
        if (!offered || !flag_in_lesson(flag, lesson))
            continue;
        size_t edits = distance(name, length, flag->name);
        if (edits < best) {
            best = edits;
            nearest = flag;
        }
    }
    return nearest;
}

int flag_choice(const char *choices, const char *text)
{
    static const char between[] = " | ";
    int position = 0;
    for (const char *choice = choices; choice; position++) {
        const char *end = strstr(choice, between);
        size_t length = end ? (size_t)(end - choice) : strlen(choice);
        if (strlen(text) == length && memcmp(choice, text, length) == 0)
            return position;
        choice = end ? end + strlen(between) : NULL;
    }
    return -1;
}

static bool read_whole(const struct flag *flag, const char *text, size_t *value)
{
    uint64_t read;
    if (!whole_read(text, &read) || read > SIZE_MAX)
        return false;
    if ((double)read < flag->least || (double)read > flag->most)
        return false;
    *value = (size_t)read;
    return true;
}

static bool read_real(const struct flag *flag, const char *text, double *value)
{
    double read;
    if (!decimal_read(text, strlen(text), &read) || read < flag->least || read > flag->most)
        return false;
    *value = read;
    return true;
}

static bool store_kb(const struct flag *flag, const char *text, size_t *bytes)
{
    double kb;
    if (!read_real(flag, text, &kb))
        return false;
    *bytes = (size_t)(kb * 1024);
    return true;
}

static bool store_choice(const struct flag *flag, const char *text, int *value)
{
    int position = flag_choice(flag->accepts, text);
    if (position < 0)
        return false;
    *value = position + (int)flag->least;
    return true;
}

static bool store_text(const char *text, const char **value)
{
    if (*text == '\0')
        return false;
    *value = text;
    return true;
}

/* The width that begins at `text` and ends at a comma or the end. */
static bool read_width(const struct flag *flag, const char *text, size_t *width)
{
    char digits[NAME_MOST];
    size_t length = strcspn(text, ",");
    if (length >= sizeof digits)
        return false;
    memcpy(digits, text, length);
    digits[length] = '\0';
    return read_whole(flag, digits, width);
}

static bool store_hidden(const struct flag *flag, struct options *options, const char *text)
{
    size_t count = 0;
    const char *next = strcmp(text, "none") == 0 ? NULL : text;
    while (next) {
        if (count == OPTIONS_HIDDEN_MOST || !read_width(flag, next, &options->hidden[count]))
            return false;
        count++;
        next = strchr(next, ',');
        next = next ? next + 1 : NULL;
    }
    options->hidden_count = count;
    options->hidden_given = true;
    return true;
}

static bool store_schedule(const struct flag *flag, struct options *options, const char *text)
{
    static const char halve[] = "halve:";
    options->halve_every = 0;
    if (strncmp(text, halve, strlen(halve)) == 0) {
        options->schedule = SCHEDULE_HALVE;
        return read_whole(flag, text + strlen(halve), &options->halve_every);
    }
    int position = flag_choice("constant | linear | cosine", text);
    if (position < 0)
        return false;
    options->schedule = (enum schedule_kind)position;
    return true;
}

static bool store_init(struct options *options, const char *text)
{
    static const char constant[] = "const:", ending[] = ".safetensors";
    size_t length = strlen(text);
    double value = 0;
    bool known = strcmp(text, "he") == 0;
    if (strncmp(text, constant, strlen(constant)) == 0)
        known = decimal_read(text + strlen(constant), length - strlen(constant), &value) &&
                isfinite((float)value);
    else if (length > strlen(ending))
        known = known || strcmp(text + length - strlen(ending), ending) == 0;
    options->init = text;
    options->init_value = known ? (float)value : 0;
    return known;
}

/* Dividing by a power of two changes no digit. */
static bool store_scale(const struct flag *flag, const char *text, double *value)
{
    int position = flag_choice("dynamic | none", text), exponent;
    if (position >= 0) {
        *value = position;
        return true;
    }
    return read_real(flag, text, value) && frexp(*value, &exponent) == 0.5;
}

/* Instead of names, help: what they are is all that is asked for. */
static bool store_inject(struct options *options, const char *text)
{
    options->help = strcmp(text, "help") == 0;
    options->inject = OPTIONS_INJECT_HELP;
    return options->help || zoo_read(text, &options->inject);
}

bool flag_store(const struct flag *flag, struct options *options, const char *text)
{
    void *field = (char *)options + flag->offset;
    switch (flag->kind) {
    case FLAG_ON:
        *(bool *)field = true;
        return true;
    case FLAG_OFF:
        *(bool *)field = false;
        return true;
    case FLAG_ZERO:
        *(size_t *)field = 0;
        return true;
    case FLAG_WHOLE:
        return read_whole(flag, text, field);
    case FLAG_REAL:
        return read_real(flag, text, field);
    case FLAG_KB:
        return store_kb(flag, text, field);
    case FLAG_CHOICE:
        return store_choice(flag, text, field);
    case FLAG_TEXT:
    case FLAG_PATH:
        return store_text(text, field);
    case FLAG_HIDDEN:
        return store_hidden(flag, options, text);
    case FLAG_SCHEDULE:
        return store_schedule(flag, options, text);
    case FLAG_INIT:
        return store_init(options, text);
    case FLAG_SCALE:
        return store_scale(flag, text, field);
    case FLAG_INJECT:
        return store_inject(options, text);
    case FLAG_TITLE:
        break;
    }
    return false;
}

void flag_accepts(const struct flag *flag, char text[FLAG_ACCEPTS_BYTES])
{
    if (flag->kind == FLAG_WHOLE && flag->most >= 0x1p64)
        snprintf(text, FLAG_ACCEPTS_BYTES, "a whole number of at most 64 bits");
    else if (flag->kind == FLAG_WHOLE)
        snprintf(text, FLAG_ACCEPTS_BYTES, "a whole number from %.0f to %.0f", flag->least,
                 flag->most);
    else if (flag->kind == FLAG_REAL || flag->kind == FLAG_KB)
        snprintf(text, FLAG_ACCEPTS_BYTES, "a number from %.15g to %.15g", flag->least, flag->most);
    else if (flag->kind == FLAG_SCALE)
        snprintf(text, FLAG_ACCEPTS_BYTES, "dynamic, none, or a power of two from %.0f to %.0f",
                 flag->least, flag->most);
    else if (flag->kind == FLAG_HIDDEN)
        snprintf(text, FLAG_ACCEPTS_BYTES,
                 "none, or 1 to %d widths from %.0f to %.0f, as in 128,64", OPTIONS_HIDDEN_MOST,
                 flag->least, flag->most);
    else
        snprintf(text, FLAG_ACCEPTS_BYTES, "%s", flag->accepts ? flag->accepts : "no value");
}
