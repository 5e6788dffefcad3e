/*
 * door: a listening socket, and the guests that have come to it, until they have said who they are.
 *
 *     FREE --accept--> SPEAKING --44 bytes--> INTRODUCED --door_seat--> SEATED
 *       ^-------------- CLOSING <---- hang up, nonsense, evicted, dismissed --'
 *
 * Anybody may come: port scanners, browsers, other jobs. So a guest is a few fixed bytes, there is
 * a fixed number of them, and when all places are taken the one that has been silent longest goes:
 * a rank says hello the moment it is connected. Not one byte past the hello is read here.
 *
 * Callbacks only record; whoever owns the door runs the loop and looks for INTRODUCED guests.
 */
#ifndef LESSON02_DOOR_H
#define LESSON02_DOOR_H

#include "lesson02_allreduce/address.h"
#include "lesson02_allreduce/stream.h"
#include "lesson02_allreduce/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <uv.h>

enum { DOOR_SPARE_GUESTS = 16, DOOR_LINES_MOST = 20 };

enum guest_state { GUEST_FREE, GUEST_SPEAKING, GUEST_INTRODUCED, GUEST_SEATED, GUEST_CLOSING };

struct guest {
    union stream stream;
    struct door *door;
    enum guest_state state;
    uint64_t arrival;              // guests are numbered as they come
    char name[ADDRESS_NAME_BYTES]; // address and port, for the log
    struct sockaddr_storage from;
    uint8_t bytes[WIRE_HELLO_BYTES + 1]; // the last one: a seated guest has nothing to say
    size_t filled;
    struct wire_hello hello;
    bool gone; // a seated guest hung up
    uv_write_t answer;
    bool answering;
};

struct door {
    union stream listener;
    uv_loop_t *loop;
    int family; // AF_INET, AF_INET6 or AF_UNIX, once it listens
    bool open;
    struct guest *guests; // (guest_count)
    size_t guest_count;
    uint64_t arrivals;
    int lines;          // written to the log so far
    bool someone_waits; // to be accepted, until a place is free
    int rank;           // whose door, for the log
    FILE *log;          // or NULL
    int buffer_bytes;   // of the guests' sockets; 0: the system's own
};

/* Room for `seats` guests beside the strangers. The door is zeroed but for rank, log, buffer_bytes.
 * 0 or -ENOMEM. */
int door_init(struct door *door, uv_loop_t *loop, size_t seats);

/* Listens on an address, or on a TCP socket that is bound already and becomes the door's. 0, or a
 * negative error such as -EADDRINUSE. */
int door_listen(struct door *door, const struct sockaddr *address);
int door_take_over(struct door *door, int fd);

/* The port it listens on, 0 when it does not. */
uint32_t door_port(const struct door *door);

/* Keeps an introduced guest connected and notices when it hangs up. */
void door_seat(struct guest *guest);

/* Sends `bytes`, which outlive the sending, to a seated guest. */
void door_answer(struct guest *guest, const uint8_t *bytes, size_t size_bytes);
bool door_is_answering(const struct door *door);

/* The guest's connected socket, now the caller's; the guest is gone. Negative: an error. */
int door_take_socket(struct guest *guest);

/* Hangs up; `why` goes to the log, NULL for silence. After DOOR_LINES_MOST lines one more says that
 * there are others, and that is all: a flood of strangers is not to fill a disk. */
void door_dismiss(struct guest *guest, const char *why);

/* Hangs up on all and stops listening. The loop must run until all is closed before
 * door_release. */
void door_close(struct door *door);
void door_release(struct door *door);

#endif
