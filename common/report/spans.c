/* spans: one step out of a trace. See the header. */
#include "common/report/spans.h"

#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

struct span {
    long step;
    size_t rank;
    bool network;
    double begin, end; // microseconds
    const char *name;
};

/* False: an instant, a name, or something else. */
static bool read_span(const json_t *event, struct span *span)
{
    const char *phase = json_string_value(json_object_get(event, "ph"));
    const char *lane = json_string_value(json_object_get(event, "cat"));
    const json_t *step = json_object_get(json_object_get(event, "args"), "step");
    const json_t *rank = json_object_get(event, "pid");
    span->name = json_string_value(json_object_get(event, "name"));
    if (!phase || strcmp(phase, "X") != 0 || !lane || !span->name || !json_is_integer(step) ||
        !json_is_integer(rank) || json_integer_value(rank) < 0)
        return false;
    span->step = (long)json_integer_value(step);
    span->rank = (size_t)json_integer_value(rank);
    span->network = strcmp(lane, "network") == 0;
    span->begin = json_number_value(json_object_get(event, "ts"));
    span->end = span->begin + json_number_value(json_object_get(event, "dur"));
    return true;
}

static enum span_kind kind_of(const struct span *span)
{
    static const char *const computes[] = {"forward", "backward", "loss", "data"};
    if (span->network)
        return SPAN_NETWORK;
    if (strncmp(span->name, "wait", 4) == 0)
        return SPAN_WAIT;
    for (size_t i = 0; i < sizeof computes / sizeof *computes; i++)
        if (strncmp(span->name, computes[i], strlen(computes[i])) == 0)
            return SPAN_COMPUTE;
    return SPAN_OTHER;
}

/* The wanted step, or the last there is; and when it begins. */
static long choose(const json_t *events, long wanted, double *begin)
{
    struct span span;
    const json_t *event;
    size_t i;
    long last = -1;
    bool found = false;
    json_array_foreach(events, i, event)
    {
        if (!read_span(event, &span))
            continue;
        found = found || span.step == wanted;
        last = span.step > last ? span.step : last;
    }
    long chosen = found ? wanted : last;
    *begin = INFINITY;
    json_array_foreach(events, i, event) if (read_span(event, &span) &&
                                             span.step == chosen) *begin = fmin(*begin, span.begin);
    return chosen;
}

/* A row of the table; its end. */
static double put(const struct span *span, double begin, FILE *out)
{
    double end = (span->end - begin) / 1000;
    fprintf(out, "%zu\t%d\t%d\t%.6f\t%.6f\n", span->rank, span->network ? 1 : 0, (int)kind_of(span),
            (span->begin - begin) / 1000, end);
    return end;
}

long spans_write(const char *path, size_t step, size_t ranks, double *most, FILE *out)
{
    json_error_t wrong;
    json_t *root = json_load_file(path, 0, &wrong);
    const json_t *events = json_object_get(root, "traceEvents"), *event;
    double begin, last = 0;
    size_t i;
    long chosen = choose(events, (long)step, &begin);
    json_array_foreach(events, i, event)
    {
        struct span span;
        if (read_span(event, &span) && span.step == chosen && span.rank < ranks)
            last = fmax(last, put(&span, begin, out));
    }
    if (chosen >= 0)
        *most = last;
    json_decref(root);
    return chosen;
}
