/* metrics: a run's numbers as JSON lines. See the header. */
#include "common/metrics.h"
#include "common/resident.h"
#include "common/rank_path.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* An update that is made again, a run's end that was not the last, or half a line. */
static bool is_over(const char *line, size_t step)
{
    size_t at;
    if (!strchr(line, '\n') || strncmp(line, "{\"event\":\"summary\"", 18) == 0)
        return true;
    return sscanf(line, "{\"event\":\"step\",\"step\":%zu", &at) == 1 && at >= step;
}

/* Cuts the file where the run goes on. Pipes and devices keep nothing. */
static int keep_before(FILE *file, size_t step)
{
    struct stat stat;
    char line[METRICS_LINE_BYTES];
    long kept = 0;
    if (fstat(fileno(file), &stat) != 0 || !S_ISREG(stat.st_mode))
        return 0;
    while (fgets(line, sizeof line, file) && !is_over(line, step))
        kept = ftell(file);
    return fseek(file, 0, SEEK_END) == 0 && ftruncate(fileno(file), kept) == 0 ? 0 : -1;
}

int metrics_open(struct metrics *metrics, const char *path, const struct environment *environment,
                 size_t step, struct fail *fail)
{
    int rank = environment->rank, world = environment->world;
    metrics->file = NULL;
    if (!path)
        return 0;
    if (rank_path(metrics->path, path, rank, world) != 0)
        return fail_set(fail, -ENAMETOOLONG,
                        "--metrics: the path is longer than %d bytes: %.60s...",
                        METRICS_PATH_BYTES - 1, path);
    metrics->file = fopen(metrics->path, step > 0 ? "a+e" : "we");
    if (metrics->file)
        setvbuf(metrics->file, metrics->buffer, _IOFBF, sizeof metrics->buffer);
    if (metrics->file && keep_before(metrics->file, step) == 0)
        return 0;
    int error = errno;
    if (metrics->file)
        fclose(metrics->file);
    metrics->file = NULL;
    return fail_set(fail, -error, "--metrics: cannot write '%s': %s", metrics->path,
                    strerror(error));
}

double metrics_overlap_efficiency(const struct metrics_times *times)
{
    if (!times->sent || !(times->comm_seconds > 0))
        return NAN;
    double efficiency = 1 - times->exposed_seconds / times->comm_seconds;
    return efficiency < 0 ? 0 : efficiency > 1 ? 1 : efficiency;
}

struct line {
    char text[METRICS_LINE_BYTES];
    size_t length;
};

__attribute__((format(printf, 2, 3))) static void add(struct line *line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length =
        vsnprintf(line->text + line->length, sizeof line->text - line->length, format, arguments);
    va_end(arguments);
    line->length += (size_t)length;
    assert(line->length < sizeof line->text);
}

static void begin(struct line *line, const char *event)
{
    line->length = 0;
    add(line, "{\"event\":\"%s\"", event);
}

static void add_whole(struct line *line, const char *key, size_t value)
{
    add(line, ",\"%s\":%zu", key, value);
}

/* Whatever the locale puts between the digits becomes a point. */
static void plain_point(char *number)
{
    char *to = number;
    for (const char *from = number; *from; from++) {
        if (strchr("0123456789+-e", *from))
            *to++ = *from;
        else if (to == number || to[-1] != '.')
            *to++ = '.';
    }
    *to = '\0';
}

static void add_real(struct line *line, const char *key, double value)
{
    char number[48] = "null";
    for (int digits = 15; isfinite(value) && digits <= 17; digits++) {
        snprintf(number, sizeof number, "%.*g", digits, value);
        if (strtod(number, NULL) == value)
            break;
    }
    if (isfinite(value))
        plain_point(number);
    add(line, ",\"%s\":%s", key, number);
}

/* Of a mean update; 0 / 0, which is NaN and so null, when none counts. */
static void add_times(struct line *line, const struct metrics_times *times)
{
    double updates = (double)times->updates;
    add_real(line, "compute_seconds", times->compute_seconds / updates);
    add_real(line, "comm_seconds", times->comm_seconds / updates);
    add_real(line, "exposed_seconds", times->exposed_seconds / updates);
    add_real(line, "overlap_efficiency", metrics_overlap_efficiency(times));
}

static void add_memory(struct line *line, const struct memory *memory)
{
    static const char *const keys[MEMORY_USES] = {"parameter_bytes", "gradient_bytes",
                                                  "optimizer_bytes", "activation_bytes",
                                                  "buffer_bytes",    "other_bytes"};
    struct resident resident;
    for (int use = 0; use < MEMORY_USES; use++)
        add_whole(line, keys[use], memory->now_bytes[use]);
    add_whole(line, "peak_bytes", memory->peak_total_bytes);
    if (resident_read(&resident))
        add_whole(line, "resident_peak_bytes", resident.peak_bytes);
}

