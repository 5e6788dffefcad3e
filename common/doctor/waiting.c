/*
 * waiting: who waits for whom, of a run that has not ended.
 *
 * DIR/rank-R.now says what a rank waits for, and says it still when the rank has been killed. Whoever is awaited and does
 * not wait itself holds the others up: it was killed, it is stopped, or it is somewhere else.
 */
#include "common/clock.h"
#include "common/doctor/doctor.h"
#include "common/doctor/page.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NOW_BYTES = 256, AWAITED_MOST = 8, WHO_BYTES = 64, STATE_BYTES = 96 };
static const double LONG_SECONDS = 2; // a wait of a run in which all goes on is shorter

enum life { LIFE_ENDED, LIFE_GONE, LIFE_STOPPED, LIFE_RUNS };

struct waiter {
    enum life life;
    bool waits;
    char call[NOW_BYTES]; // what for: "all-reduce ..."
    size_t awaited[AWAITED_MOST], awaited_count;
    double clock;
};

/* --- what is known of a rank --------------------------------------------------------------------- */

/* A pid that has come to be another program's is gone. */
static enum life life_of(size_t pid)
{
    char path[64], text[512] = "";
    snprintf(path, sizeof path, "/proc/%zu/stat", pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return LIFE_GONE;
    size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[length] = '\0';
    const char *name = strchr(text, '('), *end = strrchr(text, ')');
    if (!name || !end || end[1] != ' ' || strncmp(name, "(lesson0", 8) != 0)
        return LIFE_GONE;
    if (end[2] == 'T' || end[2] == 't')
        return LIFE_STOPPED;
    return end[2] == 'Z' || end[2] == 'X' ? LIFE_GONE : LIFE_RUNS;
}

static void take_awaited(struct waiter *waiter, const json_t *list, size_t world)
{
    for (size_t i = 0; i < json_array_size(list) && waiter->awaited_count < AWAITED_MOST; i++) {
        json_int_t rank = json_integer_value(json_array_get(list, i));
        if (rank >= 0 && (size_t)rank < world)
            waiter->awaited[waiter->awaited_count++] = (size_t)rank;
    }
}

static void take_call(struct waiter *waiter, const char *text)
{
    size_t length = text ? strlen(text) : 0;
    for (size_t i = 0; i < length && i < sizeof waiter->call - 1; i++)
        waiter->call[i] = text[i] >= ' ' && text[i] < 127 ? text[i] : '?';
}

/* A file that is not there, or blank: it waits for nothing. */
static void read_now(struct waiter *waiter, const struct casebook *book, size_t rank)
{
    char path[CASEBOOK_PATH_BYTES], text[NOW_BYTES + 1] = "";
    int length = snprintf(path, sizeof path, "%s/rank-%zu.now", book->folder, rank);
    struct fail missing = {0};
    FILE *file = length < CASEBOOK_PATH_BYTES ? page_open(path, &missing) : NULL;
    size_t bytes = file ? fread(text, 1, NOW_BYTES, file) : 0;
    if (file)
        fclose(file);
    json_t *now = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, NULL);
    waiter->waits = json_is_object(now);
    waiter->clock = json_number_value(json_object_get(now, "clock"));
    take_call(waiter, json_string_value(json_object_get(now, "text")));
    take_awaited(waiter, json_object_get(now, "awaits"), book->world);
    json_decref(now);
}

static struct waiter waiter_of(const struct casebook *book, size_t rank)
{
    const struct case_rank *page = &book->ranks[rank];
    struct waiter waiter = {.life = LIFE_ENDED};
    if (!page->ended)
        waiter.life = life_of(page->starts[page->start_count - 1].pid);
    if (!page->ended || page->exit_code != 0)
        read_now(&waiter, book, rank);
    return waiter;
}

/* --- words --------------------------------------------------------------------------------------- */

static void say_whom(const struct waiter *waiter, char text[WHO_BYTES])
{
    size_t length = 0;
    snprintf(text, WHO_BYTES, "others");
    for (size_t i = 0; i < waiter->awaited_count && length < WHO_BYTES; i++)
        length += (size_t)snprintf(text + length, WHO_BYTES - length, "%s%zu",
                                   i > 0                       ? " and "
                                   : waiter->awaited_count > 1 ? "ranks "
                                                               : "rank ",
                                   waiter->awaited[i]);
}

static void say_state(const struct casebook *book, size_t rank, const struct waiter *waiter,
                      char text[STATE_BYTES])
{
    const struct case_rank *page = &book->ranks[rank];
    size_t next = page->step_count > 0 ? page->steps[page->step_count - 1].step + 1
                                       : page->starts[page->start_count - 1].first;
    static const char *const lives[] = {"", "is gone, without an end", "is stopped by a signal",
                                        "runs"};
    if (page->ended)
        snprintf(text, STATE_BYTES, "ended with exit code %zu in step %zu", page->exit_code, next);
    else
        snprintf(text, STATE_BYTES, "%s, in step %zu", lives[waiter->life], next);
}

/* One rank, in a line. */
static void say_rank(const struct casebook *book, size_t rank, char text[DIAGNOSIS_TEXT_BYTES])
{
    char whom[WHO_BYTES], state[STATE_BYTES];
    struct waiter waiter = waiter_of(book, rank);
    bool lives = waiter.life == LIFE_RUNS || waiter.life == LIFE_STOPPED;
    say_whom(&waiter, whom);
    say_state(book, rank, &waiter, state);
    snprintf(text, DIAGNOSIS_TEXT_BYTES, "rank %zu %s; it %s for %s%s%.120s", rank, state,
             lives ? "waits" : "waited", waiter.waits ? whom : "nobody", waiter.waits ? " in " : "",
             waiter.call);
}

