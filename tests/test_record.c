/* Record: what a run keeps of itself is there, whole, and says what was: of any lesson, world and flags. */
#include "common/record.h"
#include "common/rng.h"
#include "lesson01_single/model.h"
#include "tests/lessons.h"
#include "tests/records.h"
#include "tests/suites.h"

#include <check.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ARGUMENTS_BYTES = 512 };

/* --- reading --------------------------------------------------------------------------------- */

/* Runs it, and reads what it has left in r. */
static void record(struct records *records, struct lesson lesson, const char *arguments)
{
    struct folder folder;
    char all[ARGUMENTS_BYTES + 32];
    folder_open(&folder);
    lesson_write(&folder, "few.csv", "1,2,0.5\n2,1,-1.5\n0,1,0.25\n1,1,2\n2,2,1\n");
    snprintf(all, sizeof all, "--no-verify --record r %s", arguments);
    lesson_ok(&folder, lesson, all);
    records_read(records, &folder, "r", lesson.world);
    folder_close(&folder);
}

static bool is_null(const json_t *line, const char *key)
{
    const json_t *value = json_object_get(line, key);
    ck_assert_msg(value, "no %s", key);
    return json_is_null(value);
}

static struct sketch sketch_of(const json_t *line, const char *key, size_t tensor)
{
    const json_t *pair = json_array_get(json_object_get(line, key), tensor);
    ck_assert_msg(json_array_size(pair) == 2, "%s of tensor %zu", key, tensor);
    return (struct sketch){json_number_value(json_array_get(pair, 0)),
                           json_number_value(json_array_get(pair, 1))};
}

/* Those of all ranks, added. */
static struct sketch sum_of(const struct records *records, size_t step, const char *key,
                            size_t tensor)
{
    struct sketch sum = {0};
    for (int rank = 0; rank < records->world; rank++) {
        struct sketch one = sketch_of(records_line(records, rank, "step", step), key, tensor);
        sum.sum += one.sum;
        sum.squares += one.squares;
    }
    return sum;
}

static const json_t *option_of(const struct records *records, const char *name)
{
    const json_t *value = json_object_get(json_object_get(records->start[0], "options"), name);
    ck_assert_msg(value, "no option %s", name);
    return value;
}

/* --- what each step was made of -------------------------------------------------------------- */

static const struct {
    struct lesson lesson;
    const char *arguments;
} runs[] = {
    {{1, 1}, "--hidden 9 --optimizer adam --accumulate 2"},
    {{2, 1}, "--hidden none --no-bias"},
    {{2, 3}, "--hidden 9 --batch 50"},
    {{2, 4}, "--hidden 9 --accumulate 3 --weight-decay 0.1"},
    {{2, 4}, "--data few.csv --task regress --hidden 3 --batch 2 --accumulate 2"},
    {{3, 2}, "--hidden 9 --optimizer adam --dropout 0.3"},
    {{3, 4}, "--hidden 9 --bucket-kb 0.1 --accumulate 2"},
    {{3, 3}, "--hidden 9,9,9 --tie fc3=fc2 --freeze fc1.weight --clip 0.5 --weight-decay 0.1"},
    {{4, 1}, "--hidden 9 --optimizer adam --stage 3"},
    {{4, 2}, "--hidden 9 --optimizer adam --clip 0.5"},
    {{4, 3}, "--hidden 9 --stage 2 --accumulate 2 --optimizer adamw --weight-decay 0.1"},
    {{4, 4}, "--hidden 9 --stage 2 --bucket-kb 0.1"},
    {{4, 4}, "--hidden 9 --stage 3 --optimizer adam --persist-kb 0.1 --bucket-kb 0.5"},
    {{4, 3}, "--hidden 9,9 --stage 3 --accumulate 3 --freeze fc2 --weight-decay 0.1"},
    {{4, 2}, "--hidden 9 --stage 3 --offload . --optimizer adam --offload-tile-kb 0.1"},
    {{4, 4}, "--hidden 9 --offload . --offload-tile-kb 0.1 --weight-decay 0.1"},
    {{4, 4}, "--data few.csv --task regress --hidden none --stage 2 --batch 2"},
};
enum { RUNS = sizeof runs / sizeof *runs };

