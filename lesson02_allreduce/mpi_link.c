/*
 * mpi_link: the link of a build for MPI. See link.h for what it promises.
 *
 *     link_send -> a letter, or a queue of memory -> MPI_Isend ... MPI_Irecv -> arrived -> link_show
 *
 * A stream of bytes, cut into messages of at most MESSAGE_BYTES. MPI keeps the messages of one rank
 * to another in order, so what is staged is the same stream as a socket's. A small frame travels as
 * one letter, header and payload, copied so that its sender may go on at once. Longer ones are sent
 * from where they lie, one message after another, each complete before the next.
 *
 * MPI wakes nobody: each turn of the loop looks, and a timer turns it every millisecond at least.
 *
 * No memory but the mailbox's own is ever MPI's to fill: an error may come at any time, and a
 * caller's memory is his again then. The price is one more copy. And every look asks for every
 * peer, which is fine for some hundred ranks.
 */
#include "lesson02_allreduce/link.h"
#include "lesson02_allreduce/mpi_job.h"

#include "common/clock.h"

#include <assert.h>
#include <mpi.h>
#include <string.h>

enum {
    MESSAGE_BYTES =
        120 * 1024, // at most: half of the staging buffer takes it, and part of an element
    LETTER_BYTES = 4096,
    QUEUE_MOST = 3, // parcels of one peer: a frame, "I wait myself", news
    TURN_MILLISECONDS = 1
};

static const double SETTLING_SECONDS = 0.1;

/* A parcel's bytes that are not sent yet: of its header, then of its payload. */
struct queued {
    struct parcel *parcel;
    const uint8_t *at[2];
    size_t left_bytes[2];
};

struct mailbox {
    uv_prepare_t look;
    uv_timer_t turn;
    int rank; // the peer

    MPI_Request sending_letter, sending; // MPI_REQUEST_NULL: nothing
    uint8_t letter[LETTER_BYTES];
    struct queued queue[QUEUE_MOST]; // the first is being sent
    size_t queue_count;

    MPI_Request expecting;
    uint8_t arrived[MESSAGE_BYTES];
    size_t arrived_bytes; // and not shown yet
};

/* Whether MPI did what it was told; if not, the link is broken. */
static bool done_by(struct link *link, int code)
{
    if (code != MPI_SUCCESS && !link->error)
        link->error = UV_EIO;
    return code == MPI_SUCCESS;
}

/* Is a request over, or was there none? */
static bool is_over(struct link *link, MPI_Request *request)
{
    int over = 0;
    return done_by(link, MPI_Test(request, &over, MPI_STATUS_IGNORE)) && over;
}

static bool send_bytes(struct link *link, const void *bytes, size_t size, MPI_Request *request)
{
    return done_by(link, MPI_Isend(bytes, (int)size, MPI_BYTE, link->mailbox->rank, MPI_JOB_BYTES,
                                   MPI_COMM_WORLD, request));
}

/* --- sending --- */

/* Begins to send the next message of the first parcel. False: it has none left. */
static bool send_next(struct link *link)
{
    struct mailbox *mailbox = link->mailbox;
    struct queued *first = &mailbox->queue[0];
    int part = first->left_bytes[0] > 0 ? 0 : 1;
    size_t size = first->left_bytes[part] < MESSAGE_BYTES ? first->left_bytes[part] : MESSAGE_BYTES;
    if (size == 0 || !send_bytes(link, first->at[part], size, &mailbox->sending))
        return false;
    first->at[part] += size;
    first->left_bytes[part] -= size;
    return true;
}

static void finish_first(struct link *link)
{
    struct mailbox *mailbox = link->mailbox;
    mailbox->queue[0].parcel->busy = false;
    mailbox->queue[0].parcel->error = link->error;
    mailbox->queue_count--;
    memmove(mailbox->queue, mailbox->queue + 1, mailbox->queue_count * sizeof *mailbox->queue);
}

/* Sends as much as MPI takes at once. */
static void push(struct link *link)
{
    struct mailbox *mailbox = link->mailbox;
    while (mailbox->queue_count > 0 && is_over(link, &mailbox->sending))
        if (!send_next(link))
            finish_first(link);
}

/* A frame that is small goes at once, if the one before has gone. */
static bool send_letter(struct link *link, const struct queued *parts)
{
    struct mailbox *mailbox = link->mailbox;
    size_t head = parts->left_bytes[0], body = parts->left_bytes[1];
    if (head + body > LETTER_BYTES || mailbox->queue_count > 0 ||
        !is_over(link, &mailbox->sending_letter))
        return false;
    memcpy(mailbox->letter, parts->at[0], head);
    if (body > 0)
        memcpy(mailbox->letter + head, parts->at[1], body);
    return send_bytes(link, mailbox->letter, head + body, &mailbox->sending_letter);
}

static void send_parts(struct link *link, const struct queued *parts)
{
    struct mailbox *mailbox = link->mailbox;
    struct parcel *parcel = parts->parcel;
    parcel->error = 0;
    if (send_letter(link, parts))
        return;
    assert(mailbox->queue_count < QUEUE_MOST);
    parcel->busy = true;
    mailbox->queue[mailbox->queue_count++] = *parts;
    push(link);
}

void link_send(struct link *link, struct parcel *parcel, const struct wire_frame *frame,
               const void *payload)
{
    if (frame->kind == WIRE_ABORT)
        mpi_job_spoil();
    link_begin(link, parcel, frame, payload, frame->length_bytes);
}

