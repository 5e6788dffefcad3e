/*
 * options: walking the command line with the table of flags. See the header.
 *
 * --flag VALUE and --flag=VALUE are the same. A flag given twice: the last one counts, so that
 * a script's flags can be overridden at its end. Nothing is ignored: what does not apply is
 * refused with the flag's name.
 */
#include "common/options.h"

#include "common/flag.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

enum { FLAGS_MOST = 80 }; // rows of the table

struct reading {
    struct options *options;
    struct fail *fail;
    char **next; // the argument read next
    bool given[FLAGS_MOST];
};

struct pair {
    const char *flag, *other;
};

/* Both say the same thing, or ask for another run: which one counts would be a guess. */
static const struct pair conflicts[] = {
    {"epochs", "steps"},
    {"batch", "per-rank-batch"},
    {"verify", "no-verify"},
    {"bench", "save"},
    {"bench", "resume"},
    {"bench", "dump"},
    {"bench", "metrics"},
    {"bench", "trace"},
    {"bench", "profile"},
    {"bench", "dropout"},
    {"bench", "layer-drop"},
    {"bench", "freeze"},
    {"bench", "tie"},
    {"bench", "recompute"},
    {"bench", "precision"},
    {"explain", "trace"},
    {"explain", "profile"},
    {"explain", "bench"},
    {"explain", "save"},
    {"explain", "resume"},
    {"explain", "dump"},
    {"explain", "metrics"},
    {"explain", "offload"},
    {"error-feedback", "save"},
    {"error-feedback", "resume"},
};

/* The first means nothing without the second. */
static const struct pair needs[] = {{"dump-steps", "dump"},
                                    {"save-every", "save"},
                                    {"keep", "save"},
                                    {"bench-most", "bench"},
                                    {"offload-tile-kb", "offload"}};

static bool *given(struct reading *reading, const struct flag *flag)
{
    assert(flag - flags < FLAGS_MOST);
    return &reading->given[flag - flags];
}

static bool is_given(struct reading *reading, const char *name)
{
    return *given(reading, flag_find(name, strlen(name)));
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
    *given(reading, flag) = true;
    return 0;
}

/* A tuning is measured over all algorithms, and read by auto. */
static int check_tuning(struct reading *reading)
{
    bool automatic = reading->options->algorithm ==
                     flag_choice(flag_find("algorithm", strlen("algorithm"))->accepts, "auto");
    if (!is_given(reading, "tuning") || automatic)
        return 0;
    if (!is_given(reading, "bench"))
        return fail_set(reading->fail, -EINVAL,
                        "--tuning means nothing without --algorithm auto, which reads it, or "
                        "lesson 2's --bench, which writes it");
    if (is_given(reading, "algorithm"))
        return fail_set(reading->fail, -EINVAL,
                        "--bench --tuning measures every algorithm: leave out --algorithm, or "
                        "give --algorithm auto to measure what the file says");
    return 0;
}

/* Lesson 4 puts the optimizer between the halves of an all-reduce; trees and roots have none. */
static int check_algorithm(struct reading *reading)
{
    static const char halves[] = "ring | direct | auto";
    const char *accepts = flag_find("algorithm", strlen("algorithm"))->accepts;
    int algorithm = reading->options->algorithm;
    bool has_halves = algorithm == flag_choice(accepts, "ring") ||
                      algorithm == flag_choice(accepts, "direct") ||
                      algorithm == flag_choice(accepts, "auto");
    if (reading->options->lesson < 4 || has_halves)
        return 0;
    return fail_set(reading->fail, -EINVAL,
                    "--algorithm: lesson 4 needs a reduce-scatter, which only these have: %s",
                    halves);
}