/* Every sample of the update counts once, by 1 / of them, and in the loss that is told. */
static void check_samples(const struct records *records, size_t step)
{
    double samples = 0, weight = 0, loss = 0;
    const json_t *first = records_line(records, 0, "step", step);
    for (int rank = 0; rank < records->world; rank++) {
        const json_t *line = records_line(records, rank, "step", step);
        double mine = records_real(line, "samples_local");
        ck_assert(records_real(line, "samples") == records_real(first, "samples"));
        ck_assert(records_real(line, "loss") == records_real(first, "loss"));
        ck_assert(json_is_true(json_object_get(line, "updated")));
        ck_assert(!json_is_true(json_object_get(line, "nonfinite")));
        ck_assert(records_real(line, "clip") == records_real(first, "clip"));
        ck_assert(records_real(line, "micro_batches") == records_real(first, "micro_batches"));
        ck_assert(records_real(line, "handed_over") == records_real(line, "micro_batches"));
        samples += mine;
        ck_assert(mine > 0 || (is_null(line, "weight_least") && is_null(line, "loss_local")));
        if (mine > 0) {
            ck_assert(records_real(line, "weight_least") == records_real(line, "weight_most"));
            weight += mine * records_real(line, "weight_least");
            loss += mine * records_real(line, "loss_local");
        }
    }
    ck_assert_msg(samples == records_real(first, "samples"), "step %zu: %.0f samples", step,
                  samples);
    ck_assert_msg(fabs(weight - 1) < 1e-6, "step %zu: weights add up to %.9g", step, weight);
    ck_assert_msg(fabs(loss / samples - records_real(first, "loss")) < 1e-10 * (1 + fabs(loss)),
                  "step %zu: the local losses' mean is %.17g", step, loss / samples);
}

/* What was reduced is the sum of what ranks had. An element's sum of W addends is rounded W - 1 times, each time by
 * 2^-24 of at most the sum of what was added; over n elements |x| adds up to sqrt(n) times the norm. */
static void check_reduced(const struct records *records, bool sharded, size_t step, size_t tensor)
{
    const json_t *shape = json_array_get(json_object_get(records->start[0], "tensors"), tensor);
    double count = records_real(shape, "count"), norms = 0;
    struct sketch raw = sum_of(records, step, "raw", tensor),
                  reduced = sum_of(records, step, "reduced", tensor);
    if (json_is_true(json_object_get(shape, "frozen"))) {
        ck_assert(raw.squares == 0 && reduced.squares == 0);
        return;
    }
    for (int rank = 0; rank < records->world; rank++) {
        const json_t *line = records_line(records, rank, "step", step);
        struct sketch mine = sketch_of(line, "reduced", tensor);
        norms += sqrt(sketch_of(line, "raw", tensor).squares);
        if (!sharded) {
            struct sketch first =
                sketch_of(records_line(records, 0, "step", step), "reduced", tensor);
            ck_assert(mine.sum == first.sum && mine.squares == first.squares);
        }
    }
    if (!sharded)
        reduced.sum /= records->world;
    double bound = ((records->world - 1) * 0x1p-24 + count * 0x1p-52) * sqrt(count) * norms +
                   1e-11 * (norms + fabs(raw.sum)); // of 12 digits written
    ck_assert_msg(fabs(raw.sum - reduced.sum) <= bound,
                  "step %zu, tensor %zu: reduced %.17g, of all ranks %.17g, bound %g", step, tensor,
                  reduced.sum, raw.sum, bound);
    ck_assert_msg(raw.squares > 0 || norms == 0, "step %zu, tensor %zu: no gradient", step, tensor);
}

/* Weights decay, wherever they are owned, and nothing else does. */
static void check_decay(const struct records *records, bool sharded, size_t step)
{
    const json_t *tensors = json_object_get(records->start[0], "tensors");
    bool decays = json_number_value(option_of(records, "weight-decay")) > 0;
    double expected = 0, found = 0;
    for (size_t i = 0; i < json_array_size(tensors) && decays; i++) {
        const json_t *tensor = json_array_get(tensors, i);
        if (json_is_true(json_object_get(tensor, "decays")) &&
            !json_is_true(json_object_get(tensor, "frozen")))
            expected += records_real(tensor, "count");
    }
    for (int rank = 0; rank < records->world; rank++)
        found += records_real(records_line(records, rank, "step", step), "decayed");
    ck_assert_msg(found == expected * (sharded ? 1 : records->world),
                  "step %zu: %.0f decayed, not %.0f", step, found, expected);
}

