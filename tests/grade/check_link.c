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

static int pair_open(struct grade *grade, struct wire_pair *pair, int type,
                     void (*on_bytes)(struct link *link))
{
    int ends[2], small = SMALL_BUFFER;
    *pair = (struct wire_pair){.room = (size_t)FRAMES * (PAYLOAD_MOST + WIRE_FRAME_BYTES)};
    pair->bytes = malloc(pair->room);
    if (!pair->bytes || socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends) != 0)
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
    int wrong = pair_open(grade, &pair, SOCK_STREAM, nothing);
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

/* A short frame into an empty socket, in a parcel that an earlier message left behind. The loop does not turn. */
static int send_at_once(struct grade *grade, struct wire_pair *pair)
{
    static const uint8_t payload[100];
    struct parcel parcel = {.error = UV_ECANCELED};
    struct wire_frame what = {.kind = WIRE_DATA,
                              .call = {.type = COMM_U8, .count = sizeof payload},
                              .length_bytes = sizeof payload};
    link_send(&pair->link, &parcel, &what, payload);
    size_t queued = link_queued_bytes(&pair->link), whole = sizeof payload + WIRE_FRAME_BYTES;
    drain(pair, pair->room);
    size_t came = pair->count;
    pair->count = 0;
    return grade_expect(grade, came == whole,
                        "a short frame: expected %zu bytes at once, found %zu", whole, came) ||
           grade_expect(grade, !parcel.busy && queued == 0,
                        "a short frame, which the socket took whole: expected a parcel that is not "
                        "busy and nothing queued, found %s and %zu bytes",
                        parcel.busy ? "a busy one" : "one that is not", queued) ||
           grade_expect(grade, parcel.error == 0,
                        "a parcel used again, and sent: expected error 0, found %d of the message "
                        "before",
                        parcel.error);
}

/* Where each write is a message of its own: header and payload come in one. */
static int send_in_one(struct grade *grade)
{
    static const uint8_t payload[100];
    struct wire_pair pair;
    struct parcel parcel = {0};
    struct wire_frame what = {.kind = WIRE_DATA,
                              .call = {.type = COMM_U8, .count = sizeof payload},
                              .length_bytes = sizeof payload};
    int wrong = pair_open(grade, &pair, SOCK_DGRAM, nothing);
    if (!wrong) {
        link_send(&pair.link, &parcel, &what, payload);
        drain(&pair, pair.room);
    }
    wrong =
        wrong || grade_expect(grade, pair.count == sizeof payload + WIRE_FRAME_BYTES,
                              "a short frame: expected one write of %zu bytes, found a first of "
                              "%zu",
                              sizeof payload + WIRE_FRAME_BYTES, pair.count);
    pair_close(&pair);
    return wrong;
}

/* A slowed link writes three buffers: a stamp, the header, the payload. */
static int slowed_body(struct ranks_self *self)
{
    enum { COUNT = 3 << 18 };
    struct comm_call call = {COMM_ALL_GATHER, ALGORITHM_RING, COMM_U8, COMM_SUM, COUNT};
    uint8_t *sent = malloc(COUNT), *received = calloc(COUNT, 1);
    int other = 1 - self->rank, wrong = !sent || !received;
    for (size_t i = 0; i < COUNT && !wrong; i++)
        sent[i] = (uint8_t)(i % 251);
    struct comm_step step = {.to = other,
                             .from = other,
                             .send = sent,
                             .send_count = COUNT,
                             .receive = received,
                             .receive_count = COUNT,
                             .how = COMM_STORE};
    int error = wrong ? 0 : comm_begin(self->comm, &call);
    if (!error && !wrong)
        error = comm_exchange(self->comm, &step);
    wrong =
        wrong || ranks_expect(self, error == 0 && memcmp(sent, received, COUNT) == 0,
                              "%d bytes over a slowed link, which writes three buffers: expected "
                              "them as they were sent, found %s",
                              COUNT, error ? comm_fail(self->comm)->text : "others");
    if (!error)
        comm_end(self->comm);
    free(sent);
    free(received);
    return wrong;
}

static int send_slowed(struct grade *grade)
{
    struct ranks_plan plan = {.world = 2,
                              .body = slowed_body,
                              .unmet = true,
                              .timeout_seconds = GRADE_TIMEOUT_SECONDS,
                              .link = {.bytes_per_second = 1e9, .straggler = -1}};
    struct ranks_result result;
    ranks_run_plan(&plan, &result);
    return grade_result(grade, &result);
}

/* One long payload, and nobody reads until it was looked at. */
int link_queued(struct grade *grade)
{
    struct wire_pair pair;
    struct parcel parcel = {.error = UV_ECANCELED};
    size_t size = LARGE + grade_draw(grade, 1, 999);
    struct wire_frame what = {
        .kind = WIRE_DATA, .call = {.type = COMM_U8, .count = size}, .length_bytes = size};
    uint8_t *payload = calloc(size, 1);
    int wrong =
        pair_open(grade, &pair, SOCK_STREAM, nothing) || !payload || send_at_once(grade, &pair);
    if (!wrong)
        link_send(&pair.link, &parcel, &what, payload);
    bool busy = parcel.busy;
    size_t queued = link_queued_bytes(&pair.link);
    while (!wrong && drain(&pair, pair.room) > 0)
        ; // what the system has taken so far; the loop does not turn
    size_t left = size + WIRE_FRAME_BYTES - pair.count;
    wrong = wrong ||
            grade_expect(grade, busy && queued == left,
                         "the socket took %zu of %zu bytes: expected a busy parcel and "
                         "%zu bytes queued, found %s and %zu",
                         pair.count, size + WIRE_FRAME_BYTES, left,
                         busy ? "a busy one" : "one that is not", queued) ||
            grade_expect(grade, parcel.error == 0,
                         "the rest is on its way: expected error 0, found %d", parcel.error);
    for (int idle = 0; !wrong && parcel.busy && idle < 1000; idle++, turn(&pair))
        if (drain(&pair, pair.room) > 0)
            idle = 0;
    queued = link_queued_bytes(&pair.link);
    wrong = wrong || grade_expect(grade, !parcel.busy && queued == 0,
                                  "all was read: expected nothing queued, found %zu bytes", queued);
    free(payload);
    pair_close(&pair);
    return wrong || send_in_one(grade) || send_slowed(grade);
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
    int wrong = pair_open(grade, &pair, SOCK_STREAM, nothing);
    close(pair.other);
    if (!wrong)
        link_send(&pair.link, &parcel, &what, payload);
    for (int i = 0; i < 100 && parcel.busy; i++)
        turn(&pair);
    wrong = wrong ||
            grade_expect(grade, !parcel.busy && parcel.error < 0,
                         "the peer is gone: expected an error of the parcel, found %d%s",
                         parcel.error, parcel.busy ? ", and it is busy" : "") ||
            grade_expect(grade, parcel.error == UV_EPIPE || parcel.error == UV_ECONNRESET,
                         "the peer is gone: expected the system's own error, %d, found %d",
                         UV_EPIPE, parcel.error);
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