static int refuse(const struct metrics *metrics, int error, struct fail *fail)
{
    return fail_set(fail, -error, "--metrics: writing '%s' failed: %s", metrics->path,
                    strerror(error));
}

static int finish(struct metrics *metrics, struct line *line, struct fail *fail)
{
    add(line, "}\n");
    errno = EIO; // in case the library sets none
    if (fwrite(line->text, 1, line->length, metrics->file) != line->length)
        return refuse(metrics, errno, fail);
    if (fflush(metrics->file) != 0)
        return refuse(metrics, errno, fail);
    return 0;
}

int metrics_step(struct metrics *metrics, const struct metrics_step *step, struct fail *fail)
{
    struct line line;
    if (!metrics->file)
        return 0;
    begin(&line, "step");
    add_whole(&line, "step", step->step);
    add_whole(&line, "epoch", step->epoch);
    add_real(&line, "lr", step->lr);
    add_real(&line, "loss", step->loss);
    add_real(&line, "loss_local", step->loss_local);
    add_whole(&line, "samples", step->samples);
    add_real(&line, "grad_norm", step->grad_norm);
    add_whole(&line, "skipped", step->skipped);
    if (step->loss_scale > 0) {
        add_real(&line, "loss_scale", step->loss_scale);
        add_real(&line, "flushed", step->flushed);
    }
    add_real(&line, "seconds", step->seconds);
    add_real(&line, "compute_seconds", step->compute_seconds);
    add_real(&line, "comm_seconds", step->comm_seconds);
    add_real(&line, "exposed_seconds", step->exposed_seconds);
    add_real(&line, "overlap_efficiency", step->overlap_efficiency);
    add_whole(&line, "bytes_sent", step->bytes_sent);
    add_whole(&line, "messages_sent", step->messages_sent);
    if (step->offload) {
        add_whole(&line, "offload_read_bytes", step->offload->read_bytes);
        add_whole(&line, "offload_written_bytes", step->offload->written_bytes);
        add_real(&line, "update_seconds", step->offload->seconds);
    }
    return finish(metrics, &line, fail);
}

int metrics_epoch(struct metrics *metrics, const struct metrics_epoch *epoch, struct fail *fail)
{
    struct line line;
    if (!metrics->file)
        return 0;
    begin(&line, "epoch");
    add_whole(&line, "epoch", epoch->epoch);
    add_whole(&line, "step", epoch->step);
    add_real(&line, "train_loss", epoch->train_loss);
    add_real(&line, "test_loss", epoch->test_loss);
    add_real(&line, "test_accuracy", epoch->test_accuracy);
    add_real(&line, "samples_per_second", epoch->samples_per_second);
    add_times(&line, &epoch->times);
    return finish(metrics, &line, fail);
}

int metrics_summary(struct metrics *metrics, const struct metrics_summary *summary,
                    struct fail *fail)
{
    struct line line;
    if (!metrics->file)
        return 0;
    begin(&line, "summary");
    add_whole(&line, "lesson", (size_t)summary->lesson);
    add_whole(&line, "rank", (size_t)summary->rank);
    add_whole(&line, "world", (size_t)summary->world);
    add_whole(&line, "steps", summary->steps);
    add_whole(&line, "skipped", summary->skipped);
    add_whole(&line, "epochs", summary->epochs);
    add_whole(&line, "samples", summary->samples);
    add_real(&line, "seconds", summary->seconds);
    add_real(&line, "samples_per_second", summary->samples_per_second);
    add_real(&line, "train_loss", summary->train_loss);
    add_real(&line, "test_loss", summary->test_loss);
    add_real(&line, "test_accuracy", summary->test_accuracy);
    add_times(&line, &summary->times);
    add_whole(&line, "bytes_sent", summary->bytes_sent);
    add_memory(&line, &summary->memory);
    add_whole(&line, "recomputed_layers", summary->recomputed_layers);
    add_whole(&line, "comparisons", summary->comparisons);
    add_whole(&line, "failed", summary->failed);
    return finish(metrics, &line, fail);
}

int metrics_close(struct metrics *metrics, struct fail *fail)
{
    FILE *file = metrics->file;
    metrics->file = NULL;
    if (!file)
        return 0;
    errno = EIO;
    return fclose(file) == 0 ? 0 : refuse(metrics, errno, fail);
}
