/* comm: the communicator's verbs. See comm.h for what they promise, comm_inside.h for the parts. */
#include "lesson02_allreduce/comm.h"
#include "lesson02_allreduce/comm_inside.h"
#include "lesson02_allreduce/rendezvous.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Received bytes are added in pieces of at most this: they are still in the cache then. */
enum { STAGING_BYTES = 256 * 1024 };

static const char *const operation_names[] = {"reduce-scatter", "all-gather", "all-reduce",
                                              "broadcast", "barrier"};
static const char *const type_names[] = {"f32", "f64", "u64"};
static const size_t type_bytes[] = {4, 8, 8};

size_t comm_type_bytes(enum comm_type type)
{
    return type_bytes[type];
}

void comm_describe(char text[CALL_TEXT_BYTES], const struct comm_call *call, uint64_t sequence,
                   uint32_t tag)
{
    snprintf(text, CALL_TEXT_BYTES, "call %" PRIu64 ": %s of %" PRIu64 " %s (tag %" PRIu32 ")",
             sequence, operation_names[call->operation], call->count, type_names[call->type], tag);
}

static void on_left_bytes(struct link *link)
{
    incoming_advance(link->owner);
}

static void on_right_bytes(struct link *link)
{
    news_advance(link->owner);
}

static int open_link(struct comm *comm, struct link *link, int fd)
{
    link->owner = comm;
    link->on_bytes = link == &comm->left ? on_left_bytes : on_right_bytes;
    return link_open(link, &comm->loop, fd, STAGING_BYTES);
}

/* A write to a neighbour that has died is to be an error, not the end of this process. */
static void ignore_sigpipe(void)
{
    struct sigaction action;
    if (sigaction(SIGPIPE, NULL, &action) == 0 && action.sa_handler == SIG_DFL)
        signal(SIGPIPE, SIG_IGN);
}

static int open_ring(struct comm *comm, int left_fd, int right_fd)
{
    ignore_sigpipe();
    int error = uv_loop_init(&comm->loop);
    if (error) {
        close(left_fd);
        close(right_fd);
        return error;
    }
    comm->loop_open = true;
    uv_timer_init(&comm->loop, &comm->timer);
    comm->timer.data = comm;
    error = open_link(comm, &comm->left, left_fd);
    int right_error = open_link(comm, &comm->right, right_fd);
    return error ? error : right_error;
}

int comm_adopt(struct comm **result, const struct environment *environment,
               const struct comm_config *config, const int fds[2], struct fail *fail)
{
    *result = NULL;
    struct comm *comm = calloc(1, sizeof *comm);
    if (!comm)
        return fail_set(fail, -ENOMEM, "rank %d: no memory for a communicator", environment->rank);
    comm->rank = environment->rank;
    comm->world = environment->world;
    comm->timeout_seconds = config->timeout_seconds;
    int error = comm->world > 1 ? open_ring(comm, fds[0], fds[1]) : 0;
    if (error) {
        comm_shut(comm);
        free(comm);
        return fail_set(fail, error, "rank %d cannot use its sockets: %s", environment->rank,
                        uv_strerror(error));
    }
    *result = comm;
    return 0;
}

int comm_open(struct comm **result, const struct environment *environment,
              const struct comm_config *config, struct fail *fail)
{
    int fds[2] = {-1, -1};
    *result = NULL;
    if (environment->world > 1) {
        ignore_sigpipe();
        int error = rendezvous_meet(environment, config, fds, fail);
        if (error)
            return error;
    }
    return comm_adopt(result, environment, config, fds, fail);
}

void comm_shut(struct comm *comm)
{
    if (!comm->loop_open)
        return;
    link_close(&comm->left);
    link_close(&comm->right);
    uv_close((uv_handle_t *)&comm->timer, NULL);
    uv_run(&comm->loop, UV_RUN_DEFAULT); // until the last handle is closed
    int error = uv_loop_close(&comm->loop);
    assert(error == 0);
    (void)error;
    comm->loop_open = false;
    link_release(&comm->left);
    link_release(&comm->right);
}

void comm_close(struct comm *comm)
{
    if (!comm)
        return;
    if (comm->loop_open && comm->in_call) {
        news_record(comm, -ECANCELED, "rank %d left in the middle of this call", comm->rank);
        news_spread(comm);
    } else if (comm->loop_open) {
        news_leave(comm);
    }
    comm_shut(comm);
    free(comm);
}

int comm_rank(const struct comm *comm)
{
    return comm->rank;
}

int comm_world(const struct comm *comm)
{
    return comm->world;
}

const struct fail *comm_fail(const struct comm *comm)
{
    return &comm->fail;
}

uint64_t comm_bytes_sent(const struct comm *comm)
{
    return comm->sent_bytes;
}

void comm_tag(struct comm *comm, uint32_t tag)
{
    comm->tag = tag;
}

int comm_begin(struct comm *comm, const struct comm_call *call)
{
    if (comm->fail.code)
        return comm->fail.code;
    assert(!comm->in_call);
    comm->in_call = true;
    comm->sequence++;
    comm->call = *call;
    comm->incoming.frames = 0;
    comm->outgoing.frames = 0;
    return 0;
}

static void begin_receiving(struct comm *comm, const struct comm_step *step)
{
    struct incoming *incoming = &comm->incoming;
    incoming->wanted = step->receive != NULL;
    incoming->header_seen = false;
    incoming->into = step->receive;
    incoming->how = step->how;
    incoming->expected_bytes = step->receive_count * comm_type_bytes(comm->call.type);
    incoming->done_bytes = 0;
}

static void begin_sending(struct comm *comm, const struct comm_step *step)
{
    struct outgoing *outgoing = &comm->outgoing;
    outgoing->bytes = step->send_count * comm_type_bytes(comm->call.type);
    struct wire_frame frame = {.kind = WIRE_DATA,
                               .call = comm->call,
                               .tag = comm->tag,
                               .step = outgoing->frames++,
                               .sequence = comm->sequence,
                               .length_bytes = outgoing->bytes};
    comm->sent_bytes += WIRE_FRAME_BYTES + outgoing->bytes;
    link_send(&comm->right, &outgoing->parcel, &frame, step->send);
}

int comm_exchange(struct comm *comm, const struct comm_step *step)
{
    if (comm->fail.code || comm->world == 1)
        return comm->fail.code;
    assert(comm->in_call);
    begin_receiving(comm, step);
    if (step->send)
        begin_sending(comm, step);
    incoming_advance(comm);
    return wait_step(comm);
}

int comm_end(struct comm *comm)
{
    comm->in_call = false;
    return comm->fail.code;
}
