/* measured: every algorithm's time by size, and the choice these times make. See the header. */
#include "lesson02_allreduce/measured.h"

#include <math.h>
#include <stdbool.h>

static const double CLEARLY_FASTER = 0.8; // of the other's time, at most

enum algorithm measured_fastest(const struct measured *measured, size_t size)
{
    const double *seconds = measured->seconds[size];
    int best = 0;
    for (int other = 1; other < ALGORITHM_AUTO; other++)
        if (seconds[other] > 0 && (seconds[best] <= 0 || seconds[other] < seconds[best]))
            best = other;
    return (enum algorithm)best;
}

static bool is_near_fastest(const struct measured *measured, size_t size, enum algorithm algorithm)
{
    const double *seconds = measured->seconds[size];
    double least = seconds[measured_fastest(measured, size)];
    return seconds[algorithm] > 0 && CLEARLY_FASTER * seconds[algorithm] <= least;
}

static enum algorithm choose(const struct measured *measured, size_t size, enum algorithm builtin,
                             enum algorithm before)
{
    if (is_near_fastest(measured, size, builtin))
        return builtin;
    if (is_near_fastest(measured, size, before))
        return before;
    enum algorithm fastest = measured_fastest(measured, size);
    int first = 0;
    while (first < (int)fastest && !is_near_fastest(measured, size, (enum algorithm)first))
        first++;
    return (enum algorithm)first;
}

struct choice measured_choice(const struct measured *measured, const struct choice *builtin)
{
    enum algorithm standard = choice_for(builtin, measured->bytes[0]);
    struct choice choice = {.rows = {{INT64_MAX, choose(measured, 0, standard, standard)}}};
    struct choice_row *row = choice.rows;
    for (size_t i = 1; i < measured->count; i++) {
        size_t before = measured->bytes[i - 1], bytes = measured->bytes[i];
        enum algorithm chosen =
            choose(measured, i, choice_for(builtin, bytes), (enum algorithm)row->algorithm);
        if ((int64_t)chosen == row->algorithm)
            continue;
        bool both_builtin = row->algorithm == (int64_t)choice_for(builtin, before) &&
                            chosen == choice_for(builtin, bytes);
        row->most_bytes = both_builtin ? choice_border(builtin, before)
                                       : (int64_t)sqrt((double)before * (double)bytes);
        *++row = (struct choice_row){INT64_MAX, chosen};
    }
    return choice;
}

void measured_print(const struct measured *measured, const struct choice *choice, FILE *out)
{
    const struct choice_row *row = choice->rows;
    fprintf(out, "fastest as measured:");
    for (size_t i = 0; i < measured->count; i++)
        fprintf(out, "%s %zu bytes %s", i ? "," : "", measured->bytes[i],
                algorithm_name(measured_fastest(measured, i)));
    fprintf(out, "\nso the choice, which leaves the built-in one only for 20 %% or more:");
    for (; row->most_bytes != INT64_MAX; row++)
        fprintf(out, " up to %lld bytes %s,", (long long)row->most_bytes,
                algorithm_name((enum algorithm)row->algorithm));
    fprintf(out, " any %s\n", algorithm_name((enum algorithm)row->algorithm));
}
