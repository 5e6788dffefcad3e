/* metrics: a run's numbers as JSON lines. See the header. */
#include "common/metrics.h"
#include "common/resident.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* An update that is made again, or a run's end that was not the last. */
static bool is_over(const char *line, size_t step)
{
    size_t at;
    if (strncmp(line, "{\"event\":\"summary\"", 18) == 0)
        return true;
    return sscanf(line, "{\"event\":\"step\",\"step\":%zu", &at) == 1 && at >= step;
}

int metrics_open(struct metrics *metrics, const char *path, const struct environment *environment,
                 size_t step, struct fail *fail)
{
    char text[METRICS_LINE_BYTES];
    struct jsonl_line line = {.text = text, .room = sizeof text};
    metrics->file.open = false;
    if (!path)
        return 0;
    if (rank_path(metrics->file.path, path, environment->rank, environment->world) != 0)
        return fail_set(fail, -ENAMETOOLONG,
                        "--metrics: the path is longer than %d bytes: %.60s...",
                        METRICS_PATH_BYTES - 1, path);
    int error = jsonl_open(&metrics->file, step, is_over, &line);
    return error ? fail_set(fail, error, "--metrics: cannot write '%s': %s", metrics->file.path,
                            strerror(-error))
                 : 0;
}

double metrics_overlap_efficiency(const struct metrics_times *times)
{
    if (!times->sent || !(times->comm_seconds > 0))
        return NAN;
    double efficiency = 1 - times->exposed_seconds / times->comm_seconds;
    return efficiency < 0 ? 0 : efficiency > 1 ? 1 : efficiency;
}

/* Of a mean update; 0 / 0, which is NaN and so null, when none counts. */
static void add_times(struct jsonl_line *line, const struct metrics_times *times)
{
    double updates = (double)times->updates;
    jsonl_real(line, "compute_seconds", times->compute_seconds / updates);
    jsonl_real(line, "comm_seconds", times->comm_seconds / updates);
    jsonl_real(line, "exposed_seconds", times->exposed_seconds / updates);
    jsonl_real(line, "overlap_efficiency", metrics_overlap_efficiency(times));
}

static void add_memory(struct jsonl_line *line, const struct memory *memory)
{
    static const char *const keys[MEMORY_USES] = {"parameter_bytes", "gradient_bytes",
                                                  "optimizer_bytes", "activation_bytes",
                                                  "buffer_bytes",    "other_bytes"};
    struct resident resident;
    for (int use = 0; use < MEMORY_USES; use++)
        jsonl_whole(line, keys[use], memory->now_bytes[use]);
    jsonl_whole(line, "peak_bytes", memory->peak_total_bytes);
    if (resident_read(&resident))
        jsonl_whole(line, "resident_peak_bytes", resident.peak_bytes);
}

static int refuse(const struct metrics *metrics, int error, struct fail *fail)
{
    return fail_set(fail, error, "--metrics: writing '%s' failed: %s", metrics->file.path,
                    strerror(-error));
}

static int finish(const struct metrics *metrics, struct jsonl_line *line, struct fail *fail)
{
    int error = jsonl_end(line);
    if (!error)
        error = jsonl_write(&metrics->file, line);
    return error ? refuse(metrics, error, fail) : 0;
}

int metrics_step(struct metrics *metrics, const struct metrics_step *step, struct fail *fail)
{
    char text[METRICS_LINE_BYTES];
    struct jsonl_line line = {.text = text, .room = sizeof text};
    if (!metrics->file.open)
        return 0;
    jsonl_begin(&line, "step");
    jsonl_whole(&line, "step", step->step);
    jsonl_whole(&line, "epoch", step->epoch);
    jsonl_real(&line, "lr", step->lr);
    jsonl_real(&line, "loss", step->loss);
    jsonl_real(&line, "loss_local", step->loss_local);
    jsonl_whole(&line, "samples", step->samples);
    jsonl_real(&line, "grad_norm", step->grad_norm);
    jsonl_whole(&line, "skipped", step->skipped);
    if (step->loss_scale > 0) {
        jsonl_real(&line, "loss_scale", step->loss_scale);
        jsonl_real(&line, "flushed", step->flushed);
    }
    jsonl_real(&line, "seconds", step->seconds);
    jsonl_real(&line, "compute_seconds", step->compute_seconds);
    jsonl_real(&line, "comm_seconds", step->comm_seconds);
    jsonl_real(&line, "exposed_seconds", step->exposed_seconds);
    jsonl_real(&line, "overlap_efficiency", step->overlap_efficiency);
    jsonl_whole(&line, "bytes_sent", step->bytes_sent);
    jsonl_whole(&line, "messages_sent", step->messages_sent);
    if (step->offload) {
        jsonl_whole(&line, "offload_read_bytes", step->offload->read_bytes);
        jsonl_whole(&line, "offload_written_bytes", step->offload->written_bytes);
        jsonl_real(&line, "update_seconds", step->offload->seconds);
    }
    return finish(metrics, &line, fail);
}

int metrics_epoch(struct metrics *metrics, const struct metrics_epoch *epoch, struct fail *fail)
{
    char text[METRICS_LINE_BYTES];
    struct jsonl_line line = {.text = text, .room = sizeof text};
    if (!metrics->file.open)
        return 0;
    jsonl_begin(&line, "epoch");
    jsonl_whole(&line, "epoch", epoch->epoch);
    jsonl_whole(&line, "step", epoch->step);
    jsonl_real(&line, "train_loss", epoch->train_loss);
    jsonl_real(&line, "test_loss", epoch->test_loss);
    jsonl_real(&line, "test_accuracy", epoch->test_accuracy);
    jsonl_real(&line, "samples_per_second", epoch->samples_per_second);
    add_times(&line, &epoch->times);
    return finish(metrics, &line, fail);
}

int metrics_summary(struct metrics *metrics, const struct metrics_summary *summary,
                    struct fail *fail)
{
    char text[METRICS_LINE_BYTES];
    struct jsonl_line line = {.text = text, .room = sizeof text};
    if (!metrics->file.open)
        return 0;
    jsonl_begin(&line, "summary");
    jsonl_whole(&line, "lesson", (size_t)summary->lesson);
    jsonl_whole(&line, "rank", (size_t)summary->rank);
    jsonl_whole(&line, "world", (size_t)summary->world);
    jsonl_whole(&line, "steps", summary->steps);
    jsonl_whole(&line, "skipped", summary->skipped);
    jsonl_whole(&line, "epochs", summary->epochs);
    jsonl_whole(&line, "samples", summary->samples);
    jsonl_real(&line, "seconds", summary->seconds);
    jsonl_real(&line, "samples_per_second", summary->samples_per_second);
    jsonl_real(&line, "train_loss", summary->train_loss);
    jsonl_real(&line, "test_loss", summary->test_loss);
    jsonl_real(&line, "test_accuracy", summary->test_accuracy);
    add_times(&line, &summary->times);
    jsonl_whole(&line, "bytes_sent", summary->bytes_sent);
    add_memory(&line, &summary->memory);
    jsonl_whole(&line, "recomputed_layers", summary->recomputed_layers);
    jsonl_whole(&line, "comparisons", summary->comparisons);
    jsonl_whole(&line, "failed", summary->failed);
    return finish(metrics, &line, fail);
}

int metrics_close(struct metrics *metrics, struct fail *fail)
{
    int error = jsonl_close(&metrics->file);
    return error ? refuse(metrics, error, fail) : 0;
}
