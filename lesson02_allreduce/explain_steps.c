/* explain_steps: the algorithms that are no ring, as lists of messages. See explain.h, steps.h. */
#include "lesson02_allreduce/explain.h"
#include "lesson02_allreduce/steps.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

enum { PER_LINE = 4, CELL_BYTES = 96 };

static void draw_message(FILE *out, const struct transfer *transfer, size_t count, size_t place)
{
    struct slice part = transfer->part;
    char cell[CELL_BYTES];
    int length = snprintf(cell, sizeof cell, "%d -> %d: ", transfer->from, transfer->to);
    char *what = cell + length;
    size_t room = sizeof cell - (size_t)length;
    if (part.count == count)
        snprintf(what, room, "all");
    else if (part.count == 0)
        snprintf(what, room, "none");
    else
        snprintf(what, room, "%zu to %zu", part.begin, part.begin + part.count - 1);
    fprintf(out, "%s%s",
            place == 0              ? ""
            : place % PER_LINE == 0 ? ",\n                    "
                                    : ", ",
            cell);
}

/* The messages of one step, from the first of `transfers` on. Returns how many there are. */
static size_t draw_step(FILE *out, const struct transfer *transfers, size_t left, size_t count,
                        size_t most)
{
    size_t made = 1;
    while (made < left && transfers[made].step == transfers[0].step)
        made++;
    fprintf(out, "    step %-3d %s  ", transfers[0].step, transfers[0].adds ? "add  " : "store");
    for (size_t i = 0; i < made && i < most; i++)
        draw_message(out, &transfers[i], count, i);
    if (made > most)
        fprintf(out, ", ... %zu messages in all", made);
    fprintf(out, "\n");
    return made;
}

static void draw_bytes(FILE *out, const struct transfer *transfers, size_t made, int world)
{
    size_t least = SIZE_MAX, most = 0;
    for (int rank = 0; rank < world; rank++) {
        size_t bytes = 0;
        for (size_t i = 0; i < made; i++)
            bytes += transfers[i].from == rank ? transfers[i].part.count * sizeof(float) : 0;
        least = bytes < least ? bytes : least;
        most = bytes > most ? bytes : most;
    }
    fprintf(out, "steps: %d; every rank now has the sum; bytes sent by a rank: %zu to %zu\n",
            transfers[made - 1].step + 1, least, most);
}

static int draw_steps(FILE *out, enum algorithm algorithm, int world, size_t count)
{
    size_t made = steps_of(algorithm, world, count, NULL, 0), at = 0;
    struct transfer *transfers = calloc(made, sizeof *transfers);
    if (!transfers)
        return -ENOMEM;
    steps_of(algorithm, world, count, transfers, made);
    while (at < made)
        at += draw_step(out, transfers + at, made - at, count,
                        world <= EXPLAIN_WHOLE_MOST ? made : PER_LINE);
    draw_bytes(out, transfers, made, world);
    free(transfers);
    return 0;
}

int explain_algorithm(FILE *out, enum algorithm algorithm, int world, size_t count)
{
    if (algorithm == ALGORITHM_RING)
        return explain_ring(out, world, count);
    if (world < 1 || algorithm == ALGORITHM_AUTO)
        return -EINVAL;
    fprintf(out, "%s all-reduce of %zu floats over %d rank%s (from -> to: which floats)\n",
            algorithm_name(algorithm), count, world, world > 1 ? "s" : "");
    if (world == 1 || count == 0) {
        fprintf(out, "nothing is sent\n");
        return 0;
    }
    return draw_steps(out, algorithm, world, count);
}