static void check_param(const struct records *records, bool whole, size_t step)
{
    const json_t *first = records_line(records, 0, "step", step);
    for (int rank = 0; rank < records->world; rank++) {
        const json_t *line = records_line(records, rank, "step", step);
        if (whole)
            ck_assert(records_hash(line, "param_hash") == records_hash(first, "param_hash"));
        else
            ck_assert(is_null(line, "param_hash"));
    }
    if (whole && step > 0) // an update changes something
        ck_assert(records_hash(first, "param_hash") !=
                  records_hash(records_line(records, 0, "step", step - 1), "param_hash"));
}

static bool is_look(const json_t *line)
{
    return json_object_get(line, "raw") != NULL;
}

START_TEST(every_step_is_made_of_what_the_ranks_say)
{
    struct records records;
    char arguments[ARGUMENTS_BYTES];
    snprintf(arguments, sizeof arguments, "--steps 66 %s", runs[_i].arguments);
    record(&records, runs[_i].lesson, arguments);
    bool sharded = runs[_i].lesson.number == 4, whole = !strstr(arguments, "--stage 3");
    size_t tensors = json_array_size(json_object_get(records.start[0], "tensors"));
    for (size_t step = 0; step < 66; step++) {
        check_samples(&records, step);
        bool looks = is_look(records_line(&records, 0, "step", step));
        ck_assert_msg(looks == (step < 8 || step == 64), "step %zu", step);
        for (size_t tensor = 0; tensor < tensors && looks; tensor++)
            check_reduced(&records, sharded, step, tensor);
        if (looks)
            check_decay(&records, sharded, step);
        if (step < 8)
            check_param(&records, whole, step);
    }
    for (int rank = 0; rank < records.world; rank++) {
        ck_assert_uint_eq(records_count(&records, rank, "step"), 66);
        ck_assert(records_real(records_line(&records, rank, "end", 0), "exit_code") == 0);
        ck_assert(records_is(
            json_array_get(records.lines[rank], json_array_size(records.lines[rank]) - 1), "end"));
    }
    records_release(&records);
}
END_TEST

/* --- the same training, whoever keeps what --------------------------------------------------- */

static const char *const stages[] = {"", "--stage 2", "--stage 3 --persist-kb 0.1", "--offload .",
                                     "--stage 3 --offload . --offload-tile-kb 0.1"};
enum { STAGES = sizeof stages / sizeof *stages };

static void check_alike(const struct records *ddp, const struct records *zero, size_t step,
                        size_t tensor)
{
    static const char *const kinds[] = {"reduced", "param"};
    for (int rank = 0; rank < ddp->world; rank++) {
        const json_t *line = records_line(zero, rank, "step", step),
                     *other = records_line(ddp, rank, "step", step);
        ck_assert(sketch_of(line, "raw", tensor).sum == sketch_of(other, "raw", tensor).sum);
        ck_assert(records_hash(line, "seen") == records_hash(other, "seen"));
    }
    for (int kind = 0; kind < 2; kind++) {
        struct sketch parts = sum_of(zero, step, kinds[kind], tensor),
                      whole = sketch_of(records_line(ddp, 0, "step", step), kinds[kind], tensor);
        ck_assert_msg(fabs(parts.sum - whole.sum) <= 1e-10 * (1 + whole.squares),
                      "step %zu, %s of tensor %zu: %.17g in parts, %.17g whole", step, kinds[kind],
                      tensor, parts.sum, whole.sum);
        ck_assert(fabs(parts.squares - whole.squares) <= 1e-10 * (1 + whole.squares));
    }
}

START_TEST(owned_parts_add_up_to_what_lesson_3_has_whole)
{
    struct records ddp, zero;
    char arguments[ARGUMENTS_BYTES];
    static const char all[] = "--steps 4 --hidden 9 --optimizer adam --bucket-kb 1";
    snprintf(arguments, sizeof arguments, "%s %s", all, stages[_i]);
    record(&ddp, (struct lesson){3, 3}, all);
    record(&zero, (struct lesson){4, 3}, arguments);
    double owned = 0;
    for (int rank = 0; rank < 3; rank++)
        owned += records_real(zero.start[rank], "owned");
    ck_assert(owned == records_real(zero.start[0], "parameters"));
    for (size_t step = 0; step < 2; step++) // then lesson 3 rebuilds its buckets
        for (size_t tensor = 0; tensor < 4; tensor++)
            check_alike(&ddp, &zero, step, tensor);
    if (!strstr(stages[_i], "--stage 3"))
        ck_assert(records_hash(zero.start[2], "param_hash") ==
                  records_hash(ddp.start[0], "param_hash"));
    records_release(&ddp);
    records_release(&zero);
}
END_TEST

