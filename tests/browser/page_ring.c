/*
 * page_ring: every step that the page shows is the one that steps.h says, and its text is --explain's.
 *
 * The page is clicked through, and what it shows of a step is read from it: messages, cells, bytes. The
 * same text is made here from steps_of().
 */
#include "lesson02_allreduce/explain.h"
#include "lesson02_allreduce/steps.h"
#include "tests/browser/page.h"
#include "tests/browser/page_suites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORLD_MOST = 16, TRANSFERS_MOST = 2 * WORLD_MOST * WORLD_MOST, SUM_BYTES = 256 };

/* All steps as the page shows them, each of them by a click. */
static const char walk[] =
    "(() => {"
    "  const texts = (selector, of) => [...document.querySelectorAll(selector)].map(of);"
    "  const row = tr => [...tr.cells].map(td => td.textContent).join('|');"
    "  const shown = () => ["
    "    ...texts('#messages tbody tr', row),"
    "    ...texts('#cells tbody tr', tr => [...tr.querySelectorAll('td')].map(td => "
    "td.title).join(' ')),"
    "    texts('#bytes data', data => data.value).join(' ')].join('\\n') + '\\n';"
    "  let all = shown();"
    "  for (const next = document.getElementById('next'); !next.disabled;) {"
    "    next.click();"
    "    all += shown();"
    "  }"
    "  return all; })()";

/* Whose parts, in the order in which they were added. */
struct parts {
    int ranks[WORLD_MOST], count;
};

struct play {
    const char *op;
    int world;
    size_t count;
    struct parts held[WORLD_MOST][WORLD_MOST]; // (rank, chunk)
    size_t sent_bytes[WORLD_MOST];
    FILE *out;
};

static int around(const struct play *play, int number)
{
    return (number % play->world + play->world) % play->world;
}

static bool is(const struct play *play, const char *op)
{
    return strcmp(play->op, op) == 0;
}

static void append(struct parts *to, const struct parts *more)
{
    for (int i = 0; i < more->count; i++)
        to->ranks[to->count++] = more->ranks[i];
}

/* Of an all-gather each rank's own chunk is the sum, begun by the next rank; the others are worthless. */
static void begin(struct play *play)
{
    for (int rank = 0; rank < play->world; rank++)
        for (int chunk = 0; chunk < play->world; chunk++) {
            struct parts *parts = &play->held[rank][chunk];
            bool gathers = is(play, "all-gather");
            parts->count = !gathers ? 1 : chunk == rank ? play->world : 0;
            for (int i = 0; i < parts->count; i++)
                parts->ranks[i] = around(play, gathers ? chunk + 1 + i : rank);
        }
}

static void print_set(const struct parts *parts, FILE *out)
{
    const char *before = "";
    bool in[WORLD_MOST] = {0};
    for (int i = 0; i < parts->count; i++)
        in[parts->ranks[i]] = true;
    fprintf(out, "{");
    for (int rank = 0; rank < WORLD_MOST; rank++)
        if (in[rank]) {
            fprintf(out, "%s%d", before, rank);
            before = ",";
        }
    fprintf(out, "}");
}

/* As --explain spells it. */
static void print_sum(const struct play *play, const struct parts *parts, FILE *out)
{
    if (play->world > 4 && parts->count > 2) {
        fprintf(out, "g%d..g%d", parts->ranks[0], parts->ranks[parts->count - 1]);
        return;
    }
    for (int i = 0; i < parts->count; i++)
        fprintf(out, "%sg%d", i ? "+" : "", parts->ranks[i]);
}

/* The chunk of a transfer; steps.h has the rule. -1: the whole vector. */
static int chunk_of(const struct play *play, const struct transfer *transfer)
{
    if (is(play, "root"))
        return -1;
    int chunk = around(play, transfer->from - 1 - transfer->step);
    struct slice slice = slice_of(play->count, (size_t)play->world, (size_t)chunk);
    ck_assert_uint_eq(slice.begin, transfer->part.begin);
    ck_assert_uint_eq(slice.count, transfer->part.count);
    return chunk;
}

/* The ring adds its own part to what it hears, root what it hears to what it has. */
static void hear(struct play *play, const struct transfer *transfer, const struct parts *heard,
                 int chunk)
{
    struct parts *own = &play->held[transfer->to][chunk];
    struct parts sum = is(play, "root") && transfer->adds ? *own : *heard;
    if (transfer->adds)
        append(&sum, is(play, "root") ? heard : own);
    *own = sum;
}

/* Nobody hears what he sends in the same step, and root sends nothing on while it adds: so one after
 * the other will do. */
static void carry(struct play *play, const struct transfer *transfer)
{
    int only = chunk_of(play, transfer);
    for (int chunk = 0; chunk < play->world; chunk++)
        if (only < 0 || chunk == only)
            hear(play, transfer, &play->held[transfer->from][chunk], chunk);
    play->sent_bytes[transfer->from] += transfer->part.count * sizeof(float);
}

