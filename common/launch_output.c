/* launch_output: connects the ranks' streams with the two sinks. See the header. */
#include "common/launch_output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

static void on_room(struct launch_sink *sink)
{
    struct launch_output *output = sink->owner;
    size_t count = 2 * output->ranks, first = output->turn++;
    for (size_t i = 0; i < count; i++) {
        struct launch_stream *stream = &output->streams[(first + i) % count];
        if (stream->sink == sink && stream->held)
            launch_stream_forward(stream);
    }
    output->on_change(output->owner);
}

static void on_stream_change(struct launch_stream *stream)
{
    struct launch_output *output = stream->owner;
    if (stream->log->error != 0) {
        char text[128];
        snprintf(text, sizeof text, "launch: cannot write the log of rank %d: %s; it ends here\n",
                 stream->rank, strerror(-stream->log->error));
        stream->log->error = 0;
        launch_output_say(output, text);
    }
    output->on_change(output->owner);
}

static bool same_place(void)
{
    struct stat out, err;
    return fstat(STDOUT_FILENO, &out) == 0 && fstat(STDERR_FILENO, &err) == 0 &&
           out.st_dev == err.st_dev && out.st_ino == err.st_ino;
}

int launch_output_init(struct launch_output *output, uv_loop_t *loop, size_t ranks,
                       struct fail *fail)
{
    output->loop = loop;
    output->ranks = ranks;
    output->streams = calloc(2 * ranks, sizeof *output->streams);
    output->logs = calloc(ranks, sizeof *output->logs);
    output->error = same_place() ? &output->sinks[0] : &output->sinks[1];
    int error = output->streams && output->logs ? 0 : -ENOMEM;
    for (int i = 0; i < 2 && error == 0; i++) {
        output->sinks[i].owner = output;
        output->sinks[i].on_room = on_room;
        if (i == 0 || output->error == &output->sinks[i])
            error =
                launch_sink_init(&output->sinks[i], loop, i == 0 ? STDOUT_FILENO : STDERR_FILENO);
    }
    return error < 0 ? fail_set(fail, error, "cannot prepare the output: %s", strerror(-error)) : 0;
}

int launch_output_log(struct launch_output *output, const struct launch_plan *plan,
                      const char *log_dir, struct fail *fail)
{
    char path[PATH_BYTES];
    if (mkdir(log_dir, 0777) < 0 && errno != EEXIST)
        return fail_set(fail, -errno, "--log-dir %s: cannot make this folder: %s", log_dir,
                        strerror(errno));
    for (size_t i = 0; i < output->ranks; i++) {
        snprintf(path, sizeof path, "%s/rank-%d.log", log_dir, plan->first_rank + (int)i);
        output->logs[i].file = fopen(path, plan->restart > 0 ? "ae" : "we"); // e: not inherited
        if (!output->logs[i].file)
            return fail_set(fail, -errno, "--log-dir %s: cannot write %s: %s", log_dir, path,
                            strerror(errno));
    }
    return 0;
}

int launch_output_attach(struct launch_output *output, size_t local_rank, int rank,
                         const struct launch_process *process, struct fail *fail)
{
    struct launch_stream *streams = output->streams + 2 * local_rank;
    int error = 0;
    for (int i = 0; i < 2 && error == 0; i++) {
        streams[i].sink = i == 0 ? &output->sinks[0] : output->error;
        streams[i].log = &output->logs[local_rank];
        streams[i].on_change = on_stream_change;
        streams[i].owner = output;
        error = launch_stream_open(&streams[i], output->loop, i == 0 ? process->out : process->err,
                                   rank);
    }
    return error < 0 ? fail_set(fail, error, "cannot read what rank %d prints: %s", rank,
                                strerror(-error))
                     : 0;
}

void launch_output_say(struct launch_output *output, const char *text)
{
    if (launch_sink_room(output->error) >= strlen(text))
        launch_sink_add(output->error, text, strlen(text));
}

bool launch_output_flushed(const struct launch_output *output)
{
    return launch_sink_empty(&output->sinks[0]) && launch_sink_empty(output->error);
}

bool launch_output_ended(const struct launch_output *output)
{
    for (size_t i = 0; i < 2 * output->ranks; i++)
        if (!launch_stream_ended(&output->streams[i]))
            return false;
    return launch_output_flushed(output);
}

bool launch_output_still(struct launch_output *output)
{
    bool busy = output->sinks[0].busy || output->error->busy;
    output->sinks[0].busy = output->error->busy = false;
    for (size_t i = 0; i < 2 * output->ranks; i++) {
        busy |= output->streams[i].busy;
        output->streams[i].busy = false;
    }
    return !busy;
}

int launch_output_error(const struct launch_output *output)
{
    return output->sinks[0].error != 0 ? output->sinks[0].error : output->error->error;
}

void launch_output_close(struct launch_output *output)
{
    for (size_t i = 0; i < 2 * output->ranks; i++)
        launch_stream_close(&output->streams[i]);
}

void launch_output_release(struct launch_output *output)
{
    for (size_t i = 0; output->streams && i < 2 * output->ranks; i++)
        launch_stream_release(&output->streams[i]);
    for (size_t i = 0; output->logs && i < output->ranks; i++)
        if (output->logs[i].file)
            fclose(output->logs[i].file);
    launch_sink_release(&output->sinks[0]);
    launch_sink_release(&output->sinks[1]);
    free(output->streams);
    free(output->logs);
    *output = (struct launch_output){0};
}
