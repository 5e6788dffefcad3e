/* trace_file: spans as a file that trace viewers open. See the header. */
#include "common/trace_file.h"
#include "common/aside.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int refuse(const struct trace_file *file, const char *verb, int error, struct fail *fail)
{
    return fail_set(fail, -error, "--trace: cannot %s '%s': %s", verb, file->path, strerror(error));
}

/* A file is replaced; what is none (a device, a link) is written into, as whoever put it there wants. A pipe
 * would be opened more than once: its reader would see an end, and the next opening wait for another. */
static int open_stream(struct trace_file *file)
{
    struct stat itself, meant; // a link, and what it leads to
    if (stat(file->path, &meant) == 0 && S_ISFIFO(meant.st_mode))
        return ESPIPE;
    if (lstat(file->path, &itself) == 0 && !S_ISREG(itself.st_mode)) {
        file->file = fopen(file->path, "we");
        return file->file ? 0 : errno;
    }
    file->aside = aside_name(file->path);
    file->file = file->aside ? fopen(file->aside, "we") : NULL;
    return file->file ? 0 : errno;
}

/* What is aside takes its place, or goes. */
static int settle(struct trace_file *file, bool whole)
{
    int error = 0;
    if (file->aside && whole && rename(file->aside, file->path) != 0)
        error = errno;
    if (file->aside && (!whole || error))
        unlink(file->aside);
    free(file->aside);
    file->aside = NULL;
    return error;
}

int trace_file_open(struct trace_file *file, const char *path, struct fail *fail)
{
    *file = (struct trace_file){0};
    snprintf(file->path, sizeof file->path, "%s", path);
    int error = open_stream(file);
    if (error == ESPIPE)
        return fail_set(fail, -error,
                        "--trace: '%s' is a pipe: a trace is written more than once, "
                        "so give a file",
                        path);
    if (error) {
        settle(file, false);
        return refuse(file, "write", error, fail);
    }
    fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[", file->file);
    return 0;
}

/* One event, a line of its own. What could not be written is told by trace_file_close. */
static void add(struct trace_file *file, json_t *event)
{
    fputs(file->events++ ? ",\n" : "\n", file->file);
    if (!event || json_dumpf(event, file->file, JSON_COMPACT | JSON_REAL_PRECISION(15)) != 0)
        fputs("null", file->file);
    if (!file->error && ferror(file->file))
        file->error = errno; // of the first: what follows it may fail otherwise, or not at all
    json_decref(event);
}

static int lane_tid(int rank, enum trace_lane lane)
{
    return TRACE_LANES * rank + (int)lane + 1;
}

static void add_name(struct trace_file *file, const char *what, int rank, int tid, const char *name)
{
    add(file, json_pack("{s:s, s:s, s:i, s:i, s:{s:s}}", "name", what, "ph", "M", "pid", rank,
                        "tid", tid, "args", "name", name));
}

static void add_sort_index(struct trace_file *file, const char *what, int rank, int tid, int index)
{
    add(file, json_pack("{s:s, s:s, s:i, s:i, s:{s:i}}", "name", what, "ph", "M", "pid", rank,
                        "tid", tid, "args", "sort_index", index));
}

void trace_file_rank(struct trace_file *file, int rank)
{
    static const char *const lanes[TRACE_LANES] = {"compute", "network"};
    char name[32];
    snprintf(name, sizeof name, "rank %d", rank);
    add_name(file, "process_name", rank, lane_tid(rank, TRACE_COMPUTE), name);
    add_sort_index(file, "process_sort_index", rank, lane_tid(rank, TRACE_COMPUTE), rank);
    for (int lane = 0; lane < TRACE_LANES; lane++) {
        int tid = lane_tid(rank, (enum trace_lane)lane);
        add_name(file, "thread_name", rank, tid, lanes[lane]);
        add_sort_index(file, "thread_sort_index", rank, tid, lane);
    }
}

/* Whole nanoseconds, so that neighbours in a lane do not overlap by a rounding. */
static double nanoseconds(double seconds, double origin_seconds)
{
    return round(1e9 * (seconds - origin_seconds));
}

static json_t *arguments_of(const struct trace_event *event)
{
    if (trace_lane((enum trace_kind)event->kind) == TRACE_COMPUTE)
        return json_pack("{s:i}", "step", (int)event->step);
    return json_pack("{s:i, s:I, s:I, s:i, s:s}", "step", (int)event->step, "elements",
                     (json_int_t)event->elements, "bytes", (json_int_t)event->bytes, "tensors",
                     (int)event->tensors, "algorithm", event->algorithm);
}

void trace_file_event(struct trace_file *file, int rank, const struct trace_event *event,
                      double origin_seconds)
{
    char label[TRACE_LABEL_BYTES];
    enum trace_lane lane = trace_lane((enum trace_kind)event->kind);
    double begin = nanoseconds(event->begin_seconds, origin_seconds);
    double end = nanoseconds(event->end_seconds, origin_seconds);
    bool instant = event->kind == TRACE_READY;
    trace_label(event, label);
    json_t *object = json_pack("{s:s, s:s, s:s, s:f, s:i, s:i, s:o}", "name", label, "cat",
                               lane == TRACE_COMPUTE ? "compute" : "network", "ph",
                               instant ? "i" : "X", "ts", begin / 1e3, "pid", rank, "tid",
                               lane_tid(rank, lane), "args", arguments_of(event));
    if (instant)
        json_object_set_new(object, "s", json_string("t")); // of its lane alone
    else
        json_object_set_new(object, "dur", json_real((end - begin) / 1e3));
    add(file, object);
}

int trace_file_close(struct trace_file *file, size_t first_step, struct fail *fail)
{
    FILE *stream = file->file;
    file->file = NULL;
    if (!stream)
        return 0;
    errno = file->error ? file->error : EIO; // in case the library sets none
    int length = fprintf(stream, "\n],\"otherData\":{\"first_step\":%zu}}\n", first_step);
    bool bad = length < 0 || ferror(stream);
    int error = fclose(stream) != 0 || bad ? errno : 0;
    if (error && file->error)
        error = file->error;
    int settled = settle(file, error == 0);
    return error || settled ? refuse(file, "write", error ? error : settled, fail) : 0;
}
