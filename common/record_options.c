/* record_options: a command line as JSON: each flag and its value, as the user would give it. */
#include "common/flag.h"
#include "common/record.h"

#include <stdio.h>
#include <string.h>

/* Injected mistakes are left out: whoever reads a record is to find them. */
static bool is_told(const struct flag *flag, const struct options *options)
{
    return flag->kind != FLAG_TITLE && flag_in_lesson(flag, options->lesson) &&
           strcmp(flag->name, "inject") != 0;
}

/* The word at `position` of "a | b | c"; one before them: none was given. */
static void add_choice(struct jsonl_line *line, const char *choices, int position)
{
    static const char between[] = " | ";
    if (position < 0) {
        jsonl_add(line, "null");
        return;
    }
    for (; position > 0; position--)
        choices = strstr(choices, between) + strlen(between);
    const char *end = strstr(choices, between);
    jsonl_add(line, "\"%.*s\"", (int)(end ? (size_t)(end - choices) : strlen(choices)), choices);
}

/* Readers of JSON take larger ones for an error. 0, where that is no value but "not given": null. */
static void add_count(struct jsonl_line *line, const struct flag *flag, size_t value)
{
    if (value == 0 && flag->least > 0)
        jsonl_add(line, "null");
    else
        jsonl_add(line, value <= INT64_MAX ? "%zu" : "\"%zu\"", value);
}

static void add_hidden(struct jsonl_line *line, const struct options *options)
{
    jsonl_add(line, options->hidden_count > 0 ? "\"" : "\"none");
    for (size_t i = 0; i < options->hidden_count; i++)
        jsonl_add(line, "%s%zu", i > 0 ? "," : "", options->hidden[i]);
    jsonl_add(line, "\"");
}

static void add_schedule(struct jsonl_line *line, const struct options *options)
{
    if (options->schedule == SCHEDULE_HALVE)
        jsonl_add(line, "\"halve:%zu\"", options->halve_every);
    else
        add_choice(line, "constant | linear | cosine", (int)options->schedule);
}

static void add_scale(struct jsonl_line *line, double value)
{
    if (value <= 1)
        add_choice(line, "dynamic | none", (int)value);
    else
        jsonl_number(line, value);
}

static void add_value(struct jsonl_line *line, const struct flag *flag,
                      const struct options *options)
{
    const void *field = (const char *)options + flag->offset;
    switch (flag->kind) {
    case FLAG_ON:
    case FLAG_OFF:
        jsonl_add(line, *(const bool *)field == (flag->kind == FLAG_ON) ? "true" : "false");
        break;
    case FLAG_ZERO:
        jsonl_add(line, *(const size_t *)field == 0 ? "true" : "false");
        break;
    case FLAG_WHOLE:
        add_count(line, flag, *(const size_t *)field);
        break;
    case FLAG_REAL:
        jsonl_number(line, *(const double *)field);
        break;
    case FLAG_KB:
        jsonl_number(line, (double)*(const size_t *)field / 1024);
        break;
    case FLAG_CHOICE:
        add_choice(line, flag->accepts, *(const int *)field - (int)flag->least);
        break;
    case FLAG_HIDDEN:
        add_hidden(line, options);
        break;
    case FLAG_SCHEDULE:
        add_schedule(line, options);
        break;
    case FLAG_SCALE:
        add_scale(line, *(const double *)field);
        break;
    default:
        jsonl_string(line, *(const char *const *)field);
    }
}

void record_options(struct jsonl_line *line, const struct options *options)
{
    const char *before = "{";
    for (const struct flag *flag = flags; flag->help; flag++) {
        if (!is_told(flag, options))
            continue;
        jsonl_add(line, "%s\"%s\":", before, flag->name);
        add_value(line, flag, options);
        before = ",";
    }
    jsonl_add(line, ",\"given\":");
    before = "[";
    for (const struct flag *flag = flags; flag->help; flag++) {
        if (!is_told(flag, options) || !options->given[flag - flags])
            continue;
        jsonl_add(line, "%s\"%s\"", before, flag->name);
        before = ",";
    }
    jsonl_add(line, *before == '[' ? "[]}" : "]}");
}
