/* slow: records, packets, and when they are due. See the header. */
#include "lesson02_allreduce/slow.h"

#include "common/clock.h"
#include "common/rng.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

/* What a port takes this long for is seen in one piece. */
static const double PACKET_SECONDS = 0.0005;
enum { PACKET_LEAST_BYTES = 64, PACKET_MOST_BYTES = 64 * 1024 };

/* Kept beyond what is under way, so that the next packet is at hand when the port is free. */
enum { SPARE_BYTES = 256 * 1024 };

/* What has come from one peer and is not due yet. */
struct slow_line {
    struct slow *port;
    struct link *link;
    double rate; // of the sender's port
    struct rng jitter;

    uint8_t *queue;
    size_t capacity_bytes, begin, end;
    int error;    // no more comes, and why; 0: more may
    bool hastens; // everything is due

    double leaves; // the record at the head of the queue, from the sender's port
    size_t record_bytes, record_taken; // of it
    size_t packet_bytes;               // the next of it; 0: it has not been looked at
    double arrives;                    // at this rank's port
    uint64_t packets;                  // looked at so far
};

struct slow {
    struct linkspec spec;
    double rate;              // of this rank's port
    double out_free, in_free; // when it is through with all it was given
    size_t packet_bytes;      // at most
    int world;
    struct memory *memory;
    struct slow_line lines[]; // (world): this rank's own is not used
};

static double rate_of(const struct linkspec *spec, int rank)
{
    return spec->bytes_per_second / (rank == spec->straggler ? LINKSPEC_STRAGGLER_SHARE : 1);
}

static size_t packet_for(double rate)
{
    return (size_t)fmin(fmax(rate * PACKET_SECONDS, PACKET_LEAST_BYTES), PACKET_MOST_BYTES);
}

static size_t port_bytes(int world)
{
    return sizeof(struct slow) + (size_t)world * sizeof(struct slow_line);
}

/* Half may lie behind `begin`. */
static size_t queue_bytes(const struct linkspec *spec, int peer)
{
    double under_way = rate_of(spec, peer) * (spec->latency_seconds + spec->jitter_seconds);
    return 2 * ((size_t)under_way + SPARE_BYTES);
}

size_t slow_memory_bytes(const struct linkspec *spec, int rank, int world)
{
    if (spec->bytes_per_second == 0)
        return 0;
    size_t bytes = port_bytes(world);
    for (int peer = 0; peer < world; peer++)
        bytes += peer == rank ? 0 : queue_bytes(spec, peer);
    return bytes;
}

struct slow *slow_open(const struct linkspec *spec, int rank, int world, uint64_t seed,
                       struct memory *memory)
{
    struct slow *slow = memory_take(memory, MEMORY_BUFFERS, port_bytes(world));
    if (!slow)
        return NULL;
    memset(slow, 0, port_bytes(world));
    slow->memory = memory;
    slow->spec = *spec;
    slow->rate = rate_of(spec, rank);
    slow->packet_bytes = packet_for(spec->bytes_per_second);
    slow->world = world;
    for (int peer = 0; peer < world; peer++)
        slow->lines[peer] = (struct slow_line){
            .port = slow,
            .rate = rate_of(spec, peer),
            .jitter = {.seed = seed, .stream = RNG_LINK, .sub = (uint32_t)(peer * world + rank)},
        };
    return slow;
}

void slow_close(struct slow *slow)
{
    if (!slow)
        return;
    for (int peer = 0; peer < slow->world; peer++)
        memory_give_back(slow->memory, MEMORY_BUFFERS, slow->lines[peer].queue,
                         slow->lines[peer].capacity_bytes);
    memory_give_back(slow->memory, MEMORY_BUFFERS, slow, port_bytes(slow->world));
}

int slow_link(struct slow *slow, int peer, struct link *link)
{
    struct slow_line *line = &slow->lines[peer];
    line->link = link;
    line->capacity_bytes = queue_bytes(&slow->spec, peer);
    line->queue = memory_take(slow->memory, MEMORY_BUFFERS, line->capacity_bytes);
    link->line = line;
    return line->queue ? 0 : -ENOMEM;
}

/* Rounded up, so that nothing leaves early. */
void slow_stamp(struct slow_line *line, uint8_t stamp[LINK_STAMP_BYTES], size_t bytes)
{
    struct slow *port = line->port;
    double leaves = fmax(clock_seconds(), port->out_free);
    uint64_t fields[2] = {(uint64_t)ceil(1e9 * leaves), bytes};
    port->out_free = leaves + (double)bytes / port->rate;
    memcpy(stamp, fields, sizeof fields); // the peer is on this machine: no byte order to agree on
}

