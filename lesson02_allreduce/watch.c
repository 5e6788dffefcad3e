/* watch: tells whoever watches this rank what it waits for. See comm.h. */
#include "lesson02_allreduce/comm_inside.h"

#include "common/clock.h"

#include <inttypes.h>

enum { AWAITED_MOST = 8 };

static const char *separator(bool first)
{
    return first ? "" : ",";
}

/* The ranks that bytes are still to come from, or to be taken by, as "1,2"; *bytes: how many are missing. */
static void list_awaited(const struct comm *comm, char text[COMM_WATCH_BYTES], size_t *bytes)
{
    size_t length = 0, count = 0;
    *bytes = 0;
    text[0] = '\0';
    for (int rank = 0; rank < comm->world; rank++) {
        const struct incoming *incoming = &comm->peers[rank].incoming;
        const struct outgoing *outgoing = &comm->peers[rank].outgoing;
        if (!incoming->wanted && !outgoing->wanted)
            continue;
        *bytes += incoming->wanted ? incoming->expected_bytes - incoming->done_bytes : 0;
        if (count++ < AWAITED_MOST)
            length += (size_t)snprintf(text + length, COMM_WATCH_BYTES - length, "%s%d",
                                       separator(length == 0), rank);
    }
}

/* Once for each silence: what moved is another's wait. */
void watch_wait(struct comm *comm)
{
    char call[CALL_TEXT_BYTES], awaited[COMM_WATCH_BYTES], text[COMM_WATCH_BYTES];
    size_t bytes;
    if (!comm->watch.on_wait || comm->told_silence == comm->silence.number)
        return;
    comm->told_silence = comm->silence.number;
    comm_describe(call, &comm->call, comm->sequence, comm->tag);
    list_awaited(comm, awaited, &bytes);
    snprintf(text, sizeof text,
             "{\"call\":%" PRIu64 ",\"text\":\"%s\",\"bytes\":%zu,\"awaits\":[%s],\"clock\":%.3f}",
             comm->sequence, call, bytes, awaited, clock_seconds());
    comm->watch.on_wait(comm->watch.context, text);
}

/* What ended in an error stays told. */
void watch_go(struct comm *comm)
{
    if (comm->told_silence == 0)
        return;
    comm->told_silence = 0;
    comm->watch.on_wait(comm->watch.context, "");
}

void comm_set_watch(struct comm *comm, const struct comm_watch *watch)
{
    comm->watch = *watch;
}
