/* timeline: spans drawn in text. See the header. */
#include "common/timeline.h"
#include "common/metrics.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

void timeline_init(struct timeline *timeline, double begin_seconds, double end_seconds, int ranks)
{
    *timeline = (struct timeline){.begin_seconds = begin_seconds, .end_seconds = end_seconds};
    timeline->ranks = ranks < TIMELINE_RANKS_MOST ? ranks : TIMELINE_RANKS_MOST;
}

static double column_seconds(const struct timeline *timeline)
{
    return (timeline->end_seconds - timeline->begin_seconds) / TIMELINE_COLUMNS;
}

/* How much of column i the event fills. */
static double overlap(const struct timeline *timeline, const struct trace_event *event, int i)
{
    double width = column_seconds(timeline);
    double begin = timeline->begin_seconds + i * width, end = begin + width;
    return fmin(end, event->end_seconds) - fmax(begin, event->begin_seconds);
}

/* The part of the event that lies in the window. */
static double within(const struct timeline *timeline, const struct trace_event *event)
{
    double seconds = fmin(timeline->end_seconds, event->end_seconds) -
                     fmax(timeline->begin_seconds, event->begin_seconds);
    return seconds > 0 ? seconds : 0;
}

void timeline_add(struct timeline *timeline, int rank, const struct trace_event *event)
{
    if (rank >= timeline->ranks)
        return;
    enum trace_lane lane = trace_lane((enum trace_kind)event->kind);
    struct timeline_cell *cells = timeline->cells[rank][lane];
    for (int i = 0; i < TIMELINE_COLUMNS; i++) {
        double filled = overlap(timeline, event, i);
        if (filled > cells[i].filled_seconds)
            cells[i] = (struct timeline_cell){.event = *event, .filled_seconds = filled};
    }
    if (lane == TRACE_NETWORK)
        timeline->comm_seconds[rank] += within(timeline, event);
    else if (event->kind == TRACE_WAIT)
        timeline->exposed_seconds[rank] += within(timeline, event);
}

/* "f1" of forward fc1, "3" of bucket 3, "o" of optimizer. */
static void short_label(const struct trace_event *event, char text[TRACE_LABEL_BYTES])
{
    char label[TRACE_LABEL_BYTES];
    trace_label(event, label);
    bool bucket = event->kind == TRACE_BUCKET || event->kind == TRACE_GATHER;
    if (bucket)
        snprintf(text, TRACE_LABEL_BYTES, "%u", (unsigned)event->index);
    else if (event->index > 0)
        snprintf(text, TRACE_LABEL_BYTES, "%c%u", label[0], (unsigned)event->index);
    else
        snprintf(text, TRACE_LABEL_BYTES, "%c", label[0]);
}

/* One event's columns: "[forward fc1---]", "[f1]", "f1", "f". */
static void draw_block(const struct trace_event *event, char *text, size_t width)
{
    char label[TRACE_LABEL_BYTES];
    trace_label(event, label);
    bool fits = strlen(label) + 2 <= width;
    if (!fits)
        short_label(event, label);
    if (!fits && strlen(label) + 2 > width) { // no room for walls
        size_t length = strlen(label) < width ? strlen(label) : width;
        memset(text, label[1] ? '-' : label[0], width);
        memcpy(text, label, length);
        return;
    }
    memset(text, '-', width);
    memcpy(text + 1, label, strlen(label));
    text[0] = '[';
    text[width - 1] = ']';
}

static bool same(const struct timeline_cell *a, const struct timeline_cell *b)
{
    return b->filled_seconds > 0 && a->event.begin_seconds == b->event.begin_seconds &&
           a->event.kind == b->event.kind;
}

void timeline_lane(const struct timeline *timeline, int rank, enum trace_lane lane,
                   char text[TIMELINE_COLUMNS + 1])
{
    const struct timeline_cell *cells = timeline->cells[rank][lane];
    memset(text, ' ', TIMELINE_COLUMNS);
    text[TIMELINE_COLUMNS] = '\0';
    for (size_t i = 0; i < TIMELINE_COLUMNS;) {
        size_t width = 1;
        while (i + width < TIMELINE_COLUMNS && same(&cells[i], &cells[i + width]))
            width++;
        if (cells[i].filled_seconds > 0)
            draw_block(&cells[i].event, text + i, width);
        i += width;
    }
}

static void print_overlap(const struct timeline *timeline, int rank, FILE *out)
{
    struct metrics_times times = {.comm_seconds = timeline->comm_seconds[rank],
                                  .exposed_seconds = timeline->exposed_seconds[rank],
                                  .sent = true};
    double efficiency = metrics_overlap_efficiency(&times);
    if (!isnan(efficiency))
        fprintf(out, "rank %d: %.1f us on the network, %.1f us of waiting for it, %.0f %% hidden\n",
                rank, 1e6 * times.comm_seconds, 1e6 * times.exposed_seconds, 100 * efficiency);
}

void timeline_print(const struct timeline *timeline, size_t step, FILE *out)
{
    char text[TIMELINE_COLUMNS + 1];
    fprintf(out, "timeline of step %zu: %.1f us, a column is %.1f us\n", step,
            1e6 * (timeline->end_seconds - timeline->begin_seconds),
            1e6 * column_seconds(timeline));
    for (int rank = 0; rank < timeline->ranks; rank++)
        for (int lane = 0; lane < TRACE_LANES; lane++) {
            timeline_lane(timeline, rank, (enum trace_lane)lane, text);
            if (lane == TRACE_COMPUTE)
                fprintf(out, "rank %-4d compute |%s|\n", rank, text);
            else if (timeline->comm_seconds[rank] > 0)
                fprintf(out, "          network |%s|\n", text);
        }
    for (int rank = 0; rank < timeline->ranks; rank++)
        print_overlap(timeline, rank, out);
}
