/* record: what a run was asked for and what it did. See the header. */
#include "common/record.h"
#include "common/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char record_format[] = "sgd-to-zero-record";
static const double KEPT_SECONDS = 0.002; // a line, before it is written

/* --- files ------------------------------------------------------------------------------------- */

static const char start_of_record[] = "{\"event\":\"start\",\"format\":\"sgd-to-zero-record\",";

/* Where a run goes on: an update that is made again, an end that was not the last, and a start that came to
 * nothing. */
static bool is_over(const char *line, size_t step)
{
    size_t at;
    const char *first = strstr(line, ",\"first\":");
    if (strncmp(line, "{\"event\":\"end\"", 14) == 0)
        return true;
    if (strncmp(line, start_of_record, strlen(start_of_record)) == 0)
        return !first || (sscanf(first, ",\"first\":%zu", &at) == 1 && at >= step);
    return sscanf(line, "{\"event\":\"step\",\"step\":%zu", &at) == 1 && at >= step;
}

/* A record, or nothing yet. What is something else is not to be overwritten. */
static bool is_ours(const char *path)
{
    char line[sizeof start_of_record] = "";
    FILE *file = fopen(path, "re");
    bool read = file && fgets(line, sizeof line, file);
    if (file)
        fclose(file);
    return !read || strcmp(line, start_of_record) == 0;
}

static int path_of(char path[RANK_PATH_BYTES], const char *directory, int rank, const char *ending)
{
    int length = snprintf(path, RANK_PATH_BYTES, "%s/rank-%d.%s", directory, rank, ending);
    return length < RANK_PATH_BYTES ? 0 : -ENAMETOOLONG;
}

/* Of an earlier run by more ranks. */
static void remove_others(const char *directory, int world)
{
    char path[RANK_PATH_BYTES];
    for (int rank = world; rank < ENVIRONMENT_WORLD_MOST; rank++)
        if (path_of(path, directory, rank, "jsonl") == 0 && access(path, F_OK) == 0 &&
            is_ours(path)) {
            unlink(path);
            path_of(path, directory, rank, "now");
            unlink(path);
        }
}

static int refuse(const struct record *record, int error, struct fail *fail)
{
    return fail_set(fail, error, "--record: writing '%s' failed: %s", record->file.path,
                    strerror(-error));
}

static int open_file(struct record *record, size_t step, struct fail *fail)
{
    if (!is_ours(record->file.path))
        return fail_set(fail, -EEXIST,
                        "--record: '%s' is there and is no record of a run: give another folder",
                        record->file.path);
    int error = jsonl_open(&record->file, step, is_over, &record->line);
    return error ? fail_set(fail, error, "--record: cannot write '%s': %s", record->file.path,
                            strerror(-error))
                 : 0;
}

static int open_now(struct record *record, const char *directory, int rank, struct fail *fail)
{
    char path[RANK_PATH_BYTES];
    path_of(path, directory, rank, "now"); // shorter than the other
    int error = now_open(&record->now, path);
    return error ? fail_set(fail, error, "--record: cannot write '%s': %s", path, strerror(-error))
                 : 0;
}

int record_open(struct record *record, const char *directory, const struct environment *environment,
                size_t step, struct memory *memory, struct fail *fail)
{
    *record = (struct record){.memory = memory};
    if (!directory)
        return 0;
    if (path_of(record->file.path, directory, environment->rank, "jsonl") != 0)
        return fail_set(fail, -ENAMETOOLONG, "--record: the path is longer than %d bytes: %.60s...",
                        RANK_PATH_BYTES - 1, directory);
    if (mkdir(directory, 0777) != 0 && errno != EEXIST)
        return fail_set(fail, -errno, "--record: cannot make the directory %s: %s", directory,
                        strerror(errno));
    record->line.room = RECORD_BUFFER_BYTES;
    record->line.text = memory_take(memory, MEMORY_BUFFERS, RECORD_BUFFER_BYTES);
    if (!record->line.text)
        return fail_set(fail, -ENOMEM, "no memory for --record");
    if (environment->rank == 0)
        remove_others(directory, environment->world);
    int error = open_file(record, step, fail);
    return error ? error : open_now(record, directory, environment->rank, fail);
}

