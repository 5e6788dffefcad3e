/*
 * launch_output: everything the ranks print, on its way to the terminal and to the log files.
 *
 *     rank 0   out  --stream--.             .--> standard output
 *              err  --stream--+--> sinks ---|
 *     rank 1   out  --stream--|             '--> standard error
 *              ...          --'
 *
 * When output and error lead to the same place (a terminal, 2>&1) they share one sink, so that a
 * line of one is never written into a line of the other. Ranks that are held up because a sink is
 * full are let on in turns.
 */
#ifndef COMMON_LAUNCH_OUTPUT_H
#define COMMON_LAUNCH_OUTPUT_H

#include "common/fail.h"
#include "common/launch_plan.h"
#include "common/launch_rank.h"
#include "common/launch_sink.h"
#include "common/launch_stream.h"

struct launch_output {
    uv_loop_t *loop;
    struct launch_sink sinks[2];    // standard output, standard error
    struct launch_sink *error;      // the second one, or the first when both lead to one place
    size_t ranks;                   // on this machine
    struct launch_stream *streams;  // (ranks, 2): output, error
    struct launch_log *logs;        // (ranks)
    size_t turn;                    // the stream that is let on first next time
    void (*on_change)(void *owner); // bytes went on, a stream ended, or a sink failed
    void *owner;
};

/* 0, or a negative error. Release it in any case. The owner sets on_change and owner beforehand. */
int launch_output_init(struct launch_output *output, uv_loop_t *loop, size_t ranks,
                       struct fail *fail);

/* Also keeps what each rank prints in log_dir/rank-R.log; after a restart, behind what is there. 0,
 * or a negative error. */
int launch_output_log(struct launch_output *output, const struct launch_plan *plan,
                      const char *log_dir, struct fail *fail);

/* Takes over a rank's pipes. */
int launch_output_attach(struct launch_output *output, size_t local_rank, int rank,
                         const struct launch_process *process, struct fail *fail);

/* Adds the launcher's own words to standard error. Dropped when there is no room. */
void launch_output_say(struct launch_output *output, const char *text);

bool launch_output_flushed(const struct launch_output *output); // nothing waits in a sink
bool launch_output_ended(const struct launch_output *output);   // nor will anything come

/* Nothing has moved since the last time this was asked. */
bool launch_output_still(struct launch_output *output);

/* The first error of standard output, else of standard error, else 0. */
int launch_output_error(const struct launch_output *output);

/* Waits for no stream any longer. */
void launch_output_close(struct launch_output *output);

/* Once the loop is closed. Accepts a zeroed output. */
void launch_output_release(struct launch_output *output);

#endif