/* The page shows what the receiver has when the step is over. */
static void print_message(const struct play *play, const struct transfer *transfer)
{
    struct slice part = transfer->part;
    int chunk = chunk_of(play, transfer);
    const struct parts *parts = &play->held[transfer->to][chunk < 0 ? 0 : chunk];
    fprintf(play->out, "%d \u2192 %d|", transfer->from, transfer->to);
    if (chunk < 0)
        fprintf(play->out, "all|");
    else
        fprintf(play->out, "%d|", chunk);
    if (part.count == 0)
        fprintf(play->out, "none|");
    else if (part.count == 1)
        fprintf(play->out, "%zu|", part.begin);
    else
        fprintf(play->out, "%zu to %zu|", part.begin, part.begin + part.count - 1);
    fprintf(play->out, "%zu|", part.count * sizeof(float));
    if (play->world > 4 && parts->count == play->world)
        fprintf(play->out, "all %d", play->world);
    else
        print_set(parts, play->out);
    if (parts->count > 1) {
        fprintf(play->out, " = ");
        print_sum(play, parts, play->out);
    }
    fprintf(play->out, "\n");
}

static void print_state(const struct play *play)
{
    for (int rank = 0; rank < play->world; rank++)
        for (int chunk = 0; chunk < play->world; chunk++) {
            if (play->held[rank][chunk].count > 0)
                print_set(&play->held[rank][chunk], play->out);
            else
                fprintf(play->out, "-");
            fprintf(play->out, chunk + 1 < play->world ? " " : "\n");
        }
    for (int rank = 0; rank < play->world; rank++)
        fprintf(play->out, "%zu%s", play->sent_bytes[rank], rank + 1 < play->world ? " " : "\n");
}

/* The halves of an all-reduce are collectives of their own. */
static bool takes_part(const struct play *play, const struct transfer *transfer)
{
    return is(play, "reduce-scatter") ? transfer->adds
           : is(play, "all-gather")   ? !transfer->adds
                                      : true;
}

static void print_steps(struct play *play)
{
    static struct transfer transfers[TRANSFERS_MOST];
    enum algorithm algorithm = is(play, "root") ? ALGORITHM_ROOT : ALGORITHM_RING;
    size_t made = steps_of(algorithm, play->world, play->count, transfers, TRANSFERS_MOST);
    for (size_t i = 0, end; i < made; i = end) {
        for (end = i; end < made && transfers[end].step == transfers[i].step; end++)
            if (takes_part(play, &transfers[end]))
                carry(play, &transfers[end]);
        if (!takes_part(play, &transfers[i]))
            continue;
        for (size_t j = i; j < end; j++)
            print_message(play, &transfers[j]);
        print_state(play);
    }
}

/* What the page should show from the first step to the last. To be freed. */
static char *expected(const char *op, int world, size_t count)
{
    char *text = NULL;
    size_t bytes;
    static struct play play;
    play = (struct play){
        .op = op, .world = world, .count = count, .out = open_memstream(&text, &bytes)};
    ck_assert_ptr_nonnull(play.out);
    begin(&play);
    print_state(&play);
    print_steps(&play);
    fclose(play.out);
    return text;
}

/* The first line that differs says more than two texts. */
static void compare(const char *what, const char *shown, const char *should)
{
    int line = 1;
    const char *a = shown, *b = should;
    for (; *a && *a == *b; a++, b++)
        line += *a == '\n';
    while (a > shown && a[-1] != '\n')
        a--, b--;
    ck_assert_msg(strcmp(shown, should) == 0, "%s: line %d\n    is        %.*s\n    should be %.*s",
                  what, line, (int)strcspn(a, "\n"), a, (int)strcspn(b, "\n"), b);
}

static const char *const ops[] = {"allreduce", "reduce-scatter", "all-gather", "root"};
static const int worlds[] = {1, 2, 3, 4, 5, 6, 7, 8, 11, 16};
static const size_t counts[] = {1, 5, 10, 17, 64};
enum {
    OPS = sizeof ops / sizeof *ops,
    WORLDS = sizeof worlds / sizeof *worlds,
    COUNTS = sizeof counts / sizeof *counts,
};

START_TEST(the_steps_it_shows_are_those_of_the_code)
{
    page_open("", PAGE_DESK);
    for (int i = 0; i < WORLDS * COUNTS; i++) {
        char fragment[128];
        int world = worlds[i / COUNTS];
        size_t count = counts[i % COUNTS];
        snprintf(fragment, sizeof fragment, "#op=%s&world=%d&count=%zu", ops[_i], world, count);
        char *shown = page_at(fragment, walk), *should = expected(ops[_i], world, count);
        compare(fragment, shown, should);
        free(shown);
        free(should);
    }
}
END_TEST

START_TEST(its_text_is_that_of_explain)
{
    page_open("", PAGE_DESK);
    for (int world = 1; world <= WORLD_MOST; world++) {
        char fragment[128], *should = NULL;
        size_t count = counts[_i], bytes;
        snprintf(fragment, sizeof fragment, "#world=%d&count=%zu", world, count);
        FILE *out = open_memstream(&should, &bytes);
        ck_assert_int_eq(explain_ring(out, world, count), 0);
        fclose(out);
        char *shown = page_at(fragment, "document.getElementById('explained').textContent");
        compare(fragment, shown, should);
        free(shown);
        free(should);
    }
}
END_TEST

Suite *page_ring_suite(void)
{
    Suite *suite = suite_create("page_ring");
    TCase *steps = tcase_create("steps");
    tcase_set_timeout(steps, 0); // the browser has its own
    tcase_add_loop_test(steps, the_steps_it_shows_are_those_of_the_code, 0, OPS);
    tcase_add_loop_test(steps, its_text_is_that_of_explain, 0, COUNTS);
    suite_add_tcase(suite, steps);
    return suite;
}