/* --- what it means ------------------------------------------------------------------------------------- */

struct tally {
    size_t unfinished, gone, stopped, waiting, failed, culprit;
    double waited; // the shortest wait of those that wait and live
};

/* Who is stopped; else who was killed, as a rule while it waited like all others: of several the first; else who runs and
 * waits for nobody. */
static size_t find_culprit(const struct casebook *book, const struct tally *tally)
{
    enum life sought = tally->stopped > 0 ? LIFE_STOPPED : tally->gone > 0 ? LIFE_GONE : LIFE_RUNS;
    size_t culprit = NOWHERE;
    double earliest = INFINITY; // 0 where nothing is waited for
    for (size_t rank = 0; rank < book->world; rank++) {
        struct waiter waiter = waiter_of(book, rank);
        bool at_fault = waiter.life == sought && (sought != LIFE_RUNS || !waiter.waits);
        if (!at_fault || !(waiter.clock < earliest))
            continue;
        culprit = rank;
        earliest = waiter.clock;
    }
    return culprit;
}

/* Do all that wait do so in one call? */
static bool share_a_call(const struct casebook *book)
{
    struct waiter first = {0};
    for (size_t rank = 0; rank < book->world; rank++) {
        struct waiter waiter = waiter_of(book, rank);
        if (!waiter.waits)
            continue;
        if (first.waits && strcmp(waiter.call, first.call) != 0)
            return false;
        first = waiter;
    }
    return true;
}

static struct tally count_ranks(const struct casebook *book)
{
    struct tally tally = {.culprit = NOWHERE, .waited = INFINITY};
    double now = clock_seconds();
    for (size_t rank = 0; rank < book->world; rank++) {
        struct waiter waiter = waiter_of(book, rank);
        tally.unfinished += !book->ranks[rank].ended;
        tally.failed += book->ranks[rank].ended && book->ranks[rank].exit_code != 0;
        tally.gone += waiter.life == LIFE_GONE;
        tally.stopped += waiter.life == LIFE_STOPPED;
        tally.waiting += waiter.waits;
        if (waiter.waits && waiter.life == LIFE_RUNS)
            tally.waited = fmin(tally.waited, now - waiter.clock);
    }
    tally.culprit = find_culprit(book, &tally);
    return tally;
}

/* Does somebody hold up others that still wait, or waited until they gave up? Where all are gone it cannot be told from a
 * run that was ended in the midst of its work. */
static bool is_held_up(const struct casebook *book, const struct tally *tally)
{
    if (tally->stopped > 0 || (tally->gone > 0 && tally->gone < book->world))
        return true;
    return tally->gone == 0 && tally->waiting > 0 && tally->waited > LONG_SECONDS;
}

/* Those first that hold up, then those that wait. */
static void tell_ranks(const struct casebook *book, struct finding *finding, size_t culprit)
{
    char text[DIAGNOSIS_TEXT_BYTES];
    for (size_t rank = 0; rank < book->world; rank++) {
        if (rank == culprit)
            continue;
        say_rank(book, rank, text);
        finding_evidence(finding, "%s", text);
    }
}

static void explain_hang(struct doctor *doctor, const struct tally *tally)
{
    char text[DIAGNOSIS_TEXT_BYTES];
    snprintf(text, sizeof text, "all ranks wait for each other: %s",
             share_a_call(doctor->book) ? "in one call, so what they send does not arrive"
                                        : "their calls differ");
    struct finding *finding =
        diagnosis_other(doctor->diagnosis, "hang", "ranks wait for one that does not come",
                        "look at what that rank does or how it ended: its output, the system's log "
                        "(out of memory), a "
                        "debugger; end the job, and start it again with --resume");
    if (tally->culprit != NOWHERE)
        say_rank(doctor->book, tally->culprit, text);
    tell_ranks(doctor->book, finding, tally->culprit);
    finding_deciding(finding, "%s", text);
    finding->confidence = tally->stopped > 0 || tally->gone > 0 ? CERTAIN : STRONG;
}

static void note_unfinished(struct doctor *doctor, const struct tally *tally)
{
    char text[DIAGNOSIS_TEXT_BYTES];
    diagnosis_note(
        doctor->diagnosis, "no end",
        "%zu of %zu ranks have not ended by themselves%s: what is whole of the record was read",
        tally->unfinished, doctor->book->world,
        tally->gone > 0 ? "; the run was ended from outside" : "; the run goes on");
    for (size_t rank = 0; rank < doctor->book->world && tally->gone > 0 && tally->waiting > 0;
         rank++) {
        say_rank(doctor->book, rank, text);
        diagnosis_note(doctor->diagnosis, "", "%s", text);
    }
}

void waiting_explain(struct doctor *doctor)
{
    struct tally tally = count_ranks(doctor->book);
    if (tally.unfinished > 0 && is_held_up(doctor->book, &tally))
        explain_hang(doctor, &tally);
    else if (tally.unfinished > 0)
        note_unfinished(doctor, &tally);
    else if (tally.failed > 0)
        diagnosis_note(doctor->diagnosis, "failed",
                       "the run ended with exit code %zu: its last line says why",
                       doctor->book->ranks[0].exit_code);
}
