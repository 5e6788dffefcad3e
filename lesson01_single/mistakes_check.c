/*
 * mistakes_check: would what is planted change anything of this run?
 *
 * zoo_check.c judges the flags before there is any data; here sizes are known: a test set whose shares are equal
 * needs no padding, an update of one micro-batch has no first and no last. Who looks for a mistake that makes no
 * difference would look for ever.
 */
#include "lesson01_single/mistakes.h"

#include <errno.h>

static bool has_no_hidden_layer(const struct mistakes_place *place)
{
    return place->options->hidden_count == 0;
}

static bool has_one_epoch(const struct mistakes_place *place)
{
    return place->updates <= place->sampler->steps_per_epoch;
}

static bool tests_equal_shares(const struct mistakes_place *place)
{
    return place->test_samples % place->world == 0;
}

static bool has_one_batch(const struct mistakes_place *place)
{
    const struct options *options = place->options;
    size_t batch = options->per_rank_batch > 0 ? options->per_rank_batch : options->batch;
    return batch >= place->sampler->count;
}

static bool has_batches_of_one(const struct mistakes_place *place)
{
    return place->sampler->batch == 1 || place->sampler->count == 1;
}

static bool has_one_micro_batch(const struct mistakes_place *place)
{
    struct step first = sampler_step(place->sampler, 0);
    return sampler_micro_batches(place->sampler, &first) == 1;
}

/* Has each rank the same part of each micro-batch? */
static bool shares_evenly(const struct mistakes_place *place, const struct step *step)
{
    size_t batches = sampler_micro_batches(place->sampler, step);
    for (size_t m = 0; m < batches; m++)
        for (size_t rank = 0; rank < place->world; rank++) {
            size_t rows = sampler_share(place->sampler, step, m, place->world, rank).count;
            if (rows * place->world * batches != step->samples.count)
                return false;
        }
    return true;
}

static bool weighs_evenly(const struct mistakes_place *place)
{
    size_t steps = place->sampler->steps_per_epoch, index = 0;
    for (; index < steps && index < place->updates; index++) {
        struct step step = sampler_step(place->sampler, index);
        if (!shares_evenly(place, &step))
            return false;
    }
    return true;
}

static const char one_sample[] =
    "where a batch is one sample, which one rank has: give a larger --batch";
static const char one_batch[] = "where one batch is all samples already: give a smaller --batch";
static const char one_micro_batch[] = "where an update is one micro-batch: give a smaller --batch";

static const struct {
    enum zoo_member member;
    bool (*holds)(const struct mistakes_place *place);
    const char *where; // it means nothing
} idle[] = {
    {ZOO_SUM_NOT_MEAN, has_batches_of_one, one_sample},
    {ZOO_RANK0_LOSS_ONLY, has_batches_of_one, one_sample},
    {ZOO_CLIP_BEFORE_REDUCE, has_batches_of_one, one_sample},
    {ZOO_NO_LR_SCALE, has_one_batch, one_batch},
    {ZOO_BATCH_NOT_DIVIDED, has_one_batch, one_batch},
    {ZOO_SYNC_LAST_MICROBATCH_ONLY, has_one_micro_batch, one_micro_batch},
    {ZOO_SYNC_FIRST_MICROBATCH_ONLY, has_one_micro_batch, one_micro_batch},
    {ZOO_NO_SET_EPOCH, has_one_epoch, "before a second epoch: ask for more updates"},
    {ZOO_SAME_DROPOUT, has_no_hidden_layer, "without a hidden layer, which --dropout thins"},
    {ZOO_LAST_BATCH_UNWEIGHTED, weighs_evenly,
     "where all micro-batches are shared out evenly: change --batch"},
    {ZOO_EVAL_PADDING_COUNTED, tests_equal_shares,
     "where the test set has equal shares, so that nothing would be padded: change the number of "
     "ranks"},
};

int mistakes_check(const struct mistakes_place *place, struct fail *fail)
{
    for (size_t i = 0; i < sizeof idle / sizeof *idle; i++)
        if (zoo_has(place->options, idle[i].member) && idle[i].holds(place))
            return fail_set(fail, -EINVAL, "--inject %s means nothing %s",
                            zoo_table[idle[i].member].name, idle[i].where);
    return 0;
}