/* A compressed sum has an order and a rounding of its own, whatever the algorithm. */
static int check_compress(struct reading *reading)
{
    const struct options *options = reading->options;
    const char *accepts = flag_find("algorithm", strlen("algorithm"))->accepts;
    if (options->error_feedback && options->compress == COMPRESS_NONE)
        return fail_set(reading->fail, -EINVAL,
                        "--error-feedback means nothing without --compress bf16");
    if (options->compress == COMPRESS_NONE || !is_given(reading, "algorithm") ||
        options->algorithm == flag_choice(accepts, "direct"))
        return 0;
    return fail_set(reading->fail, -EINVAL,
                    "--compress bf16 is an all-reduce of its own, straight to the rank that adds "
                    "up: leave out --algorithm, or give direct");
}

static int check_resume(struct reading *reading)
{
    const char *resume = reading->options->resume;
    if (!resume || strcmp(resume, "auto") != 0 || reading->options->save)
        return 0;
    return fail_set(
        reading->fail, -EINVAL,
        "--resume auto continues what --save wrote: give --save DIR too (or, for a folder "
        "of this name, --resume ./auto)");
}

static int check_scale(struct reading *reading)
{
    const struct options *options = reading->options;
    if (is_given(reading, "loss-scale") && options->precision == PRECISION_FP32)
        return fail_set(reading->fail, -EINVAL,
                        "--loss-scale means nothing without --precision bf16 or fp16");
    if (options->error_feedback && options->on_nonfinite == NONFINITE_SKIP)
        return fail_set(
            reading->fail, -EINVAL,
            "--error-feedback and --on-nonfinite skip exclude each other: an update that "
            "is skipped would leave behind what it kept back");
    if (options->error_feedback && options->precision != PRECISION_FP32 && options->loss_scale == 0)
        return fail_set(reading->fail, -EINVAL,
                        "--error-feedback and a dynamic --loss-scale exclude each other: an update "
                        "that is skipped would leave behind what it kept back; give --loss-scale "
                        "none or a power of two");
    return 0;
}

/* Plain SGD has no state. */
static int check_offload(struct reading *reading)
{
    const struct options *options = reading->options;
    bool has_state = options->optimizer != OPTIMIZER_SGD || options->momentum > 0;
    if (!options->offload || has_state || options->stage >= 3)
        return 0;
    return fail_set(
        reading->fail, -EINVAL,
        "--offload: --optimizer sgd with --momentum 0 keeps no state, so below --stage 3 "
        "there is nothing to offload");
}

static int check_link(struct reading *reading)
{
    struct options *options = reading->options;
    return options->link ? linkspec_read(&options->link_spec, options->link, reading->fail) : 0;
}

static int check_pairs(struct reading *reading)
{
    for (size_t i = 0; i < sizeof conflicts / sizeof *conflicts; i++)
        if (is_given(reading, conflicts[i].flag) && is_given(reading, conflicts[i].other))
            return fail_set(reading->fail, -EINVAL, "--%s and --%s exclude each other: give one",
                            conflicts[i].flag, conflicts[i].other);
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
        if (is_given(reading, needs[i].flag) && !is_given(reading, needs[i].other))
            return fail_set(reading->fail, -EINVAL, "--%s means nothing without --%s",
                            needs[i].flag, needs[i].other);
    if (is_given(reading, "momentum") && reading->options->optimizer != OPTIMIZER_SGD)
        return fail_set(reading->fail, -EINVAL,
                        "--momentum is of --optimizer sgd; adam and adamw have none");
    int error = check_algorithm(reading);
    if (!error)
        error = check_tuning(reading);
    if (!error)
        error = check_compress(reading);
    if (!error)
        error = check_resume(reading);
    if (!error)
        error = check_scale(reading);
    if (!error)
        error = check_offload(reading);
    return error ? error : check_link(reading);
}

/* Defaults that depend on what was given. */
static void settle(struct reading *reading)
{
    struct options *options = reading->options;
    options->bench_all = options->bench && !is_given(reading, "algorithm");
    if (!is_given(reading, "lr") && options->optimizer != OPTIMIZER_SGD)
        options->lr = 0.001;
    if (!is_given(reading, "loss-scale"))
        options->loss_scale = options->precision == PRECISION_FP16 ? 0 : 1;
    if (!is_given(reading, "first-bucket-kb") &&
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
    return check_pairs(&reading);
}
