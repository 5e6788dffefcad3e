/*
 * explain: the ring's rounds, played through and drawn. See the header.
 *
 * In round k rank r sends chunk r - 1 - k (mod R). In the all-gather ring.c counts its rounds anew:
 * round s sends chunk r - s. As s = k - (R - 1), that is r - 1 - k once more. Up to round R - 2
 * the receiver adds its part; from R - 1 on it stores.
 */
#include "lesson02_allreduce/explain.h"
#include "common/slice.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>

enum { LINE_BYTES = 256, CELL_BYTES = 64, SPELT_OUT_WORLD_MOST = 4 };

/* The parts of `length` ranks, from `first` on around the ring. */
struct sum {
    int first, length;
};

struct drawing {
    FILE *out;
    int world, cell_width;
    size_t count;
    struct sum *held;   // (rank, chunk)
    size_t *sent_bytes; // (rank)
};

/* --- what happens ---------------------------------------------------------------------------- */

static int around(const struct drawing *drawing, int number)
{
    return (number % drawing->world + drawing->world) % drawing->world;
}

static int sent_chunk(const struct drawing *drawing, int rank, int round)
{
    return around(drawing, rank - 1 - round);
}

static int heard_chunk(const struct drawing *drawing, int rank, int round)
{
    return sent_chunk(drawing, around(drawing, rank - 1), round);
}

static struct sum *held(const struct drawing *drawing, int rank, int chunk)
{
    return &drawing->held[(size_t)rank * (size_t)drawing->world + (size_t)chunk];
}

static struct slice slice_of_chunk(const struct drawing *drawing, int chunk)
{
    return slice_of(drawing->count, (size_t)drawing->world, (size_t)chunk);
}

/* What is heard came from rank - 1, so its last part is that rank's, and mine comes next. */
static void hear(const struct drawing *drawing, int rank, int round)
{
    int chunk = heard_chunk(drawing, rank, round);
    struct sum heard = *held(drawing, around(drawing, rank - 1), chunk);
    if (round < drawing->world - 1) {
        assert(around(drawing, heard.first + heard.length) == rank);
        heard.length++;
    }
    *held(drawing, rank, chunk) = heard;
}

/* No rank hears the chunk it sends, so the ranks' turns may come in any order. */
static void play_round(const struct drawing *drawing, int round)
{
    for (int rank = 0; rank < drawing->world; rank++) {
        int chunk = sent_chunk(drawing, rank, round);
        drawing->sent_bytes[rank] += slice_of_chunk(drawing, chunk).count * sizeof(float);
        hear(drawing, rank, round);
    }
}

static bool complete(const struct drawing *drawing)
{
    for (int rank = 0; rank < drawing->world; rank++)
        for (int chunk = 0; chunk < drawing->world; chunk++)
            if (held(drawing, rank, chunk)->length != drawing->world)
                return false;
    return true;
}

/* --- how it is drawn ------------------------------------------------------------------------- */

/* A line that grows cell by cell, without blanks at its end. */
struct line {
    char text[LINE_BYTES];
    int length, wanted; // written, and where the next cell begins
};

