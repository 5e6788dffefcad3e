/*
 * zoo_check: does what --inject plants go with the rest of the command line; and what it changes of that.
 *
 * A mistake whose circumstances are missing would plant nothing, and whoever looks for it would look for ever.
 */
#include "common/options_inside.h"
#include "common/zoo.h"

#include <errno.h>
#include <string.h>

/* Is the flag in force that `needs` shows as one would give it: "--dropout 0.3"? */
static bool has_needed(const struct reading *reading, const char *needs)
{
    const struct options *options = reading->options;
    if (strncmp(needs, "--dropout", strlen("--dropout")) == 0)
        return options->dropout > 0;
    if (strncmp(needs, "--accumulate", strlen("--accumulate")) == 0)
        return options->accumulate > 1;
    if (strncmp(needs, "--clip", strlen("--clip")) == 0)
        return options->clip > 0;
    if (strncmp(needs, "--weight-decay", strlen("--weight-decay")) == 0)
        return options->weight_decay > 0;
    return options->resume != NULL;
}

static int check_place(struct reading *reading, const struct zoo_row *row)
{
    const struct options *options = reading->options;
    if (!(row->lessons >> options->lesson & 1))
        return fail_set(reading->fail, -EINVAL,
                        "--inject %s: lesson %d has nothing that could go wrong in this way; "
                        "--inject help lists what can",
                        row->name, options->lesson);
    if (options->lesson == 4 && options->stage > row->most_stage)
        return fail_set(reading->fail, -EINVAL,
                        "--inject %s needs each rank's whole gradient, which only --stage 1 has",
                        row->name);
    return 0;
}

static int check_flags(struct reading *reading, const struct zoo_row *row)
{
    if (row->needs && !has_needed(reading, row->needs))
        return fail_set(reading->fail, -EINVAL,
                        "--inject %s means nothing without a flag such as %s", row->name,
                        row->needs);
    for (const char *next = row->excludes; next && *next;) {
        char name[32];
        size_t length = strcspn(next, " ");
        snprintf(name, sizeof name, "%.*s", (int)length, next);
        if (options_given(reading, name))
            return fail_set(reading->fail, -EINVAL,
                            "--inject %s and --%s exclude each other: give one", row->name, name);
        next += length + strspn(next + length, " ");
    }
    return 0;
}

/* Plain SGD has no state to forget. */
static int check_state(struct reading *reading)
{
    const struct options *options = reading->options;
    bool forgets = zoo_has(options, ZOO_RESUME_WITHOUT_MOMENTUM);
    if (!forgets || options->optimizer != OPTIMIZER_SGD || options->momentum > 0)
        return 0;
    return fail_set(reading->fail, -EINVAL,
                    "--inject %s means nothing with --optimizer sgd and --momentum 0, which keeps "
                    "no state",
                    zoo_table[ZOO_RESUME_WITHOUT_MOMENTUM].name);
}

static int check_member(struct reading *reading, enum zoo_member member)
{
    const struct zoo_row *row = &zoo_table[member];
    enum zoo_member other;
    int error = check_place(reading, row);
    if (!error)
        error = check_flags(reading, row);
    if (!error && zoo_contradicts(member, reading->options->inject, &other))
        error = fail_set(reading->fail, -EINVAL,
                         "--inject %s and %s contradict each other: plant one at a time", row->name,
                         zoo_table[other].name);
    return error;
}

int options_check_zoo(struct reading *reading)
{
    int error = 0;
    for (int member = 0; member < ZOO_MEMBERS && !error; member++)
        if (zoo_has(reading->options, (enum zoo_member)member))
            error = check_member(reading, (enum zoo_member)member);
    return error ? error : check_state(reading);
}

/* The batch that was asked for is taken to be each rank's: as if --per-rank-batch had been given. */
static void ask_per_rank(struct reading *reading)
{
    reading->options->per_rank_batch = reading->options->batch;
    options_count_given(reading, "per-rank-batch", true);
    options_count_given(reading, "batch", false);
}

/* A rate that the network bears once it has learnt something, but not in its first updates. */
static void ask_scaled_rate(struct reading *reading)
{
    struct options *options = reading->options;
    options->lr_scale = LR_SCALE_LINEAR;
    options_count_given(reading, "lr-scale", true);
    if (!options_given(reading, "lr"))
        options->lr = options->optimizer == OPTIMIZER_SGD ? 0.5 : 0.05;
    options_count_given(reading, "lr", true);
}

/* The proof is off: it would stop the run before there is anything to see. */
void options_plant(struct reading *reading)
{
    struct options *options = reading->options;
    if (options->inject && !options_given(reading, "verify"))
        options->verify = 0;
    if (zoo_has(options, ZOO_NO_LR_SCALE) || zoo_has(options, ZOO_LR_SCALE_NO_WARMUP))
        ask_per_rank(reading);
    if (zoo_has(options, ZOO_LR_SCALE_NO_WARMUP))
        ask_scaled_rate(reading);
}
