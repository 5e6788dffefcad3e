/* proof: what a lesson shows of its own correctness. See the header. */
#include "common/proof.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

void proof_init(struct proof *proof, FILE *out, int rank, bool quiet)
{
    *proof = (struct proof){.out = out, .rank = rank, .failures_only = quiet || rank != 0};
}

static void keep(struct proof *proof, size_t step, const char *what, const char *how, bool holds)
{
    if (proof->kept_count == PROOF_KEPT_MOST)
        return;
    struct proof_line *line = &proof->kept[proof->kept_count++];
    line->step = step;
    line->holds = holds;
    snprintf(line->what, sizeof line->what, "%s", what);
    snprintf(line->how, sizeof line->how, "%s", how);
}

/* Flushed at once: a line about a failure must not be lost in the failure. */
static bool say(struct proof *proof, size_t step, const char *what, const char *how, bool holds)
{
    proof->lines++;
    proof->failed += !holds;
    keep(proof, step, what, how, holds);
    if (holds && proof->failures_only)
        return true;
    fprintf(proof->out, "verify step %zu", step);
    if (proof->rank != 0)
        fprintf(proof->out, ", rank %d", proof->rank);
    fprintf(proof->out, ": %s | %s | %s\n", what, how, holds ? "ok" : "FAILED");
    fflush(proof->out);
    return holds;
}

bool proof_bits(struct proof *proof, size_t step, const char *what, const struct compare *compare)
{
    char how[PROOF_HOW_BYTES];
    bool holds = compare_equal(compare);
    if (holds)
        snprintf(how, sizeof how, "bit for bit, %zu floats", compare->count);
    else
        snprintf(how, sizeof how, "bit for bit, %zu of %zu floats differ, largest difference %.2g",
                 compare->different, compare->count, compare->largest);
    return say(proof, step, what, how, holds);
}

bool proof_bounded(struct proof *proof, size_t step, const char *what,
                   const struct compare *compare)
{
    char how[PROOF_HOW_BYTES], share[64] = "";
    bool holds = compare_equal(compare);
    if (isfinite(compare->largest_share))
        snprintf(share, sizeof share, ", at most %.3g %% of its bound",
                 100 * compare->largest_share);
    if (holds)
        snprintf(how, sizeof how, "%zu floats, largest difference %.2g%s", compare->count,
                 compare->largest, share);
    else
        snprintf(how, sizeof how, "%zu of %zu floats beyond the bound, largest difference %.2g%s",
                 compare->different, compare->count, compare->largest, share);
    return say(proof, step, what, how, holds);
}

bool proof_holds(struct proof *proof, size_t step, const char *what, const char *how, bool holds)
{
    return say(proof, step, what, how, holds);
}

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

void proof_failure_at(struct proof *proof, const struct proof_place *place)
{
    fprintf(proof->out,
            "    first at %s[%zu] of rank %d: found %.9g (0x%08" PRIx32
            "), expected %.9g (0x%08" PRIx32 "); %s\n",
            place->tensor, place->index, place->rank, place->found, bits_of(place->found),
            place->expected, bits_of(place->expected), place->cause);
    fflush(proof->out);
}

void proof_summary(const struct proof *proof, char text[PROOF_SUMMARY_BYTES])
{
    const char *plural = proof->lines == 1 ? "" : "s";
    if (proof->lines == 0)
        snprintf(text, PROOF_SUMMARY_BYTES, "nothing was compared");
    else if (proof->failed > 0)
        snprintf(text, PROOF_SUMMARY_BYTES, "%zu comparison%s, %zu FAILED", proof->lines, plural,
                 proof->failed);
    else
        snprintf(text, PROOF_SUMMARY_BYTES, "%zu comparison%s, %s", proof->lines, plural,
                 proof->lines == 1 ? "which holds" : "all hold");
}