/* --- epochs, orders, masks ------------------------------------------------------------------- */

START_TEST(an_epoch_sees_every_sample_once_and_each_in_another_order)
{
    struct records records;
    uint64_t all = 0;
    static const struct lesson lessons[] = {{1, 1}, {2, 3}, {3, 4}, {4, 2}};
    record(&records, lessons[_i], "--epochs 2 --batch 100 --hidden none --accumulate 2");
    double train = records_real(records.start[0], "train_samples");
    for (size_t i = 0; i < (size_t)train; i++)
        all += sketch_mix(i + 1);
    for (size_t epoch = 0; epoch < 2; epoch++) {
        uint64_t seen = 0;
        double count = 0, evaluated = 0;
        for (int rank = 0; rank < records.world; rank++) {
            const json_t *line = records_line(&records, rank, "epoch", epoch);
            seen += records_hash(line, "seen");
            count += records_real(line, "seen_count");
            evaluated += records_real(line, "evaluated");
            ck_assert(records_hash(line, "order") ==
                      records_hash(records_line(&records, 0, "epoch", epoch), "order"));
        }
        ck_assert_msg(seen == all && count == train, "epoch %zu: %.0f samples", epoch, count);
        ck_assert(evaluated == records_real(records.start[0], "test_samples"));
    }
    ck_assert(records_hash(records_line(&records, 0, "epoch", 0), "order") !=
              records_hash(records_line(&records, 0, "epoch", 1), "order"));
    records_release(&records);
}
END_TEST

/* A mask is its sample's: of one rank of two that of the same rows alone; and never another rank's. */
START_TEST(masks_differ_between_ranks_and_repeat)
{
    struct records pair, again, alone, none;
    static const char all[] = "--steps 4 --hidden 9,9 --dropout 0.5";
    record(&pair, (struct lesson){2, 2}, all);
    record(&again, (struct lesson){4, 2}, "--steps 4 --hidden 9,9 --dropout 0.5 --recompute 3");
    record(&alone, (struct lesson){1, 1}, all);
    record(&none, (struct lesson){1, 1}, "--steps 1 --hidden 9");
    for (size_t step = 0; step < 4; step++) {
        uint64_t mask = records_hash(records_line(&pair, 0, "step", step), "dropout_mask");
        ck_assert(mask != records_hash(records_line(&pair, 1, "step", step), "dropout_mask"));
        ck_assert(mask == records_hash(records_line(&again, 0, "step", step), "dropout_mask"));
        ck_assert(mask == records_hash(records_line(&alone, 0, "step", step), "dropout_mask"));
    }
    ck_assert(is_null(records_line(&none, 0, "step", 0), "dropout_mask"));
    records_release(&pair);
    records_release(&again);
    records_release(&alone);
    records_release(&none);
}
END_TEST

/* --- the whole of it ------------------------------------------------------------------------- */

START_TEST(the_start_says_what_was_asked_for_and_held)
{
    struct records records;
    record(&records, (struct lesson){4, 2},
           "--steps 1 --seed 18446744073709551615 --hidden 9 --lr 0.25 --schedule halve:15 "
           "--bucket-kb 0.5 --optimizer adam --no-shuffle");
    const json_t *start = records.start[1];
    ck_assert_str_eq(json_string_value(json_object_get(start, "format")), record_format);
    ck_assert(records_real(start, "version") == RECORD_VERSION);
    ck_assert(records_real(start, "lesson") == 4 && records_real(start, "rank") == 1);
    ck_assert(records_real(start, "world") == 2 && records_real(start, "updates") == 1);
    ck_assert(records_real(start, "train_samples") + records_real(start, "test_samples") == 1797);
    ck_assert(records_real(start, "state_norm") == 0);
    ck_assert_str_eq(json_string_value(option_of(&records, "seed")), "18446744073709551615");
    ck_assert_str_eq(json_string_value(option_of(&records, "hidden")), "9");
    ck_assert_str_eq(json_string_value(option_of(&records, "schedule")), "halve:15");
    ck_assert_str_eq(json_string_value(option_of(&records, "optimizer")), "adam");
    ck_assert(json_number_value(option_of(&records, "bucket-kb")) == 0.5);
    ck_assert(json_number_value(option_of(&records, "lr")) == 0.25);
    ck_assert(json_is_true(option_of(&records, "no-shuffle")));
    ck_assert(json_is_null(option_of(&records, "task")) &&
              json_is_null(option_of(&records, "link")));
    ck_assert(json_integer_value(option_of(&records, "batch")) == 64);
    ck_assert_uint_eq(json_array_size(option_of(&records, "given")), 10);
    ck_assert_ptr_null(json_object_get(json_object_get(start, "options"), "inject"));
    records_release(&records);
}
END_TEST

