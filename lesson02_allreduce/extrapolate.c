/* extrapolate: a ring on many hosts. See the header for the formulas. */
#include "lesson02_allreduce/extrapolate.h"

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* The rounds of a ring, there and back; additions on the way there. */
static double ring_seconds(const struct cost_link *link, double ranks, double bytes)
{
    double part = bytes * (ranks - 1) / ranks;
    return 2 * (ranks - 1) * link->alpha_seconds + 2 * part * link->beta_seconds +
           part * link->gamma_seconds;
}

double extrapolate_flat(const struct cost_link *inner, const struct cost_link *outer, int world,
                        size_t bytes)
{
    struct cost_link slowest = *inner;
    if (world > EXTRAPOLATE_HOST_RANKS) {
        slowest.alpha_seconds = larger(inner->alpha_seconds, outer->alpha_seconds);
        slowest.beta_seconds = larger(inner->beta_seconds, outer->beta_seconds);
    }
    return ring_seconds(&slowest, world, (double)bytes);
}

double extrapolate_hierarchical(const struct cost_link *inner, const struct cost_link *outer,
                                int world, size_t bytes)
{
    struct cost_link shared = *outer; // 8 rings of an eighth: the bytes of one ring of all
    shared.gamma_seconds = inner->gamma_seconds / EXTRAPOLATE_HOST_RANKS;
    int hosts = world / EXTRAPOLATE_HOST_RANKS;
    return ring_seconds(inner, EXTRAPOLATE_HOST_RANKS, (double)bytes) +
           ring_seconds(&shared, hosts, (double)bytes);
}

static void print_assumptions(FILE *out, const struct cost_link *inner)
{
    const struct cost_link *outer = &EXTRAPOLATE_OUTER;
    fprintf(out,
            "a ring all-reduce on many hosts, as the model has it (ms)\n"
            "  within a host of %d ranks, measured here: alpha %.3g us, %.3g Gbit/s, adding %.3g "
            "GB/s\n",
            EXTRAPOLATE_HOST_RANKS, 1e6 * inner->alpha_seconds, 8e-9 / inner->beta_seconds,
            1e-9 / inner->gamma_seconds);
    fprintf(out,
            "  between hosts, assumed: alpha %.3g us, %.3g Gbit/s, one link per host; a core for "
            "every rank\n",
            1e6 * outer->alpha_seconds, 8e-9 / outer->beta_seconds);
}

static void print_row(FILE *out, const struct cost_link *inner, int world, size_t bytes)
{
    double flat = extrapolate_flat(inner, &EXTRAPOLATE_OUTER, world, bytes);
    double layered = extrapolate_hierarchical(inner, &EXTRAPOLATE_OUTER, world, bytes);
    fprintf(out, "| %5d | %5d | %8zu | %12.3f | %12.3f | %8.2f |\n", world,
            world / EXTRAPOLATE_HOST_RANKS, bytes >> 20, 1e3 * flat, 1e3 * layered, flat / layered);
}

void extrapolate_print(FILE *out, const struct cost_link *inner)
{
    static const int worlds[] = {8, 64, 512, 4096};
    static const size_t sizes[] = {1 << 20, 64 << 20, 1 << 30};
    print_assumptions(out, inner);
    fprintf(out, "| ranks | hosts |      MiB |    flat ring | hierarchical | flat / h |\n");
    for (size_t w = 0; w < sizeof worlds / sizeof *worlds; w++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            print_row(out, inner, worlds[w], sizes[s]);
    costmodel_print_omissions(out);
}
