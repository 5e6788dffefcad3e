/* comm: a communicator's life, and what can be asked of it. See comm.h for what it promises, comm_inside.h for
 * the parts, call.c for the verbs of a call. */
#include "lesson02_allreduce/comm.h"
#include "lesson02_allreduce/comm_inside.h"
#include "lesson02_allreduce/rendezvous.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <string.h>

/* Received bytes are folded in pieces of at most this: they are still in the cache then. */
enum { STAGING_BYTES = 256 * 1024 };

/* How far all ranks of one machine together may send ahead; and each of them at the least. */
enum { HEAD_STARTS_BYTES = 512 * 1024, HEAD_START_LEAST_BYTES = 64 * 1024 };

static void on_bytes(struct link *link)
{
    struct peer *peer = link->owner;
    if (link->error)
        peer->comm->trouble = true;
    incoming_advance(peer);
}

/* A write to a peer that has died is to be an error, not the end of this process. */
static void ignore_sigpipe(void)
{
    struct sigaction action;
    if (sigaction(SIGPIPE, NULL, &action) == 0 && action.sa_handler == SIG_DFL)
        signal(SIGPIPE, SIG_IGN);
}

static size_t peers_bytes(int world)
{
    return (size_t)world * sizeof(struct peer);
}

static int open_loop(struct comm *comm)
{
    size_t bytes = peers_bytes(comm->world);
    comm->peers = memory_take(comm->memory, MEMORY_BUFFERS, bytes);
    if (!comm->peers)
        return -ENOMEM;
    memset(comm->peers, 0, bytes);
    int error = uv_loop_init(&comm->loop);
    if (error)
        return error;
    comm->loop_open = true;
    uv_timer_init(&comm->loop, &comm->timer);
    comm->timer.data = comm;
    return 0;
}

/* Takes every socket, also when one of them is of no use. */
static int open_links(struct comm *comm, const int *fds)
{
    int first = 0;
    for (int rank = 0; rank < comm->world; rank++) {
        struct peer *peer = &comm->peers[rank];
        peer->comm = comm;
        peer->rank = rank;
        peer->link.owner = peer;
        peer->link.on_bytes = on_bytes;
        peer->link.memory = comm->memory;
        if (rank == comm->rank || fds[rank] < 0) // below 0: news of a meeting that failed
            continue;
        int error = comm->slow ? slow_link(comm->slow, rank, &peer->link) : 0;
        first = first ? first : error;
        error = link_open(&peer->link, &comm->loop, fds[rank], STAGING_BYTES);
        first = first ? first : error;
    }
    return first;
}

/* A long way is not silence: no algorithm has more than 2 (R - 1) messages that wait for each other.
 * Pacing is for caches, which a slowed link does not wear out. */
static int open_slow(struct comm *comm, const struct comm_config *config)
{
    const struct linkspec *spec = &config->link;
    comm->due_seconds = INFINITY;
    if (spec->bytes_per_second == 0)
        return 0;
    comm->slow = slow_open(spec, comm->rank, comm->world, config->seed, comm->memory);
    comm->lag_seconds = spec->latency_seconds + spec->jitter_seconds;
    comm->timeout_seconds += 2 * (comm->world - 1) * comm->lag_seconds;
    comm->head_start_bytes = SIZE_MAX / 2;
    return comm->slow ? 0 : -ENOMEM;
}

static int open_mesh(struct comm *comm, const struct comm_config *config, const int *fds)
{
    ignore_sigpipe();
    int error = open_loop(comm);
    if (!error)
        error = open_slow(comm, config);
    if (!error)
        return open_links(comm, fds);
    for (int rank = 0; rank < comm->world; rank++)
        if (rank != comm->rank && fds[rank] >= 0)
            link_discard(fds[rank]);
    return error;
}

static size_t head_start_of(const struct environment *environment)
{
    int ranks = environment->local_world > 0 ? environment->local_world : environment->world;
    size_t share = HEAD_STARTS_BYTES / (size_t)ranks;
    return share > HEAD_START_LEAST_BYTES ? share : HEAD_START_LEAST_BYTES;
}

int comm_adopt(struct comm **result, const struct environment *environment,
               const struct comm_config *config, const int *fds, struct fail *fail)
{
    *result = NULL;
    struct comm *comm = memory_take(config->memory, MEMORY_BUFFERS, sizeof *comm);
    if (!comm)
        return fail_set(fail, -ENOMEM, "rank %d: no memory for a communicator", environment->rank);
    *comm = (struct comm){.memory = config->memory};
    comm->rank = environment->rank;
    comm->world = environment->world;
    comm->timeout_seconds = config->timeout_seconds;
    comm->head_start_bytes = head_start_of(environment);
    comm->log = config->log;
    comm->choice = choice_fixed(ALGORITHM_RING);
    int error = comm->world > 1 ? open_mesh(comm, config, fds) : 0;
    if (error) {
        comm_shut(comm);
        memory_give_back(config->memory, MEMORY_BUFFERS, comm, sizeof *comm);
        return fail_set(fail, error, "rank %d cannot use its sockets: %s", environment->rank,
                        uv_strerror(error));
    }
    *result = comm;
    return 0;
}

int comm_open(struct comm **result, const struct environment *environment,
              const struct comm_config *config, struct fail *fail)
{
    int fds[ENVIRONMENT_WORLD_MOST];
    *result = NULL;
    for (int rank = 0; rank < environment->world; rank++)
        fds[rank] = -1;
    if (environment->world > 1) {
        ignore_sigpipe();
        int error = rendezvous_meet(environment, config, fds, fail);
        if (error) {
            news_unmet(environment, config, fds, fail);
            return error;
        }
    }
    return comm_adopt(result, environment, config, fds, fail);
}

void comm_shut(struct comm *comm)
{
    if (comm->loop_open) {
        for (int rank = 0; rank < comm->world; rank++)
            link_close(&comm->peers[rank].link);
        uv_close((uv_handle_t *)&comm->timer, NULL);
        uv_run(&comm->loop, UV_RUN_DEFAULT); // until the last handle is closed
        int error = uv_loop_close(&comm->loop);
        assert(error == 0);
        (void)error;
        comm->loop_open = false;
    }
    for (int rank = 0; comm->peers && rank < comm->world; rank++)
        link_release(&comm->peers[rank].link);
    slow_close(comm->slow);
    memory_give_back(comm->memory, MEMORY_BUFFERS, comm->peers, peers_bytes(comm->world));
    comm->slow = NULL;
    comm->peers = NULL;
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
    memory_give_back(comm->memory, MEMORY_BUFFERS, comm, sizeof *comm);
}

size_t comm_memory_bytes(const struct linkspec *spec, int rank, int world)
{
    size_t links = (size_t)world - 1;
    if (links == 0)
        return sizeof(struct comm);
    return sizeof(struct comm) + peers_bytes(world) + links * link_memory_bytes(STAGING_BYTES) +
           slow_memory_bytes(spec, rank, world);
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

bool comm_stopped(const struct comm *comm)
{
    return comm->stopped;
}

uint64_t comm_bytes_sent(const struct comm *comm)
{
    return comm->sent_bytes;
}

uint64_t comm_messages_sent(const struct comm *comm)
{
    return comm->sent_messages;
}

const struct choice *comm_choice(const struct comm *comm)
{
    return &comm->choice;
}

void comm_set_choice(struct comm *comm, const struct choice *choice)
{
    comm->choice = *choice;
}