int record_close(struct record *record, struct fail *fail)
{
    int error = jsonl_close(&record->file);
    now_close(&record->now);
    memory_give_back(record->memory, MEMORY_BUFFERS, record->line.text, RECORD_BUFFER_BYTES);
    record->line.text = NULL;
    return error ? refuse(record, error, fail) : 0;
}

bool record_looks(const struct record *record, size_t step, size_t made)
{
    return record->file.open && (made < RECORD_LOOKS_FIRST || step % RECORD_LOOKS_EVERY == 0);
}

/* --- lines ------------------------------------------------------------------------------------- */

static void add_hash(struct jsonl_line *line, const char *key, const uint64_t *hash)
{
    if (hash)
        jsonl_hash(line, key, *hash);
    else
        jsonl_add(line, ",\"%s\":null", key);
}

static void add_truth(struct jsonl_line *line, const char *key, bool value)
{
    jsonl_text(line, ",\"");
    jsonl_text(line, key);
    jsonl_text(line, value ? "\":true" : "\":false");
}

static void add_sketches(struct jsonl_line *line, const char *key, const struct sketch *sketches,
                         size_t count)
{
    jsonl_add(line, ",\"%s\":%s", key, sketches ? "[" : "null");
    for (size_t i = 0; i < count && sketches; i++) {
        jsonl_text(line, i > 0 ? ",[" : "[");
        jsonl_rounded_number(line, sketches[i].sum);
        jsonl_text(line, ",");
        jsonl_rounded_number(line, sketches[i].squares);
        jsonl_text(line, "]");
    }
    jsonl_add(line, sketches ? "]" : "");
}

static void add_tensors(struct jsonl_line *line, const struct record_tensor *tensors, size_t count)
{
    jsonl_add(line, ",\"tensors\":[");
    for (size_t i = 0; i < count; i++) {
        jsonl_add(line, "%s{\"name\":\"%s\"", i > 0 ? "," : "", tensors[i].name);
        jsonl_whole(line, "begin", tensors[i].slice.begin);
        jsonl_whole(line, "count", tensors[i].slice.count);
        add_truth(line, "decays", tensors[i].decays);
        add_truth(line, "frozen", tensors[i].frozen);
        jsonl_add(line, "}");
    }
    jsonl_add(line, "]");
}

static int flush(struct record *record)
{
    if (!record->error && record->line.length > 0)
        record->error = jsonl_write(&record->file, &record->line);
    return record->error;
}

/* Short updates share a system call: there is one every two milliseconds. */
static int finish(struct record *record, bool at_once)
{
    int error = jsonl_end(&record->line);
    double now = clock_seconds();
    record->error = record->error ? record->error : error;
    if (!at_once && now < record->written_seconds + KEPT_SECONDS &&
        record->line.length < RECORD_LINE_BYTES)
        return record->error;
    record->written_seconds = now;
    return flush(record);
}

void record_wait(struct record *record, const char *text)
{
    if (*text)
        flush(record);
    now_write(&record->now, text);
}

void record_start(struct record *record, const struct record_start *start)
{
    struct jsonl_line *line = &record->line;
    if (!record->file.open)
        return;
    jsonl_begin(line, "start");
    jsonl_add(line, ",\"format\":\"%s\"", record_format);
    jsonl_whole(line, "version", RECORD_VERSION);
    jsonl_whole(line, "lesson", (size_t)start->options->lesson);
    jsonl_whole(line, "rank", (size_t)start->environment->rank);
    jsonl_whole(line, "world", (size_t)start->environment->world);
    jsonl_whole(line, "pid", (size_t)getpid());
    jsonl_whole(line, "first", start->first);
    jsonl_whole(line, "updates", start->updates);
    jsonl_whole(line, "steps_per_epoch", start->steps_per_epoch);
    jsonl_whole(line, "train_samples", start->train_samples);
    jsonl_whole(line, "test_samples", start->test_samples);
    jsonl_whole(line, "parameters", start->parameters);
    jsonl_add(line, ",\"options\":");
    record_options(line, start->options);
    add_tensors(line, start->tensors, start->tensor_count);
    jsonl_whole(line, "owned", start->owned);
    add_hash(line, "param_hash", start->param_hash);
    add_sketches(line, "param", start->param, start->tensor_count);
    jsonl_real(line, "state_norm", start->state_norm);
    jsonl_add(line,
              ",\"streams\":{\"weights\":\"%016" PRIx64 "\",\"shuffle\":\"%016" PRIx64
              "\",\"dropout\":\"%016" PRIx64 "\"}",
              start->weights, start->shuffle, start->dropout);
    record_ledger(line, start->ledger);
    finish(record, true);
}

