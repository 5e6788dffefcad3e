/*
 * news: the first error of any rank becomes the error of every rank.
 *
 * Whoever sees an error writes one sentence and sends it to all peers; whoever hears it passes it
 * on to those that may not know; so every rank names the same cause, and none takes another's
 * closing for it.
 *
 *     3 <--news-- 0   x   2 --news--> 3        rank 1 died; all saw it, or are told
 *
 * On each link, news queues behind the data under way. A rank closes its links when its news is on
 * its way, or after a second: its own end matters too.
 *
 * A goodbye tells how many calls the leaving rank has finished: to leave before a call in which
 * another rank still is, however politely, is an error.
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

/* A whole frame of bad news or a goodbye. */
static void take(struct peer *peer, const struct wire_frame *frame, const uint8_t *text)
{
    struct comm *comm = peer->comm;
    if (frame->kind == WIRE_LEAVE) {
        peer->gone = true;
        peer->sequence = frame->sequence;
        comm->trouble = true;
    } else if (!comm->fail.code) {
        wire_get_text(comm->news, text, frame->length_bytes);
        peer->knows = true;
        fail_set(&comm->fail, -ECONNABORTED, "rank %d stops in call %llu: %s", comm->rank,
                 (unsigned long long)comm->sequence, comm->news);
    }
}

void news_take(struct peer *peer, const struct wire_frame *frame)
{
    const uint8_t *bytes;
    size_t whole_bytes = WIRE_FRAME_BYTES + frame->length_bytes;
    if (link_staged(&peer->link, &bytes) < whole_bytes)
        return;
    take(peer, frame, bytes + WIRE_FRAME_BYTES);
    link_consume(&peer->link, whole_bytes);
}

void news_search(struct peer *peer)
{
    const uint8_t *bytes;
    struct wire_frame frame;
    size_t staged = link_staged(&peer->link, &bytes), at = 0;
    while (staged - at >= WIRE_FRAME_BYTES && wire_get_frame(&frame, bytes + at) == 0) {
        at += WIRE_FRAME_BYTES;
        if (staged - at < frame.length_bytes) // no sum: a liar's may wrap around to nothing
            return;
        if (frame.kind == WIRE_ABORT || frame.kind == WIRE_LEAVE) {
            take(peer, &frame, bytes + at);
            return;
        }
        at += frame.length_bytes;
    }
}

static void send_news(struct peer *peer, enum wire_kind kind, const char *text)
{
    const struct comm *comm = peer->comm;
    struct wire_frame frame = {.kind = kind,
                               .call = comm->call,
                               .tag = comm->tag,
                               .sequence = comm->sequence,
                               .length_bytes = strlen(text)};
    if (peer->link.open && !peer->link.error && !peer->gone && outgoing_flush(peer))
        link_send(&peer->link, &peer->news, &frame, text);
}

void news_spread(struct comm *comm)
{
    for (int rank = 0; rank < comm->world; rank++) {
        struct peer *peer = &comm->peers[rank];
        if (rank == comm->rank)
            continue;
        link_divert(&peer->link, NULL, 0); // the caller's memory is no longer ours to fill
        if (!peer->knows)
            send_news(peer, WIRE_ABORT, comm->news);
    }
    wait_sent(comm, LINGER_SECONDS);
    comm_shut(comm);
}

void comm_stop(struct comm *comm, const struct fail *why)
{
    if (comm->fail.code)
        return;
    comm->fail = *why;
    comm->stopped = true;
    snprintf(comm->news, sizeof comm->news, "%.*s", WIRE_TEXT_MOST, why->text);
    if (comm->loop_open)
        news_spread(comm);
}

void news_unmet(const struct environment *environment, const struct comm_config *config,
                const int *fds, const struct fail *why)
{
    struct comm *comm;
    struct fail unheard = {0};
    if (comm_adopt(&comm, environment, config, fds, &unheard))
        return;
    comm_stop(comm, why);
    comm_close(comm);
}

void news_leave(struct comm *comm)
{
    for (int rank = 0; rank < comm->world; rank++)
        if (rank != comm->rank)
            send_news(&comm->peers[rank], WIRE_LEAVE, "");
    wait_sent(comm, LINGER_SECONDS);
}
