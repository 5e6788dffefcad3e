/*
 * news: the first error of any rank becomes the error of every rank.
 *
 * Whoever sees an error writes one sentence and sends it both ways round the ring; whoever hears it
 * passes it on; so every rank names the same cause, and none takes a neighbour's closing for it.
 *
 *     3 <--news-- 0   x   2 --news--> 3        rank 1 died; 0 and 2 saw it
 *
 * To the right the news queues behind the data under way; to the left there is nothing but news.
 * A rank closes its links when its news is on its way, or after a second: its own end matters too.
 *
 * A goodbye tells how many calls the leaving rank has finished: to leave before a call in which the
 * left neighbour still is, however politely, is an error.
 */
#include "lesson02_allreduce/comm_inside.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const double LINGER_SECONDS = 1;

void news_record(struct comm *comm, int code, const char *format, ...)
{
    if (comm->fail.code)
        return;
    char why[WIRE_TEXT_MOST / 2], call[CALL_TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    comm_describe(call, &comm->call, comm->sequence, comm->tag);
    fail_set(&comm->fail, code, "rank %d, %s: %s", comm->rank, call, why);
    snprintf(comm->news, sizeof comm->news, "%.*s", WIRE_TEXT_MOST, comm->fail.text);
}

void news_take(struct comm *comm, struct link *from, const struct wire_frame *frame)
{
    const uint8_t *bytes;
    size_t whole_bytes = WIRE_FRAME_BYTES + frame->length_bytes;
    if (link_staged(from, &bytes) < whole_bytes)
        return;
    if (frame->kind == WIRE_LEAVE) {
        comm->right_gone = true;
        comm->right_sequence = frame->sequence;
    } else if (!comm->fail.code) {
        wire_get_text(comm->news, bytes + WIRE_FRAME_BYTES, frame->length_bytes);
        comm->told_by = from;
        fail_set(&comm->fail, -ECONNABORTED, "rank %d stops in call %llu: %s", comm->rank,
                 (unsigned long long)comm->sequence, comm->news);
    }
    link_consume(from, whole_bytes);
}

void news_advance(struct comm *comm)
{
    const uint8_t *bytes;
    struct wire_frame frame;
    if (link_staged(&comm->right, &bytes) < WIRE_FRAME_BYTES)
        return;
    int error = wire_get_frame(&frame, bytes);
    if (error || frame.kind == WIRE_DATA || frame.kind == WIRE_WAIT)
        news_record(comm, -EPROTO, "rank %d sent back bytes that are no news",
                    comm_right_rank(comm));
    else
        news_take(comm, &comm->right, &frame);
}

static struct wire_frame news_frame(const struct comm *comm, enum wire_kind kind, size_t bytes)
{
    return (struct wire_frame){.kind = kind,
                               .call = comm->call,
                               .tag = comm->tag,
                               .sequence = comm->sequence,
                               .length_bytes = bytes};
}

void news_spread(struct comm *comm)
{
    struct wire_frame frame = news_frame(comm, WIRE_ABORT, strlen(comm->news));
    link_divert(&comm->left, NULL, 0); // the caller's memory is no longer ours to fill
    if (comm->told_by != &comm->left)
        link_send(&comm->left, &comm->news_left, &frame, comm->news);
    if (comm->told_by != &comm->right)
        link_send(&comm->right, &comm->news_right, &frame, comm->news);
    wait_sent(comm, LINGER_SECONDS);
    comm_shut(comm);
}

void news_leave(struct comm *comm)
{
    struct wire_frame frame = news_frame(comm, WIRE_LEAVE, 0);
    link_send(&comm->left, &comm->news_left, &frame, NULL);
    wait_sent(comm, LINGER_SECONDS);
}