/* In one line, whatever a path is made of. */
START_TEST(a_folder_of_any_name_is_told)
{
    struct folder folder;
    struct records records;
    folder_open(&folder);
    lesson_ok(&folder, (struct lesson){1, 1},
              "--steps 1 --hidden none --record \"$(printf 'a\"\\\\b\\303\\251\\377\\001')\"");
    records_read(&records, &folder, "a\"\\b\303\251\377\1", 1);
    ck_assert_str_eq(json_string_value(option_of(&records, "record")), "a\"\\b\303\251\303\277\1");
    records_release(&records);
    folder_close(&folder);
}
END_TEST

/* --- sketches -------------------------------------------------------------------------------- */

/* Of every size, at the powers of ten and of two and beside them; also where it is written whole. */
START_TEST(a_rounded_number_keeps_twelve_digits)
{
    char text[64];
    for (int i = -60; i < 60; i++)
        for (int nudge = -2; nudge <= 2; nudge++)
            for (int base = 0; base < 3; base++) {
                double power = base == 0 ? ldexp(1, i) : base == 1 ? pow(10, i) : ldexp(1.7, i);
                double value = (nudge % 2 ? -power : power) * (1 + nudge * 0x1p-40);
                struct jsonl_line line = {.text = text, .room = sizeof text - 1};
                jsonl_rounded_number(&line, value);
                text[line.length] = '\0';
                ck_assert_msg(fabs(strtod(text, NULL) - value) <= 5.1e-12 * fabs(value),
                              "%.17g is written as %s", value, text);
            }
}
END_TEST

START_TEST(a_sketch_is_linear_and_of_the_position)
{
    enum { COUNT = 1000 };
    static float x[COUNT], y[COUNT], sum[COUNT];
    struct rng rng = {.seed = 3, .stream = RNG_TEST};
    struct sketch of_x = {0}, of_y = {0}, of_sum = {0}, parts = {0}, moved = {0}, changed = {0};
    for (size_t i = 0; i < COUNT; i++) { // multiples of 2^-10: sums are exact
        x[i] = (float)((int)(rng_bits(&rng, i) % 2048) - 1024) * 0x1p-10f;
        y[i] = (float)((int)(rng_bits(&rng, i + COUNT) % 2048) - 1024) * 0x1p-10f;
        sum[i] = x[i] + y[i];
    }
    sketch_add(&of_x, x, COUNT, 5);
    sketch_add(&of_y, y, COUNT, 5);
    sketch_add(&of_sum, sum, COUNT, 5);
    for (size_t begin = 0, count = 1; begin < COUNT; begin += count, count = 37)
        sketch_add(&parts, x + begin, begin + count < COUNT ? count : COUNT - begin, begin + 5);
    sketch_add(&moved, x, COUNT, 6);
    x[500] = -x[500];
    sketch_add(&changed, x, COUNT, 5);
    ck_assert(of_sum.sum == of_x.sum + of_y.sum);
    ck_assert(parts.sum == of_x.sum && parts.squares == of_x.squares);
    ck_assert(moved.sum != of_x.sum && changed.sum != of_x.sum);
    ck_assert(fabs(of_x.sum) < 6 * sqrt(of_x.squares)); // signs are random
}
END_TEST

Suite *record_suite(void)
{
    Suite *suite = suite_create("record");
    TCase *tcase = tcase_create("record");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, a_rounded_number_keeps_twelve_digits);
    tcase_add_test(tcase, a_sketch_is_linear_and_of_the_position);
    tcase_add_loop_test(tcase, every_step_is_made_of_what_the_ranks_say, 0, RUNS);
    tcase_add_loop_test(tcase, owned_parts_add_up_to_what_lesson_3_has_whole, 0, STAGES);
    tcase_add_loop_test(tcase, an_epoch_sees_every_sample_once_and_each_in_another_order, 0, 4);
    tcase_add_test(tcase, masks_differ_between_ranks_and_repeat);
    tcase_add_test(tcase, the_start_says_what_was_asked_for_and_held);
    tcase_add_test(tcase, a_folder_of_any_name_is_told);
    suite_add_tcase(suite, tcase);
    return suite;
}
