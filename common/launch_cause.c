/* launch_cause: the rule, and the two lines that say what it found. See the header. */
#include "common/launch_cause.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

enum { END_TEXT_BYTES = 96, NAMED_MOST = 8 };

bool launch_end_poll(struct launch_end *end, pid_t pid, bool by_itself)
{
    int status;
    while (waitpid(pid, &status, WNOHANG | WUNTRACED | WCONTINUED) == pid) {
        end->ended = WIFEXITED(status) || WIFSIGNALED(status);
        if (end->ended) {
            end->status = status;
            return true;
        }
        if (by_itself)
            end->halted = WIFSTOPPED(status) ? WSTOPSIG(status) : 0;
    }
    return false;
}

static bool failed(const struct launch_end *end)
{
    return end->ended && !end->stopped && end->status != 0;
}

static bool comes_before(const struct launch_end *end, const struct launch_end *other)
{
    if (WIFSIGNALED(end->status) != WIFSIGNALED(other->status))
        return WIFSIGNALED(end->status);
    return end->order < other->order;
}

size_t launch_cause_find(const struct launch_end *ends, size_t count)
{
    size_t cause = count;
    for (size_t i = 0; i < count; i++)
        if (failed(&ends[i]) && (cause == count || comes_before(&ends[i], &ends[cause])))
            cause = i;
    return cause;
}

int launch_cause_code(const struct launch_end *end)
{
    return WIFSIGNALED(end->status) ? 128 + WTERMSIG(end->status) : WEXITSTATUS(end->status);
}

static void end_tell(const struct launch_end *end, char text[END_TEXT_BYTES])
{
    if (WIFSIGNALED(end->status) && end->stopped)
        snprintf(text, END_TEXT_BYTES, "rank %d was stopped", end->rank);
    else if (WIFSIGNALED(end->status))
        snprintf(text, END_TEXT_BYTES, "rank %d was killed by signal %d (%s)", end->rank,
                 WTERMSIG(end->status), strsignal(WTERMSIG(end->status)));
    else
        snprintf(text, END_TEXT_BYTES, "rank %d exited with code %d", end->rank,
                 WEXITSTATUS(end->status));
}

/* The rank that returned 0 first, before the cause returned 1; or count. */
static size_t leaver_find(const struct launch_end *ends, size_t count,
                          const struct launch_end *cause)
{
    size_t leaver = count;
    for (size_t i = 0; i < count && launch_cause_code(cause) == 1; i++)
        if (ends[i].ended && ends[i].status == 0 && ends[i].order < cause->order &&
            (leaver == count || ends[i].order < ends[leaver].order))
            leaver = i;
    return leaver;
}

/* A rank that a signal held while others gave up; or count. */
static size_t halted_find(const struct launch_end *ends, size_t count,
                          const struct launch_end *cause)
{
    for (size_t i = 0; i < count && launch_cause_code(cause) == 1; i++)
        if (ends[i].halted != 0)
            return i;
    return count;
}

static void append(char text[LAUNCH_CAUSE_TEXT_BYTES], const char *more)
{
    size_t used = strlen(text);
    snprintf(text + used, LAUNCH_CAUSE_TEXT_BYTES - used, "%s", more);
}

static void consequences_tell(const struct launch_end *ends, size_t count, size_t cause,
                              char text[LAUNCH_CAUSE_TEXT_BYTES])
{
    char one[END_TEXT_BYTES];
    size_t named = 0, more = 0;
    for (size_t i = 0; i < count; i++) {
        if (i == cause || !ends[i].ended || ends[i].status == 0)
            continue;
        if (named == NAMED_MOST) {
            more++;
            continue;
        }
        end_tell(&ends[i], one);
        append(text, named == 0 ? "launch: in consequence " : ", ");
        append(text, one);
        named++;
    }
    snprintf(one, sizeof one, ", and so on for %zu more", more);
    append(text, more > 0 ? one : "");
    append(text, named > 0 ? "\n" : "");
}

void launch_cause_tell(const struct launch_end *ends, size_t count, size_t cause,
                       char text[LAUNCH_CAUSE_TEXT_BYTES])
{
    char one[END_TEXT_BYTES];
    size_t leaver = leaver_find(ends, count, &ends[cause]);
    end_tell(&ends[cause], one);
    snprintf(text, LAUNCH_CAUSE_TEXT_BYTES, "launch: first cause: %s", one);
    if (leaver < count) {
        snprintf(one, sizeof one, "; rank %d had left before with code 0, maybe too early",
                 ends[leaver].rank);
        append(text, one);
    }
    size_t halted = halted_find(ends, count, &ends[cause]);
    if (halted < count) {
        snprintf(one, sizeof one, "; rank %d was held by signal %d (%s), maybe waited for",
                 ends[halted].rank, ends[halted].halted, strsignal(ends[halted].halted));
        append(text, one);
    }
    append(text, "\n");
    consequences_tell(ends, count, cause, text);
}
