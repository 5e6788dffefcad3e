/*
 * options: the command line of a lesson, as one table of flags.
 *
 * The table (flag_table.c) is the only place that knows a flag's name, what it accepts, its default
 * and the lessons it means something to; parsing, `--help` and the refusals all come from it.
 * Texts point into argv: they live as long as the program.
 */
#ifndef COMMON_OPTIONS_H
#define COMMON_OPTIONS_H

#include "common/fail.h"
#include "common/linkspec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { OPTIONS_HIDDEN_MOST = 16, OPTIONS_FLAGS_MOST = 80 };

static const uint64_t OPTIONS_INJECT_HELP = UINT64_C(1) << 63; // no member: they are to be told

enum task { TASK_BY_DATA, TASK_CLASSIFY, TASK_REGRESS };
enum optimizer_kind { OPTIMIZER_SGD, OPTIMIZER_ADAM, OPTIMIZER_ADAMW };
enum schedule_kind { SCHEDULE_CONSTANT, SCHEDULE_LINEAR, SCHEDULE_COSINE, SCHEDULE_HALVE };
enum lr_scale { LR_SCALE_NONE, LR_SCALE_LINEAR, LR_SCALE_SQRT };
enum precision_kind { PRECISION_FP32, PRECISION_BF16, PRECISION_FP16 };
enum compress_kind { COMPRESS_NONE, COMPRESS_BF16 };
enum nonfinite_kind { NONFINITE_STOP, NONFINITE_SKIP };
enum progress_kind { PROGRESS_AUTO, PROGRESS_ALWAYS, PROGRESS_NEVER };

struct options {
    int lesson; // 1 to 4

    const char *data;      // digits, fashion-mnist, synthetic, a folder, or FILE.csv
    const char *test_data; // NULL: the data set's own, or every fifth sample
    enum task task;

    bool hidden_given;
    size_t hidden[OPTIONS_HIDDEN_MOST]; // widths
    size_t hidden_count;                // 0: a linear model
    bool bias;
    const char *init;   // "he", "const:V", or FILE.safetensors
    float init_value;   // V, when init begins with const:
    const char *tie;    // "fc3=fc2,...": layers that use another's weight; or NULL
    const char *freeze; // tensors that stay as they are; or NULL
    double layer_drop;  // the probability that a rank leaves a hidden layer out of an update
    size_t recompute;   // every K-th activation is kept, the others are computed again; 1: all kept
    double dropout;     // the probability that a hidden unit is left out of training

    size_t epochs;         // passes over the data; not used when steps is given
    size_t steps;          // updates; 0: not given
    size_t batch;          // samples of one micro-batch over all ranks
    size_t per_rank_batch; // 0: not given; else batch = per_rank_batch * world
    size_t accumulate;     // micro-batches per update

    enum optimizer_kind optimizer;
    double lr, momentum, weight_decay; // weights decay, biases do not
    double clip;                       // 0: off
    enum schedule_kind schedule;
    size_t halve_every; // updates, for SCHEDULE_HALVE
    size_t warmup;      // updates
    enum lr_scale lr_scale;

    enum precision_kind precision; // that forward and backward round to
    double loss_scale;             // a power of two; 1: none; 0: dynamic

    enum nonfinite_kind on_nonfinite; // what becomes of a step whose loss or gradient is not finite

    uint64_t seed;
    bool shuffle, drop_last;

    size_t verify; // the first K steps are verified; 0: none
    const char *metrics;
    const char *record; // a folder
    const char *trace;
    bool profile; // a table of where an update's time goes
    bool plot;    // the loss drawn in text
    const char *dump;
    size_t dump_steps;
    const char *save;
    size_t save_every;  // updates; 0: at the end only
    size_t keep;        // checkpoints that stay
    const char *resume; // a folder, or "auto": that of save, if a checkpoint is there
    enum progress_kind progress;
    bool quiet;
    bool bench;                // measure and print a table instead of training (lessons 1 and 2)
    bool bench_all;            // every algorithm, as none was asked for (lesson 2)
    size_t bench_most_bytes;   // the largest vector measured (lesson 2)
    bool explain;              // draw the all-reduce or the buckets instead of training (2-4)
    double timeout;            // seconds a rank waits for another (lessons 2-4)
    int algorithm;             // enum algorithm of lesson 2
    int transport;             // enum comm_transport of lesson 2
    const char *link;          // how slow links are to be, as it was given; or NULL (lessons 2-4)
    struct linkspec link_spec; // what it says
    const char *tuning; // where the choice of auto is read, or written by bench (lesson 2); or NULL
    size_t bucket_bytes; // lessons 3-4
    size_t first_bucket_bytes;
    bool overlap;
    bool find_unused; // a parameter without a gradient counts as one with a gradient of 0
    enum compress_kind compress;
    bool error_feedback;       // of compress
    int stage;                 // of ZeRO, lesson 4
    size_t persist_bytes;      // a bucket of no more stays whole in stage 3
    const char *offload;       // the folder of what is kept on disk; NULL: all in memory (lesson 4)
    size_t offload_tile_bytes; // how much of each array is in memory at a time
    bool plan;                 // say what each choice would need instead of training (lesson 4)
    size_t ranks;              // of plan: how many; 0: as many as there are
    size_t memory_limit;       // MiB that a rank may train with; 0: no limit (lesson 4)

    uint64_t inject; // mistakes that are planted: bit M is zoo.h's member M (lessons 2-4)

    bool help, version; // asked for: print and leave with 0

    bool given[OPTIONS_FLAGS_MOST]; // on the command line, by row of the table
};

/* Reads argv[1..] for `lesson`. 0, or -EINVAL with the flag, the value, and what it accepts. */
int options_parse(struct options *options, int lesson, int argc, char **argv, struct fail *fail);

/* What `--help` shows: the flags of this lesson with their defaults. */
void options_help(const struct options *options, const char *program, FILE *out);

/* Eight bytes that are equal where every option that must agree across ranks is. */
uint64_t options_fingerprint(const struct options *options);

#endif