uint8_t *slow_room(struct slow_line *line, size_t *bytes)
{
    if (line->begin == line->end) {
        line->begin = line->end = 0;
    } else if (line->begin > line->capacity_bytes / 2) {
        memmove(line->queue, line->queue + line->begin, line->end - line->begin);
        line->end -= line->begin;
        line->begin = 0;
    }
    *bytes = line->capacity_bytes - line->end;
    return line->queue + line->end;
}

void slow_read(struct slow_line *line, ssize_t result)
{
    if (result < 0)
        line->error = (int)result;
    else
        line->end += (size_t)result;
}

void slow_hasten(struct slow_line *line)
{
    line->hastens = true;
}

/* The stamp at the head of the queue, if all of it has come. */
static void look_at_record(struct slow_line *line)
{
    uint64_t fields[2];
    if (line->end - line->begin < sizeof fields)
        return;
    memcpy(fields, line->queue + line->begin, sizeof fields);
    line->begin += sizeof fields;
    line->leaves = 1e-9 * (double)fields[0];
    line->record_bytes = fields[1];
    line->record_taken = 0;
}

/* Packets of one link keep their order, whatever the jitter says. */
static void look_at_packet(struct slow_line *line)
{
    const struct linkspec *spec = &line->port->spec;
    size_t left = line->record_bytes - line->record_taken;
    if (left == 0)
        return;
    line->packet_bytes = left < line->port->packet_bytes ? left : line->port->packet_bytes;
    double late = 2 * (double)rng_uniform(&line->jitter, line->packets++) - 1;
    double through = (double)(line->record_taken + line->packet_bytes) / line->rate;
    double arrives = line->leaves + through + spec->latency_seconds + late * spec->jitter_seconds;
    line->arrives = fmax(line->arrives, arrives);
}

/* Is the next packet all there, and room for it behind the port? */
static bool has_packet(struct slow_line *line)
{
    if (line->record_taken == line->record_bytes)
        look_at_record(line);
    if (line->packet_bytes == 0)
        look_at_packet(line);
    return line->packet_bytes > 0 && line->end - line->begin >= line->packet_bytes &&
           link_room(line->link) >= line->packet_bytes;
}

/* What is hastened is not kept waiting by what others will send. */
static double turn_of(const struct slow_line *line)
{
    return line->hastens ? 0 : line->arrives;
}

/* Where the packet is that came first; NULL: there is none. */
static struct slow_line *first_packet(struct slow *slow)
{
    struct slow_line *first = NULL;
    for (int peer = 0; peer < slow->world; peer++) {
        struct slow_line *line = &slow->lines[peer];
        if (line->queue && has_packet(line) && (!first || turn_of(line) < turn_of(first)))
            first = line;
    }
    return first;
}

static void show_packet(struct slow_line *line)
{
    const uint8_t *packet = line->queue + line->begin;
    size_t bytes = line->packet_bytes;
    line->begin += bytes;
    line->record_taken += bytes;
    line->packet_bytes = 0;
    link_show(line->link, packet, bytes);
}

/* A line on which nothing more comes, and that holds no whole packet, ends its link. */
static void show_ends(struct slow *slow)
{
    for (int peer = 0; peer < slow->world; peer++) {
        struct slow_line *line = &slow->lines[peer];
        bool is_whole = line->packet_bytes > 0 && line->end - line->begin >= line->packet_bytes;
        if (line->error && !line->link->error && !is_whole)
            link_show_end(line->link, line->error);
    }
}

/* When this port is through with it: it begins when the packet's first byte comes or the one before is
 * through, and ends no sooner than the last byte comes, which a slower sender sends later. */
static double passes(const struct slow *slow, const struct slow_line *line)
{
    double bytes = (double)line->packet_bytes;
    double begins = fmax(line->arrives - bytes / line->rate, slow->in_free);
    return fmax(line->arrives, begins + bytes / slow->rate);
}

double slow_show(struct slow *slow)
{
    double due = INFINITY;
    for (struct slow_line *line; (line = first_packet(slow));) {
        due = passes(slow, line);
        if (!line->hastens && due > clock_seconds())
            break;
        slow->in_free = line->hastens ? slow->in_free : due;
        due = INFINITY;
        show_packet(line);
    }
    show_ends(slow);
    return due;
}
