/*
 * options_together: what was given, taken together. What makes no sense is refused in a sentence, before
 * any work: which of two flags counts would be a guess.
 */
#include "common/options_inside.h"

#include <errno.h>
#include <string.h>

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
    {"bench", "record"},
    {"bench", "trace"},
    {"bench", "profile"},
    {"bench", "plot"},
    {"bench", "dropout"},
    {"bench", "layer-drop"},
    {"bench", "freeze"},
    {"bench", "tie"},
    {"bench", "recompute"},
    {"bench", "precision"},
    {"explain", "record"},
    {"explain", "trace"},
    {"explain", "profile"},
    {"explain", "plot"},
    {"explain", "bench"},
    {"explain", "save"},
    {"explain", "resume"},
    {"explain", "dump"},
    {"explain", "metrics"},
    {"explain", "offload"},
    {"error-feedback", "save"},
    {"error-feedback", "resume"},
    {"inject", "bench"},
    {"inject", "explain"},
    {"inject", "plan"},
    {"plan", "explain"},
    {"plan", "record"},
    {"plan", "trace"},
    {"plan", "profile"},
    {"plan", "plot"},
    {"plan", "save"},
    {"plan", "resume"},
    {"plan", "dump"},
    {"plan", "metrics"},
};

/* Each would be written over the other. */
static int check_files(struct reading *reading)
{
    const struct options *options = reading->options;
    if (!options->metrics || !options->trace || strcmp(options->metrics, options->trace) != 0)
        return 0;
    return fail_set(reading->fail, -EINVAL,
                    "--metrics and --trace both write '%s': give each a file of its own",
                    options->metrics);
}

/* The first means nothing without the second. */
static const struct pair needs[] = {
    {"dump-steps", "dump"},  {"save-every", "save"},         {"keep", "save"},
    {"bench-most", "bench"}, {"offload-tile-kb", "offload"}, {"ranks", "plan"}};

/* A tuning is measured over all algorithms, and read by auto. */
static int check_tuning(struct reading *reading)
{
    bool automatic = reading->options->algorithm ==
                     flag_choice(flag_find("algorithm", strlen("algorithm"))->accepts, "auto");
    if (!options_given(reading, "tuning") || automatic)
        return 0;
    if (!options_given(reading, "bench"))
        return fail_set(reading->fail, -EINVAL,
                        "--tuning means nothing without --algorithm auto, which reads it, or "
                        "lesson 2's --bench, which writes it");
    if (options_given(reading, "algorithm"))
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
    if (options->compress == COMPRESS_NONE || !options_given(reading, "algorithm") ||
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
    if (options_given(reading, "loss-scale") && options->precision == PRECISION_FP32)
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

int options_together(struct reading *reading)
{
    for (size_t i = 0; i < sizeof conflicts / sizeof *conflicts; i++)
        if (options_given(reading, conflicts[i].flag) && options_given(reading, conflicts[i].other))
            return fail_set(reading->fail, -EINVAL, "--%s and --%s exclude each other: give one",
                            conflicts[i].flag, conflicts[i].other);
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
        if (options_given(reading, needs[i].flag) && !options_given(reading, needs[i].other))
            return fail_set(reading->fail, -EINVAL, "--%s means nothing without --%s",
                            needs[i].flag, needs[i].other);
    if (options_given(reading, "momentum") && reading->options->optimizer != OPTIMIZER_SGD)
        return fail_set(reading->fail, -EINVAL,
                        "--momentum is of --optimizer sgd; adam and adamw have none");
    int error = check_algorithm(reading);
    if (!error)
        error = check_tuning(reading);
    if (!error)
        error = check_files(reading);
    if (!error)
        error = check_compress(reading);
    if (!error)
        error = check_resume(reading);
    if (!error)
        error = check_scale(reading);
    if (!error)
        error = check_offload(reading);
    if (!error)
        error = options_check_zoo(reading);
    return error ? error : check_link(reading);
}
