/*
 * options: walking the command line with the table of flags. See the header.
 *
 * --flag VALUE and --flag=VALUE are the same. A flag given twice: the last one counts, so that
 * a script's flags can be overridden at its end. Nothing is ignored: what does not apply is
 * refused with the flag's name.
 */
#include "common/options_inside.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

static size_t row_of(const struct flag *flag)
{
    assert(flag - flags < OPTIONS_FLAGS_MOST);
    return (size_t)(flag - flags);
}

bool options_given(const struct reading *reading, const char *name)
{
    return reading->options->given[row_of(flag_find(name, strlen(name)))];
}

void options_count_given(struct reading *reading, const char *name, bool given)
{
    reading->options->given[row_of(flag_find(name, strlen(name)))] = given;
}

static int refuse_unknown(struct reading *reading, const char *name, size_t length)
{
    const struct flag *near = flag_nearest(name, length, reading->options->lesson);
    if (near)
        return fail_set(reading->fail, -EINVAL,
                        "--%.*s is not a flag; did you mean --%s? See --help", (int)length, name,
                        near->name);
    return fail_set(reading->fail, -EINVAL, "--%.*s is not a flag; --help lists those there are",
                    (int)length, name);
}

/* A flag of some lesson, but not of this one. */
static int refuse_lesson(struct reading *reading, const struct flag *flag)
{
    int lesson = reading->options->lesson, first = 1, last = 4;
    while (!flag_in_lesson(flag, first))
        first++;
    while (!flag_in_lesson(flag, last))
        last--;
    if (lesson < first)
        return fail_set(reading->fail, -EINVAL,
                        "--%s exists from lesson %d on; this is lesson %d, see --help", flag->name,
                        first, lesson);
    return fail_set(reading->fail, -EINVAL,
                    "--%s exists up to lesson %d; this is lesson %d, see --help", flag->name, last,
                    lesson);
}

static int refuse_value(struct reading *reading, const struct flag *flag, const char *value)
{
    char accepts[FLAG_ACCEPTS_BYTES];
    flag_accepts(flag, accepts);
    if (flag->later && flag_choice(flag->later, value) >= 0)
        return fail_set(reading->fail, -EINVAL, "--%s %s is not part of this version; accepted: %s",
                        flag->name, value, accepts);
    return fail_set(reading->fail, -EINVAL, "--%s: expected %s, found '%s'", flag->name, accepts,
                    value);
}

static int check_known(struct reading *reading, const struct flag *flag, const char *name,
                       size_t length)
{
    if (!flag)
        return refuse_unknown(reading, name, length);
    if (!flag_in_lesson(flag, reading->options->lesson))
        return refuse_lesson(reading, flag);
    return 0;
}

/* The value after = or in the next argument; another flag there is no value. */
static int find_value(struct reading *reading, const struct flag *flag, const char *equals,
                      const char **value)
{
    char accepts[FLAG_ACCEPTS_BYTES];
    flag_accepts(flag, accepts);
    *value = equals ? equals + 1 : NULL;
    if (!flag->accepts && equals)
        return fail_set(reading->fail, -EINVAL, "--%s takes no value, found '%s'", flag->name,
                        *value);
    if (!flag->accepts || equals)
        return 0;
    if (!*reading->next || strncmp(*reading->next, "--", 2) == 0)
        return fail_set(reading->fail, -EINVAL, "--%s: expected %s, found no value", flag->name,
                        accepts);
    *value = *reading->next++;
    return 0;
}

static int read_flag(struct reading *reading)
{
    const char *argument = *reading->next++, *value;
    if (strcmp(argument, "-n") == 0 && reading->options->lesson == 4)
        argument = "--ranks"; // as the launcher is asked
    if (strncmp(argument, "--", 2) != 0)
        return fail_set(reading->fail, -EINVAL,
                        "'%s' is not expected here: every argument is a --flag or its value, see "
                        "--help",
                        argument);
    const char *name = argument + 2, *equals = strchr(name, '=');
    size_t length = equals ? (size_t)(equals - name) : strlen(name);
    const struct flag *flag = flag_find(name, length);
    int error = check_known(reading, flag, name, length);
    if (error)
        return error;
    error = find_value(reading, flag, equals, &value);
    if (error)
        return error;
    if (!flag_store(flag, reading->options, value))
        return refuse_value(reading, flag, value);
    reading->options->given[row_of(flag)] = true;
    return 0;
}

/* Defaults that depend on what was given. */
static void settle(struct reading *reading)
{
    struct options *options = reading->options;
    options->bench_all = options->bench && !options_given(reading, "algorithm");
    if (!options_given(reading, "lr") && options->optimizer != OPTIMIZER_SGD)
        options->lr = 0.001;
    if (!options_given(reading, "loss-scale"))
        options->loss_scale = options->precision == PRECISION_FP16 ? 0 : 1;
    if (!options_given(reading, "first-bucket-kb") &&
        options->first_bucket_bytes > options->bucket_bytes)
        options->first_bucket_bytes = options->bucket_bytes;
}

static void set_defaults(struct options *options, int lesson)
{
    *options = (struct options){.lesson = lesson};
    for (const struct flag *flag = flags; flag->help; flag++) {
        if (flag->kind == FLAG_OFF)
            *(bool *)((char *)options + flag->offset) = true;
        if (!flag->fallback)
            continue;
        bool accepted = flag_store(flag, options, flag->fallback);
        assert(accepted);
        (void)accepted;
    }
}

int options_parse(struct options *options, int lesson, int argc, char **argv, struct fail *fail)
{
    struct reading reading = {.options = options, .fail = fail, .next = argv + (argc > 0)};
    set_defaults(options, lesson);
    while (*reading.next) {
        int error = read_flag(&reading);
        if (error)
            return error;
        if (options->help || options->version)
            return 0; // what follows does not matter any more
    }
    settle(&reading);
    int error = options_together(&reading);
    if (!error)
        options_plant(&reading);
    return error;
}
