/* door: a listening socket and its guests. See the header. */
#include "lesson02_allreduce/door.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { BACKLOG = 128 };

static void seat_next(struct door *door);

static void on_guest_closed(uv_handle_t *handle)
{
    struct guest *guest = handle->data;
    guest->state = GUEST_FREE;
    if (guest->door->open && guest->door->someone_waits)
        seat_next(guest->door);
}

static void log_dropped(struct door *door, const char *name, const char *why)
{
    if (door->lines > DOOR_LINES_MOST)
        return;
    if (door->lines++ < DOOR_LINES_MOST)
        fprintf(door->log, "rank %d: dropped a connection from %s: %s\n", door->rank, name, why);
    else
        fprintf(door->log, "rank %d: dropped more connections; they are not listed\n", door->rank);
    fflush(door->log);
}

void door_dismiss(struct guest *guest, const char *why)
{
    struct door *door = guest->door;
    if (why && door->log)
        log_dropped(door, guest->name, why);
    guest->state = GUEST_CLOSING;
    uv_close(&guest->stream.handle, on_guest_closed);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    (void)suggested;
    struct guest *guest = handle->data;
    size_t most = guest->state == GUEST_SPEAKING ? WIRE_HELLO_BYTES : WIRE_HELLO_BYTES + 1;
    *buffer = uv_buf_init((char *)guest->bytes + guest->filled, (unsigned)(most - guest->filled));
}

static void hear_hello(struct guest *guest)
{
    uv_read_stop(&guest->stream.uv); // what follows is not for us
    int error = wire_get_hello(&guest->hello, guest->bytes);
    if (error == -EPROTONOSUPPORT)
        door_dismiss(guest, "it speaks another version of the protocol");
    else if (error)
        door_dismiss(guest, "it sent no hello");
    else
        guest->state = GUEST_INTRODUCED;
}

static void on_read(uv_stream_t *stream, ssize_t result, const uv_buf_t *buffer)
{
    (void)buffer;
    struct guest *guest = stream->data;
    if (result == 0)
        return;
    if (guest->state == GUEST_SEATED) { // it hung up, or speaks out of turn
        uv_read_stop(stream);
        guest->gone = true;
    } else if (result < 0) {
        door_dismiss(guest,
                     guest->filled ? "it left in the middle of its hello" : "it said nothing");
    } else {
        guest->filled += (size_t)result;
        if (guest->filled == WIRE_HELLO_BYTES)
            hear_hello(guest);
    }
}

/* A free place; when there is none, the guest that has been silent longest begins to leave. */
static struct guest *find_place(struct door *door)
{
    struct guest *oldest = NULL;
    bool leaving = false;
    for (size_t i = 0; i < door->guest_count; i++) {
        struct guest *guest = &door->guests[i];
        if (guest->state == GUEST_FREE)
            return guest;
        leaving = leaving || guest->state == GUEST_CLOSING;
        if (guest->state == GUEST_SPEAKING && (!oldest || guest->arrival < oldest->arrival))
            oldest = guest;
    }
    if (oldest && !leaving)
        door_dismiss(oldest, "it was silent while others waited");
    return NULL;
}

static void seat_next(struct door *door)
{
    struct guest *guest = find_place(door);
    door->someone_waits = guest == NULL;
    if (!guest || stream_init(&guest->stream, door->loop, door->family) != 0)
        return;
    guest->stream.handle.data = guest;
    guest->state = GUEST_SPEAKING;
    guest->arrival = door->arrivals++;
    guest->filled = 0;
    guest->gone = false;
    int error = uv_accept(&door->listener.uv, &guest->stream.uv);
    if (!error)
        error = stream_peer_name(&guest->stream, &guest->from);
    address_name(guest->name, &guest->from);
    if (!error)
        error = uv_read_start(&guest->stream.uv, on_alloc, on_read);
    if (error) // such as ENOTCONN: it came and left at once
        door_dismiss(guest, "it left at once");
}

static void on_connection(uv_stream_t *listener, int status)
{
    if (status == 0)
        seat_next(listener->data);
}

int door_init(struct door *door, uv_loop_t *loop, size_t seats)
{
    door->guest_count = seats + DOOR_SPARE_GUESTS;
    door->guests = calloc(door->guest_count, sizeof *door->guests);
    if (!door->guests)
        return -ENOMEM;
    for (size_t i = 0; i < door->guest_count; i++)
        door->guests[i].door = door;
    door->loop = loop;
    return 0;
}

/* address: to bind; NULL: fd is bound. */
static int listen_on(struct door *door, const struct sockaddr *address, int fd)
{
    door->family = address ? address->sa_family : AF_INET;
    int error = stream_init(&door->listener, door->loop, door->family);
    if (error)
        return error;
    door->open = true;
    door->listener.handle.data = door;
    error = address ? stream_bind(&door->listener, address, door->buffer_bytes)
                    : stream_take_over(&door->listener, fd, door->buffer_bytes);
    if (!error) // an address in use is reported here, not by bind
        error = uv_listen(&door->listener.uv, BACKLOG, on_connection);
    return error;
}

int door_listen(struct door *door, const struct sockaddr *address)
{
    return listen_on(door, address, -1);
}

int door_take_over(struct door *door, int fd)
{
    return listen_on(door, NULL, fd);
}

uint32_t door_port(const struct door *door)
{
    struct sockaddr_storage address;
    if (!door->open || stream_own_name(&door->listener, &address))
        return 0;
    return address_port(&address);
}

void door_seat(struct guest *guest)
{
    guest->state = GUEST_SEATED;
    if (uv_read_start(&guest->stream.uv, on_alloc, on_read))
        guest->gone = true;
}

static void on_answered(uv_write_t *request, int status)
{
    (void)status; // a guest that is gone is noticed by reading
    struct guest *guest = request->data;
    guest->answering = false;
}

void door_answer(struct guest *guest, const uint8_t *bytes, size_t size_bytes)
{
    uv_buf_t buffer = uv_buf_init((char *)bytes, (unsigned)size_bytes);
    guest->answer.data = guest;
    guest->answering = uv_write(&guest->answer, &guest->stream.uv, &buffer, 1, on_answered) == 0;
}

bool door_is_answering(const struct door *door)
{
    for (size_t i = 0; i < door->guest_count; i++)
        if (door->guests[i].state == GUEST_SEATED && door->guests[i].answering)
            return true;
    return false;
}

int door_take_socket(struct guest *guest)
{
    int copy = stream_copy_socket(&guest->stream);
    door_dismiss(guest, NULL);
    return copy;
}

void door_close(struct door *door)
{
    if (door->open)
        uv_close(&door->listener.handle, NULL);
    door->open = false;
    for (size_t i = 0; i < door->guest_count; i++)
        if (door->guests[i].state != GUEST_FREE && door->guests[i].state != GUEST_CLOSING)
            door_dismiss(&door->guests[i], NULL);
}

void door_release(struct door *door)
{
    free(door->guests);
    door->guests = NULL;
    door->guest_count = 0;
}