static void add_look(struct jsonl_line *line, const struct record_look *look)
{
    add_sketches(line, "raw", look->raw, look->tensor_count);
    add_sketches(line, "reduced", look->reduced, look->tensor_count);
    add_sketches(line, "param", look->param, look->tensor_count);
    add_hash(line, "param_hash", look->param_hash);
    add_hash(line, "dropout_mask", look->dropout_mask);
    jsonl_whole(line, "decayed", look->decayed);
}

static void add_times(struct jsonl_line *line, const struct record_step *step)
{
    jsonl_rounded(line, "seconds", step->seconds);
    jsonl_rounded(line, "compute_seconds", step->compute_seconds);
    jsonl_rounded(line, "comm_seconds", step->comm_seconds);
    jsonl_rounded(line, "exposed_seconds", step->exposed_seconds);
    jsonl_whole(line, "bytes_sent", step->bytes_sent);
}

int record_step(struct record *record, const struct record_step *step, struct fail *fail)
{
    static const char *const answers[] = {",\"nonfinite\":false", ",\"nonfinite\":true",
                                          ",\"nonfinite\":null"};
    struct jsonl_line *line = &record->line;
    if (!record->file.open)
        return 0;
    jsonl_begin(line, "step");
    jsonl_whole(line, "step", step->step);
    jsonl_whole(line, "epoch", step->epoch);
    jsonl_rounded(line, "lr", step->lr);
    jsonl_rounded(line, "loss", step->loss);
    jsonl_rounded(line, "loss_local", step->loss_local);
    jsonl_whole(line, "samples", step->samples);
    jsonl_whole(line, "samples_local", step->samples_local);
    jsonl_hash(line, "seen", step->seen);
    jsonl_rounded(line, "weight_least", step->weight_least);
    jsonl_rounded(line, "weight_most", step->weight_most);
    jsonl_whole(line, "micro_batches", step->micro_batches);
    jsonl_whole(line, "handed_over", step->handed_over);
    add_truth(line, "updated", step->updated);
    jsonl_text(line, answers[step->nonfinite]);
    jsonl_rounded(line, "clip", step->clip);
    jsonl_rounded(line, "grad_norm", step->grad_norm);
    add_times(line, step);
    if (step->look)
        add_look(line, step->look);
    record_proofs(line, step->proof);
    return finish(record, false) ? refuse(record, record->error, fail) : 0;
}

int record_epoch(struct record *record, const struct record_epoch *epoch, struct fail *fail)
{
    struct jsonl_line *line = &record->line;
    if (!record->file.open)
        return 0;
    jsonl_begin(line, "epoch");
    jsonl_whole(line, "epoch", epoch->epoch);
    jsonl_whole(line, "step", epoch->step);
    add_hash(line, "order", &epoch->order);
    add_hash(line, "seen", &epoch->seen);
    jsonl_whole(line, "seen_count", epoch->seen_count);
    jsonl_rounded(line, "train_loss", epoch->train_loss);
    jsonl_rounded(line, "test_loss", epoch->test_loss);
    jsonl_rounded(line, "test_accuracy", epoch->test_accuracy);
    jsonl_whole(line, "evaluated", epoch->evaluated);
    return finish(record, true) ? refuse(record, record->error, fail) : 0;
}

int record_end(struct record *record, int exit_code, size_t steps, const struct proof *proof,
               struct fail *fail)
{
    if (!record->file.open)
        return 0;
    jsonl_begin(&record->line, "end");
    jsonl_whole(&record->line, "exit_code", (size_t)exit_code);
    jsonl_whole(&record->line, "steps", steps);
    record_proofs(&record->line, proof);
    return finish(record, true) ? refuse(record, record->error, fail) : 0;
}
