/* host: rank 0's register of who has come. See the header. */
#include "lesson02_allreduce/host.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int host_init(struct host *host, struct door *door, const struct environment *environment,
              uint64_t fingerprint)
{
    size_t world = (size_t)environment->world;
    host->door = door;
    host->environment = environment;
    host->fingerprint = fingerprint;
    host->seated = 1;
    host->twice = -1;
    host->seats = calloc(world, sizeof(struct guest *));
    host->answer = malloc(WIRE_REPLY_BYTES + WIRE_TEXT_MOST + world * WIRE_ADDRESS_BYTES);
    return host->seats && host->answer ? 0 : -ENOMEM;
}

void host_release(struct host *host)
{
    free(host->seats);
    free(host->answer);
    host->seats = NULL;
    host->answer = NULL;
}

/* Why a rank of this very job cannot be part of it: the job is set up wrong. */
static int check_member(const struct host *host, const struct wire_hello *hello, struct fail *fail)
{
    unsigned world = (unsigned)host->environment->world;
    if (hello->world != world)
        return fail_set(fail, -EINVAL, "rank %u was started for %u ranks, rank 0 for %u",
                        hello->rank, hello->world, world);
    if (hello->fingerprint != host->fingerprint)
        return fail_set(fail, -EINVAL,
                        "rank %u was started with other options or data than rank 0 (fingerprint "
                        "%016llx, not %016llx): every rank needs the same command line",
                        hello->rank, (unsigned long long)hello->fingerprint,
                        (unsigned long long)host->fingerprint);
    return 0;
}

int host_admit(struct host *host, struct guest *guest, struct fail *fail)
{
    const struct wire_hello *hello = &guest->hello;
    if (memcmp(hello->token, host->environment->token, sizeof hello->token) != 0) {
        door_dismiss(guest, "it belongs to another job");
        return 0;
    }
    door_seat(guest); // also those that are about to be refused: they are told why
    int error = check_member(host, hello, fail);
    if (error)
        return error;
    if (hello->rank == 0 || host->seats[hello->rank]) {
        host->twice = (int)hello->rank;
        host->standing++;
    } else {
        host->seats[hello->rank] = guest;
        host->seated++;
    }
    return host_check_twice(host, fail);
}

/* The seat is free: one of the same number, who stood because of it, sits down. */
static void seat_stander(struct host *host, uint32_t rank)
{
    for (size_t i = 0; i < host->door->guest_count && !host->seats[rank]; i++) {
        struct guest *guest = &host->door->guests[i];
        if (guest->state != GUEST_SEATED || guest->gone || guest->hello.rank != rank)
            continue;
        host->seats[rank] = guest;
        host->seated++;
        host->standing--;
    }
}

void host_sweep(struct host *host)
{
    for (size_t i = 0; i < host->door->guest_count; i++) {
        struct guest *guest = &host->door->guests[i];
        if (guest->state != GUEST_SEATED || !guest->gone)
            continue;
        bool sat = host->seats[guest->hello.rank] == guest;
        door_dismiss(guest, "it had joined, and left again");
        if (!sat) {
            host->standing--;
            continue;
        }
        host->seats[guest->hello.rank] = NULL;
        host->seated--;
        seat_stander(host, guest->hello.rank);
    }
}

int host_check_twice(const struct host *host, struct fail *fail)
{
    char missing[HOST_RANKS_BYTES];
    if (host->standing == 0 || host->seated + host->standing < host->environment->world)
        return 0;
    host_missing(host, missing);
    return fail_set(fail, -EINVAL,
                    "rank %d twice, %s missing: every process needs a RANK of its own, 0 to %d",
                    host->twice, missing, host->environment->world - 1);
}

void host_missing(const struct host *host, char text[HOST_RANKS_BYTES])
{
    int world = host->environment->world, missing = world - host->seated, listed = 0;
    size_t used = (size_t)snprintf(text, HOST_RANKS_BYTES, missing == 1 ? "rank" : "ranks");
    for (int rank = 1; rank < world && used < HOST_RANKS_BYTES - 32; rank++)
        if (!host->seats[rank])
            used += (size_t)snprintf(text + used, HOST_RANKS_BYTES - used, "%s %d",
                                     listed++ ? "," : "", rank);
    if (listed < missing)
        snprintf(text + used, HOST_RANKS_BYTES - used, " and %d more", missing - listed);
}

static void send_answer(struct host *host, const struct wire_reply *reply)
{
    wire_put_reply(host->answer, reply);
    for (size_t i = 0; i < host->door->guest_count; i++) {
        struct guest *guest = &host->door->guests[i];
        if (guest->state == GUEST_SEATED && !guest->gone)
            door_answer(guest, host->answer, WIRE_REPLY_BYTES + reply->length_bytes);
    }
}

struct wire_address host_address(const struct host *host, int rank)
{
    const struct guest *guest = host->seats[rank];
    struct wire_address address = {.family = WIRE_IP4, .port = host->link_port};
    if (rank > 0) {
        address = address_to_wire(&guest->from);
        address.port = guest->hello.port;
    }
    if (host->unix_links)
        address = (struct wire_address){.family = WIRE_UNIX, .port = address.port};
    return address;
}

void host_send_table(struct host *host)
{
    int world = host->environment->world;
    struct wire_reply reply = {WIRE_TABLE, (uint32_t)world * WIRE_ADDRESS_BYTES};
    for (int rank = 0; rank < world; rank++) {
        struct wire_address address = host_address(host, rank);
        wire_put_address(host->answer + WIRE_REPLY_BYTES + rank * WIRE_ADDRESS_BYTES, &address);
    }
    send_answer(host, &reply);
}

void host_send_refusal(struct host *host, const char *why)
{
    size_t length = strnlen(why, WIRE_TEXT_MOST);
    struct wire_reply reply = {WIRE_REFUSAL, (uint32_t)length};
    memcpy(host->answer + WIRE_REPLY_BYTES, why, length);
    send_answer(host, &reply);
}
