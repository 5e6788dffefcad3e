/* costmodel_print: the model in words. See costmodel.h. */
#include "lesson02_allreduce/costmodel.h"

enum { SIZE_TEXT_BYTES = 32 };

/* "12.0 KiB" */
static const char *size_text(char text[SIZE_TEXT_BYTES], size_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
    size_t unit = 0;
    double size = (double)bytes;
    while (size >= 1024 && unit < sizeof units / sizeof *units - 1) {
        size /= 1024;
        unit++;
    }
    snprintf(text, SIZE_TEXT_BYTES, "%.*f %s", unit > 0 ? 1 : 0, size, units[unit]);
    return text;
}

void costmodel_print_ranges(FILE *out, const struct cost_link *link, int world)
{
    struct cost_range ranges[COST_RANGES_MOST];
    size_t count = costmodel_ranges(link, world, ranges);
    char size[SIZE_TEXT_BYTES];
    for (size_t i = 0; i + 1 < count; i++)
        fprintf(out, "up to %s: %s; ", size_text(size, ranges[i + 1].from_bytes - 1),
                algorithm_name(ranges[i].algorithm));
    fprintf(out, "%s: %s\n", count > 1 ? "from there" : "every size",
            algorithm_name(ranges[count - 1].algorithm));
}

void costmodel_print_omissions(FILE *out)
{
    fprintf(out,
            "what the model leaves out: contention of ranks for memory and of messages for a link; "
            "congestion\n"
            "in switches, losses and resending; caches (beta and gamma grow with vectors that "
            "fit in none);\n"
            "stragglers (the slowest rank sets the pace); sending, hearing and adding at once, "
            "which is faster\n"
            "on cores to spare and slower without; kernel buffers, which let small messages go "
            "before anyone\n"
            "hears them; the waking of a sleeping rank, which alpha holds for two ranks only\n");
}
