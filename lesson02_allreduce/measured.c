/* measured: every algorithm's time by size, and the choice these times make. See the header. */
#include "lesson02_allreduce/measured.h"

#include <math.h>
#include <stdbool.h>

static const double CLEARLY_FASTER = 0.95; // of the other's time, at most

enum algorithm measured_fastest(const struct measured *measured, size_t size)
{
    const double *seconds = measured->seconds[size];
    int best = 0;
    for (int other = 1; other < ALGORITHM_AUTO; other++)
        if (seconds[other] > 0 && (seconds[best] <= 0 || seconds[other] < seconds[best]))
            best = other;
    return (enum algorithm)best;
}

/* Does the fastest at this size replace the one chosen so far? */
static bool replaces(const double *seconds, enum algorithm fastest, enum algorithm chosen)
{
    return seconds[chosen] <= 0 || seconds[fastest] <= CLEARLY_FASTER * seconds[chosen];
}

struct choice measured_choice(const struct measured *measured)
{
    struct choice choice = {.rows = {{INT64_MAX, measured_fastest(measured, 0)}}};
    struct choice_row *row = choice.rows;
    for (size_t i = 1; i < measured->count; i++) {
        enum algorithm fastest = measured_fastest(measured, i);
        if (!replaces(measured->seconds[i], fastest, (enum algorithm)row->algorithm))
            continue;
        row->most_bytes =
            (int64_t)sqrt((double)measured->bytes[i - 1] * (double)measured->bytes[i]);
        *++row = (struct choice_row){INT64_MAX, fastest};
    }
    return choice;
}

void measured_print(const struct measured *measured, FILE *out)
{
    struct choice choice = measured_choice(measured);
    const struct choice_row *row = choice.rows;
    fprintf(out, "fastest as measured:");
    for (size_t i = 0; i < measured->count; i++)
        fprintf(out, "%s %zu bytes %s", i ? "," : "", measured->bytes[i],
                algorithm_name(measured_fastest(measured, i)));
    fprintf(out, "\nso the choice, with changes only for 5 %% or more:");
    for (; row->most_bytes != INT64_MAX; row++)
        fprintf(out, " up to %lld bytes %s,", (long long)row->most_bytes,
                algorithm_name((enum algorithm)row->algorithm));
    fprintf(out, " any %s\n", algorithm_name((enum algorithm)row->algorithm));
}
