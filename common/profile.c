/* profile: where a step's microseconds go. See the header. */
#include "common/profile.h"
#include "common/clock.h"

#include <string.h>

enum { TRIALS = 1000 };

void profile_step(struct profile *profile)
{
    if (!profile)
        return;
    memset(profile->step, 0, sizeof profile->step);
    profile->step_laps = 0;
    profile->latest_seconds = clock_seconds();
}

void profile_lap(struct profile *profile, enum profile_cost cost)
{
    if (!profile)
        return;
    double now = clock_seconds();
    profile->step[cost] += now - profile->latest_seconds;
    profile->latest_seconds = now;
    profile->step_laps++;
}

void profile_end(struct profile *profile, bool counts)
{
    if (!profile || !counts)
        return;
    for (int cost = 0; cost < PROFILE_COSTS; cost++)
        profile->seconds[cost] += profile->step[cost];
    profile->laps += profile->step_laps;
    profile->steps++;
}

double profile_lap_seconds(void)
{
    struct profile profile = {0};
    profile_step(&profile);
    for (int i = 0; i < TRIALS; i++)
        profile_lap(&profile, PROFILE_OTHER);
    return profile.step[PROFILE_OTHER] / TRIALS;
}

static const char *const names[PROFILE_COSTS] = {
    [PROFILE_GEMM] = "gemm",           [PROFILE_ELEMENTWISE] = "elementwise",
    [PROFILE_LOSS] = "loss",           [PROFILE_DATA] = "data",
    [PROFILE_OPTIMIZER] = "optimizer", [PROFILE_HAND_OVER] = "hand-over",
    [PROFILE_WAIT] = "wait (exposed)", [PROFILE_SHARE] = "share the loss",
    [PROFILE_OTHER] = "other",
};

static double sum_of(const double *microseconds)
{
    double sum = 0;
    for (int cost = 0; cost < PROFILE_COSTS; cost++)
        sum += microseconds[cost];
    return sum;
}

void profile_print(const struct profile_table *table, FILE *out)
{
    double sum = sum_of(table->mine);
    fprintf(out, "profile: microseconds of an update, mean of %zu%s\n", table->steps,
            table->world > 1 ? " on rank 0; least and most of all ranks" : "");
    for (int cost = 0; cost < PROFILE_COSTS; cost++) {
        fprintf(out, "  %-15s %10.1f  %5.1f %%", names[cost], table->mine[cost],
                100 * table->mine[cost] / sum);
        if (table->world > 1)
            fprintf(out, "  %10.1f %10.1f", table->least[cost], table->most[cost]);
        fputc('\n', out);
    }
    fprintf(out, "  %-15s %10.1f  100.0 %%\n", "the update", sum);
    double cost = 1e6 * table->lap_seconds * (double)table->laps;
    fprintf(out, "  of which measuring: %zu looks at the clock, about %.1f (%.1f %%)\n",
            table->laps, cost, 100 * cost / sum);
}