void link_begin(struct link *link, struct parcel *parcel, const struct wire_frame *frame,
                const void *payload, size_t now_bytes)
{
    wire_put_frame(parcel->header, frame);
    send_parts(link, &(struct queued){.parcel = parcel,
                                      .at = {parcel->header, payload},
                                      .left_bytes = {WIRE_FRAME_BYTES, now_bytes}});
}

void link_send_more(struct link *link, struct parcel *parcel, const void *bytes, size_t size_bytes)
{
    send_parts(link, &(struct queued){
                         .parcel = parcel, .at = {bytes, NULL}, .left_bytes = {size_bytes, 0}});
}

size_t link_queued_bytes(const struct link *link)
{
    const struct mailbox *mailbox = link->mailbox;
    size_t bytes = 0;
    for (size_t i = 0; i < mailbox->queue_count; i++)
        bytes += mailbox->queue[i].left_bytes[0] + mailbox->queue[i].left_bytes[1];
    return bytes;
}

/* --- receiving --- */

static void expect(struct link *link)
{
    struct mailbox *mailbox = link->mailbox;
    done_by(link, MPI_Irecv(mailbox->arrived, MESSAGE_BYTES, MPI_BYTE, mailbox->rank, MPI_JOB_BYTES,
                            MPI_COMM_WORLD, &mailbox->expecting));
}

/* Is a message here that has not been shown? */
static bool has_arrived(struct link *link)
{
    struct mailbox *mailbox = link->mailbox;
    MPI_Status status;
    int arrived = 0, size = 0;
    if (mailbox->arrived_bytes > 0)
        return true;
    if (!done_by(link, MPI_Test(&mailbox->expecting, &arrived, &status)) || !arrived)
        return false;
    MPI_Get_count(&status, MPI_BYTE, &size);
    mailbox->arrived_bytes = (size_t)size;
    link->received_bytes += (size_t)size;
    return true;
}

/* Shows what has come, a whole message at a time, as long as there is room. */
static void receive(struct link *link)
{
    struct mailbox *mailbox = link->mailbox;
    while (!link->error && has_arrived(link) && mailbox->arrived_bytes <= link_room(link)) {
        size_t size = mailbox->arrived_bytes;
        mailbox->arrived_bytes = 0;
        link_show(link, mailbox->arrived, size);
        expect(link);
    }
    if (link->error)
        link->on_bytes(link);
}

void link_resume(struct link *link)
{
    (void)link; // the next look sees the room
}

/* --- opening and closing --- */

static void on_look(uv_prepare_t *look)
{
    push(look->data);
    receive(look->data);
}

static void on_turn(uv_timer_t *turn)
{
    (void)turn; // the loop has turned: that is all
}

int link_open(struct link *link, uv_loop_t *loop, int fd, size_t staging_bytes)
{
    struct mailbox *mailbox = memory_take(link->memory, MEMORY_BUFFERS, sizeof *mailbox);
    link->staging = memory_take(link->memory, MEMORY_BUFFERS, staging_bytes);
    link->capacity_bytes = staging_bytes;
    if (!mailbox || !link->staging) {
        memory_give_back(link->memory, MEMORY_BUFFERS, mailbox, sizeof *mailbox);
        return UV_ENOMEM;
    }
    assert(staging_bytes / 2 > MESSAGE_BYTES);
    *mailbox = (struct mailbox){0};
    link->mailbox = mailbox;
    mailbox->rank = fd;
    mailbox->sending_letter = mailbox->sending = mailbox->expecting = MPI_REQUEST_NULL;
    uv_prepare_init(loop, &mailbox->look);
    uv_timer_init(loop, &mailbox->turn);
    mailbox->look.data = link;
    link->open = true;
    uv_prepare_start(&mailbox->look, on_look);
    uv_timer_start(&mailbox->turn, on_turn, TURN_MILLISECONDS, TURN_MILLISECONDS);
    expect(link);
    return link->error;
}

void link_close(struct link *link)
{
    if (link->open) {
        if (link->mailbox->expecting != MPI_REQUEST_NULL)
            MPI_Cancel(&link->mailbox->expecting);
        uv_close((uv_handle_t *)&link->mailbox->look, NULL);
        uv_close((uv_handle_t *)&link->mailbox->turn, NULL);
    }
    link->open = false;
}

/* Is a request over, soon? One that was cancelled is, and so are the last words. */
static bool settles(struct link *link, MPI_Request *request)
{
    double until = clock_seconds() + SETTLING_SECONDS;
    while (!is_over(link, request))
        if (clock_seconds() > until)
            return false;
    return true;
}

static bool is_idle(struct link *link)
{
    struct mailbox *mailbox = link->mailbox;
    return settles(link, &mailbox->sending_letter) && settles(link, &mailbox->sending) &&
           settles(link, &mailbox->expecting);
}

/* Memory that MPI may still read or write is not freed; it goes with the process, soon. */
void link_release(struct link *link)
{
    if (link->mailbox && !is_idle(link)) {
        mpi_job_spoil();
    } else {
        memory_give_back(link->memory, MEMORY_BUFFERS, link->mailbox, sizeof *link->mailbox);
        memory_give_back(link->memory, MEMORY_BUFFERS, link->staging, link->capacity_bytes);
    }
    link->mailbox = NULL;
    link->staging = NULL;
}

size_t link_memory_bytes(size_t staging_bytes)
{
    return staging_bytes + sizeof(struct mailbox);
}

void link_discard(int fd)
{
    (void)fd; // a rank's number: nothing was opened
}
