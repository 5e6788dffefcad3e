/*
 * check_link: bytes through a link whose socket takes less than was asked. See lesson02.h.
 *
 * One end of a socket pair is the link's; the other is this file's own, read a little at a time, between turns of the loop.
 */
#include "lesson02_allreduce/link.h"
#include "tests/grade/lesson02.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FRAMES = 40, PAYLOAD_MOST = 60000, SMALL_BUFFER = 4608, STAGING = 8192, LARGE = 1 << 20 };

struct wire_pair {
    uv_loop_t loop;
    struct link link;
    int other; // not blocking
    uint8_t *bytes;
    size_t count, room; // that have come, on whichever side is looked at
};

static int pair_open(struct grade *grade, struct wire_pair *pair,
                     void (*on_bytes)(struct link *link))
{
    int ends[2], small = SMALL_BUFFER;
    *pair = (struct wire_pair){.room = (size_t)FRAMES * (PAYLOAD_MOST + WIRE_FRAME_BYTES)};
    pair->bytes = malloc(pair->room);
    if (!pair->bytes || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return grade_expect(grade, false, "no socket pair: %s", strerror(errno));
    setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
    pair->other = ends[1];
    fcntl(pair->other, F_SETFL, O_NONBLOCK);
    uv_loop_init(&pair->loop);
    pair->link.on_bytes = on_bytes;
    pair->link.owner = pair;
    int error = link_open(&pair->link, &pair->loop, ends[0], STAGING);
    return grade_expect(grade, error == 0, "link_open: expected 0, found %d", error);
}

/* The process ends with the check: the link and the loop are left to it. */
static void pair_close(struct wire_pair *pair)
{
    free(pair->bytes);
    close(pair->other);
}

static void turn(struct wire_pair *pair)
{
    uv_run(&pair->loop, UV_RUN_NOWAIT);
}

/* Reads at most `most` bytes of what is there. Returns how many. */
static size_t drain(struct wire_pair *pair, size_t most)
{
    size_t before = pair->count, left = pair->room - pair->count;
    for (int tries = 0; tries < 50 && pair->count == before; tries++) { // a shim may say "again"
        ssize_t got = read(pair->other, pair->bytes + pair->count, most < left ? most : left);
        pair->count += got > 0 ? (size_t)got : 0;
    }
    return pair->count - before;
}

static void nothing(struct link *link)
{
    (void)link;
}

/* Appends to a text of what is expected. */
static void append(uint8_t *expected, size_t *count, const void *bytes, size_t size)
{
    memcpy(expected + *count, bytes, size);
    *count += size;
}

static int compare_bytes(struct grade *grade, const struct wire_pair *pair, const uint8_t *expected,
                         size_t count)
{
    size_t same = 0;
    while (same < pair->count && same < count && pair->bytes[same] == expected[same])
        same++;
    return grade_expect(grade, same == count && pair->count == count,
                        "expected %zu bytes, found %zu, of which the first %zu are right", count,
                        pair->count, same);
}

/* Sends frames of many sizes; the other side reads now and then, and never much. */
static int send_frames(struct grade *grade, struct wire_pair *pair, uint8_t *expected,
                       size_t *count)
{
    uint8_t header[WIRE_FRAME_BYTES], *payload = malloc(PAYLOAD_MOST);
    struct parcel parcel = {0};
    int wrong = 0;
    for (uint32_t frame = 0; frame < FRAMES && !wrong; frame++) {
        size_t size = grade_draw(grade, 0, frame % 2 ? PAYLOAD_MOST : 60);
        struct wire_frame what = {.kind = WIRE_DATA,
                                  .call = {.type = COMM_U8, .count = size},
                                  .step = frame,
                                  .length_bytes = size};
        for (size_t i = 0; i < size; i++)
            payload[i] = (uint8_t)(rng_bits(&grade->rng, frame * (uint64_t)PAYLOAD_MOST + i) >> 8);
        wire_put_frame(header, &what);
        append(expected, count, header, sizeof header);
        append(expected, count, payload, size);
        link_send(&pair->link, &parcel, &what, payload);
        for (int idle = 0; parcel.busy && idle < 1000; idle++, turn(pair))
            if (drain(pair, grade_draw(grade, 1, 5000)) > 0)
                idle = 0;
        wrong = grade_expect(grade, !parcel.busy && parcel.error == 0,
                             "frame %u: expected it to be sent, found %s", frame,
                             parcel.error ? uv_strerror(parcel.error) : "that it never was");
    }
    free(payload);
    return wrong;
}

int link_whole(struct grade *grade)
{
    struct wire_pair pair;
    size_t count = 0;
    int wrong = pair_open(grade, &pair, nothing);
    uint8_t *expected = malloc(pair.room);
    if (!wrong && expected)
        wrong = send_frames(grade, &pair, expected, &count);
    while (!wrong && drain(&pair, pair.room) > 0)
        turn(&pair);
    wrong = wrong || compare_bytes(grade, &pair, expected, count);
    free(expected);
    pair_close(&pair);
    return wrong;
}

/* One long payload, and nobody reads until it was looked at. */
int link_queued(struct grade *grade)
{
    struct wire_pair pair;
    struct parcel parcel = {0};
    size_t size = LARGE + grade_draw(grade, 1, 999);
    struct wire_frame what = {
        .kind = WIRE_DATA, .call = {.type = COMM_U8, .count = size}, .length_bytes = size};
    uint8_t *payload = calloc(size, 1);
    int wrong = pair_open(grade, &pair, nothing) || !payload;
    if (!wrong)
        link_send(&pair.link, &parcel, &what, payload);
    bool busy = parcel.busy;
    size_t queued = link_queued_bytes(&pair.link);
    while (!wrong && drain(&pair, pair.room) > 0)
        ; // what the system has taken so far; the loop does not turn
    size_t left = size + WIRE_FRAME_BYTES - pair.count;
    wrong = wrong || grade_expect(grade, busy && queued == left,
                                  "the socket took %zu of %zu bytes: expected a busy parcel and "
                                  "%zu bytes queued, found %s and %zu",
                                  pair.count, size + WIRE_FRAME_BYTES, left,
                                  busy ? "a busy one" : "one that is not", queued);
    for (int idle = 0; !wrong && parcel.busy && idle < 1000; idle++, turn(&pair))
        if (drain(&pair, pair.room) > 0)
            idle = 0;
    queued = link_queued_bytes(&pair.link);
    wrong = wrong || grade_expect(grade, !parcel.busy && queued == 0,
                                  "all was read: expected nothing queued, found %zu bytes", queued);
    free(payload);
    pair_close(&pair);
    return wrong;
}

int link_broken(struct grade *grade)
{
    struct wire_pair pair;
    struct parcel parcel = {0};
    static const uint8_t payload[1000];
    struct wire_frame what = {.kind = WIRE_DATA,
                              .call = {.type = COMM_U8, .count = sizeof payload},
                              .length_bytes = sizeof payload};
    signal(SIGPIPE, SIG_IGN);
    int wrong = pair_open(grade, &pair, nothing);
    close(pair.other);
    if (!wrong)
        link_send(&pair.link, &parcel, &what, payload);
    for (int i = 0; i < 100 && parcel.busy; i++)
        turn(&pair);
    wrong = wrong || grade_expect(grade, !parcel.busy && parcel.error < 0,
                                  "the peer is gone: expected an error of the parcel, found %d%s",
                                  parcel.error, parcel.busy ? ", and it is busy" : "");
    free(pair.bytes);
    return wrong;
}

/* The check "whole" once more, in a process whose calls to sockets a library cuts short (tests/shim). Where that
 * was not built, as under a sanitizer, it runs as it is. */
int link_shim(struct grade *grade)
{
    char command[512];
    struct program program;
    size_t seed = grade_draw(grade, 1, 1000000);
    snprintf(command, sizeof command,
             "build=${LAUNCH%%/*}; shim=$build/short_io.so; [ -r \"$shim\" ] || shim=; "
             "exec env RANK=0 SHORT_IO_SEED=%zu SHORT_IO_ONE_IN=2 LD_PRELOAD=\"$shim\" "
             "\"$build/grade\" 02 --task 02.3/whole --seed %zu",
             seed, seed);
    program_run(&program, "/", command);
    bool passed = program.code == 0 && strstr(program.out, "   6 /   6");
    const char *why = strstr(program.out, "expected");
    int wrong = grade_expect(grade, passed, "under LD_PRELOAD=short_io.so: %.*s",
                             why ? (int)strcspn(why, "\n") : 0, why ? why : "");
    program_close(&program);
    return wrong;
}
