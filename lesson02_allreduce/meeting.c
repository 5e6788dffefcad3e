/* meeting: turns, time and progress lines of a rendezvous. See the header. */
#include "lesson02_allreduce/meeting.h"

#include "common/clock.h"

#include <string.h>

enum { TICK_MILLISECONDS = 50 };
static const double PROGRESS_SECONDS = 5;

struct wire_hello meeting_hello(const struct meeting *meeting, enum wire_purpose purpose)
{
    struct wire_hello hello = {.purpose = purpose,
                               .rank = (uint32_t)meeting->environment->rank,
                               .world = (uint32_t)meeting->environment->world,
                               .fingerprint = meeting->config->fingerprint,
                               .port = door_port(&meeting->side)};
    memcpy(hello.token, meeting->environment->token, sizeof hello.token);
    return hello;
}

int meeting_open_side(struct meeting *meeting, const struct sockaddr_storage *here)
{
    struct sockaddr_storage address = *here;
    address_set_port(&address, 0);
    if (meeting->config->transport == COMM_UNIX)
        address = address_unix();
    return door_listen(&meeting->side, (const struct sockaddr *)&address);
}

double meeting_now(void)
{
    return clock_seconds();
}

static void on_tick(uv_timer_t *timer)
{
    (void)timer; // the loop is awake: that was all
}

void meeting_start_clock(struct meeting *meeting)
{
    meeting->begun = meeting_now();
    meeting->deadline = meeting->begun + meeting->config->timeout_seconds;
    meeting->progress_at = meeting->begun + PROGRESS_SECONDS;
    uv_timer_init(&meeting->loop, &meeting->tick);
    uv_timer_start(&meeting->tick, on_tick, TICK_MILLISECONDS, TICK_MILLISECONDS);
}

void meeting_turn(struct meeting *meeting)
{
    uv_run(&meeting->loop, UV_RUN_ONCE);
}

void meeting_report(struct meeting *meeting, const char *whom)
{
    const struct environment *environment = meeting->environment;
    double now = meeting_now(), latest = meeting->begun + meeting->config->timeout_seconds;
    if (now < meeting->progress_at || now > latest || !meeting->config->log)
        return;
    meeting->progress_at = now + PROGRESS_SECONDS;
    fprintf(meeting->config->log, "rank %d of %d waits at %s:%d for %s, %.0f s of %g s\n",
            environment->rank, environment->world, environment->master_address,
            environment->master_port, whom, now - meeting->begun, meeting->config->timeout_seconds);
    fflush(meeting->config->log);
}