__attribute__((format(printf, 3, 4))) static void line_add(struct line *line, int width,
                                                           const char *format, ...)
{
    char cell[CELL_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(cell, sizeof cell, format, arguments);
    va_end(arguments);
    int pad = line->wanted > line->length ? line->wanted - line->length : 0;
    line->length += snprintf(line->text + line->length, sizeof line->text - (size_t)line->length,
                             "%*s%s", pad, "", cell);
    line->wanted += width;
}

/* Of a large world the first two and the last. */
static bool shown(const struct drawing *drawing, int index, int count)
{
    return drawing->world <= EXPLAIN_WHOLE_MOST || index < 2 || index == count - 1;
}

static bool first_hidden(const struct drawing *drawing, int index, int count)
{
    return !shown(drawing, index, count) && index == 2;
}

static void sum_text(const struct drawing *drawing, struct sum sum, char text[CELL_BYTES])
{
    int last = around(drawing, sum.first + sum.length - 1), length = 0;
    if (drawing->world > SPELT_OUT_WORLD_MOST && sum.length > 2) {
        snprintf(text, CELL_BYTES, "g%d..g%d", sum.first, last);
        return;
    }
    for (int i = 0; i < sum.length; i++)
        length += snprintf(text + length, CELL_BYTES - (size_t)length, "%sg%d", i > 0 ? "+" : "",
                           around(drawing, sum.first + i));
}

enum row { ROW_RANKS, ROW_SENT, ROW_HELD, ROW_BYTES };

static void add_cell(const struct drawing *drawing, struct line *line, enum row row, int rank,
                     int round)
{
    char text[CELL_BYTES];
    int width = drawing->cell_width, chunk = heard_chunk(drawing, rank, round);
    if (row == ROW_RANKS)
        line_add(line, width, "rank %d", rank);
    if (row == ROW_SENT)
        line_add(line, width, "%d", sent_chunk(drawing, rank, round));
    if (row == ROW_BYTES)
        line_add(line, width, "%zu", drawing->sent_bytes[rank]);
    if (row == ROW_HELD) {
        sum_text(drawing, *held(drawing, rank, chunk), text);
        line_add(line, width, "%d: %s", chunk, text);
    }
}

static void draw_row(const struct drawing *drawing, struct line *line, enum row row, int round)
{
    for (int rank = 0; rank < drawing->world; rank++) {
        if (shown(drawing, rank, drawing->world))
            add_cell(drawing, line, row, rank, round);
        else if (first_hidden(drawing, rank, drawing->world))
            line_add(line, 5, "...");
    }
    if (row == ROW_HELD && round == drawing->world - 2)
        line_add(line, 0, "<- reduce-scatter ends");
    if (row == ROW_HELD && round == 2 * drawing->world - 3)
        line_add(line, 0, "<- all-gather ends");
    fprintf(drawing->out, "%s\n", line->text);
}

static void draw_round(const struct drawing *drawing, int round)
{
    struct line sends = {0}, has = {.wanted = 14};
    line_add(&sends, 14, "    round %d ", round);
    line_add(&sends, 7, "sends");
    draw_row(drawing, &sends, ROW_SENT, round);
    line_add(&has, 7, "%s", round == drawing->world - 2 ? "owns" : "has");
    draw_row(drawing, &has, ROW_HELD, round);
}

static void draw_chunks(const struct drawing *drawing)
{
    for (int chunk = 0; chunk < drawing->world; chunk++) {
        struct slice slice = slice_of_chunk(drawing, chunk);
        if (shown(drawing, chunk, drawing->world) && slice.count > 0)
            fprintf(drawing->out, "    chunk %d: floats %zu to %zu, %zu bytes\n", chunk,
                    slice.begin, slice.begin + slice.count - 1, slice.count * sizeof(float));
        else if (shown(drawing, chunk, drawing->world))
            fprintf(drawing->out, "    chunk %d: empty\n", chunk);
        else if (first_hidden(drawing, chunk, drawing->world))
            fprintf(drawing->out, "    ...\n");
    }
}

static void draw_rounds(const struct drawing *drawing)
{
    int rounds = drawing->world - 1;
    struct line ranks = {.wanted = 21};
    draw_row(drawing, &ranks, ROW_RANKS, 0);
    for (int round = 0; round < 2 * rounds; round++) {
        play_round(drawing, round);
        if (shown(drawing, round % rounds, rounds))
            draw_round(drawing, round);
        else if (first_hidden(drawing, round % rounds, rounds))
            fprintf(drawing->out, "    ...\n");
    }
}

static void draw_end(const struct drawing *drawing)
{
    struct line bytes = {0};
    int world = drawing->world;
    double whole = (double)drawing->count * sizeof(float);
    assert(complete(drawing));
    line_add(&bytes, 21, "    bytes sent");
    draw_row(drawing, &bytes, ROW_BYTES, 0);
    fprintf(drawing->out,
            "every rank now has every chunk, the sum of all %d parts; it sent about 2 x %d/%d of "
            "%.0f bytes: %.0f\n",
            world, world - 1, world, whole, 2 * whole * (world - 1) / world);
}

static void draw(const struct drawing *drawing)
{
    if (drawing->world == 1 || drawing->count == 0) {
        fprintf(drawing->out, "nothing is sent: %s\n",
                drawing->count == 0 ? "there is nothing to add"
                                    : "the part of the only rank is the sum");
        return;
    }
    if (drawing->world > EXPLAIN_WHOLE_MOST)
        fprintf(drawing->out, "abridged: of chunks, ranks and rounds the first two and the last; "
                              "what is between goes on alike\n");
    draw_chunks(drawing);
    draw_rounds(drawing);
    draw_end(drawing);
}

/* Wide enough for "0: g1+g2+g3+g0", or "99: g98..g97" of larger worlds, and a gap. */
static int cell_width(int world)
{
    int digits = snprintf(NULL, 0, "%d", world - 1);
    return world <= SPELT_OUT_WORLD_MOST ? 12 + world : 3 * digits + 8;
}

int explain_ring(FILE *out, int world, size_t count)
{
    if (world < 1)
        return -EINVAL;
    size_t ranks = (size_t)world;
    struct drawing drawing = {.out = out, .world = world, .count = count};
    drawing.cell_width = cell_width(world);
    drawing.held = calloc(ranks * ranks, sizeof *drawing.held);
    drawing.sent_bytes = calloc(ranks, sizeof *drawing.sent_bytes);
    int error = drawing.held && drawing.sent_bytes ? 0 : -ENOMEM;
    for (size_t i = 0; i < ranks * ranks && !error; i++)
        drawing.held[i] = (struct sum){.first = (int)(i / ranks), .length = 1};
    if (!error) {
        fprintf(out, "ring all-reduce of %zu floats over %d rank%s (g0: rank 0's part)\n", count,
                world, world > 1 ? "s" : "");
        draw(&drawing);
    }
    free(drawing.held);
    free(drawing.sent_bytes);
    return error;
}
