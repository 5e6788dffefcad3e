/*
 * locate: the likely cause of a difference. See the header.
 *
 * A cause must explain every element that differs, and rest on more than a coincidence: one value
 * that happens to be twice another is not a factor, one wrong element is not a wrong shard.
 *
 * "Close" allows for rounding in another order: a few units in the last place of the value, and of
 * the largest value around, since sums that cancel carry the rounding of their larger terms.
 */
#include "common/locate.h"
#include "common/slice.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { FACTOR_MOST = 64, ULPS_OF_VALUE = 16, ULPS_OF_LARGEST = 2 };

/* What one look at all elements tells. */
struct survey {
    size_t different;  // elements whose bits differ
    size_t weighty;    // of them, those expected to be other than zero
    size_t untouched;  // elements that agree and are not zero
    size_t anchor;     // the differing element of the largest |expected|
    size_t not_finite; // elements
    size_t bad;        // the first of them
    double largest;    // |expected[anchor]|
};

static bool same_bits(const float *left, const float *right)
{
    return memcmp(left, right, sizeof *left) == 0;
}

static bool differs(const struct locate *locate, size_t i)
{
    return !same_bits(&locate->found[i], &locate->expected[i]);
}

static void survey_different(struct survey *survey, const struct locate *locate, size_t i)
{
    double size = fabs((double)locate->expected[i]);
    if (survey->different++ == 0 || size > survey->largest) {
        survey->largest = size;
        survey->anchor = i;
    }
    survey->weighty += size != 0;
}

static struct survey survey_of(const struct locate *locate)
{
    struct survey survey = {0};
    for (size_t i = 0; i < locate->count; i++) {
        if (!isfinite(locate->found[i]) || !isfinite(locate->expected[i])) {
            if (survey.not_finite++ == 0)
                survey.bad = i;
        } else if (differs(locate, i)) {
            survey_different(&survey, locate, i);
        } else {
            survey.untouched += locate->expected[i] != 0;
        }
    }
    return survey;
}

static bool near(double found, double expected, double largest)
{
    return fabs(found - expected) <= ULPS_OF_VALUE * (double)FLT_EPSILON * fabs(expected) +
                                         ULPS_OF_LARGEST * (double)FLT_EPSILON * largest;
}

/* --- causes that each element tells by itself ------------------------------------------------ */

/* found * times is near expected * over, wherever they differ. */
static bool factor_fits(const struct locate *locate, const struct survey *survey, double times,
                        double over)
{
    for (size_t i = 0; i < locate->count; i++)
        if (differs(locate, i) &&
            !near(locate->found[i] * times, locate->expected[i] * over, survey->largest * over))
            return false;
    return true;
}

static bool is_stale(const struct locate *locate)
{
    bool weighty = false; // zeros everywhere would fit any cause
    for (size_t i = 0; locate->before && i < locate->count; i++) {
        if (!differs(locate, i))
            continue;
        if (!same_bits(&locate->found[i], &locate->before[i]))
            return false;
        weighty |= locate->found[i] != 0;
    }
    return weighty;
}

static bool is_zero(const struct locate *locate)
{
    for (size_t i = 0; i < locate->count; i++)
        if (differs(locate, i) && locate->found[i] != 0)
            return false;
    return true;
}

/* The whole number 2 .. 64 that `ratio` is near, or 0. */
static int factor_of(double ratio)
{
    double whole = nearbyint(ratio);
    return whole >= 2 && whole <= FACTOR_MOST && near(ratio, whole, whole) ? (int)whole : 0;
}

/* "every value is", "all 12 differing values are". */
static void subject(const struct locate *locate, const struct survey *survey, char *text,
                    size_t room)
{
    if (survey->untouched == 0 && survey->different > 1)
        snprintf(text, room, "every value is");
    else if (survey->different == 1)
        snprintf(text, room, "the one differing value is");
    else
        snprintf(text, room, "all %zu differing values of %zu are", survey->different,
                 locate->count);
}

static bool name_factor(const struct locate *locate, const struct survey *survey, char *text)
{
    char who[64];
    double ratio = (double)locate->found[survey->anchor] / (double)locate->expected[survey->anchor];
    if (survey->weighty == 0 || (survey->weighty == 1 && survey->untouched > 0))
        return false;
    int times = factor_of(ratio), over = factor_of(1 / ratio);
    if (!(times && factor_fits(locate, survey, 1, times)) &&
        !(over && factor_fits(locate, survey, over, 1)))
        return false;
    bool ranks = (size_t)(times ? times : over) == locate->world;
    subject(locate, survey, who, sizeof who);
    if (times && ranks)
        snprintf(text, LOCATE_TEXT_BYTES,
                 "%s %d times the expected one: summed over %d ranks, not averaged", who, times,
                 times);
    else if (ranks)
        snprintf(text, LOCATE_TEXT_BYTES, "%s 1/%d of the expected one: divided by %d ranks twice",
                 who, over, over);
    else
        snprintf(text, LOCATE_TEXT_BYTES,
                 "%s %s%d %s the expected one: a constant factor that is not the number of ranks "
                 "(micro-batches?)",
                 who, times ? "" : "1/", times ? times : over, times ? "times" : "of");
    return true;
}

/* --- causes that only chunks tell ------------------------------------------------------------ */

static size_t differing_in(const struct locate *locate, struct slice slice)
{
    size_t different = 0;
    for (size_t i = slice.begin; i < slice.begin + slice.count; i++)
        different += differs(locate, i);
    return different;
}

/* The one rank whose slice holds all differences and differs in at least half of its elements;
 * `world` when there is none. */
static size_t one_shard(const struct locate *locate, const struct survey *survey)
{
    for (size_t rank = 0; !locate->part && locate->world > 1 && rank < locate->world; rank++) {
        struct slice slice = slice_of(locate->count, locate->world, rank);
        size_t different = differing_in(locate, slice);
        if (different == survey->different && 2 * different >= slice.count)
            return rank;
    }
    return locate->world;
}

/* What stands in chunk `here` was expected in another, which is returned; `world` when in none.
 * Chunks may differ in length by one: the shorter length counts. */
static size_t source_of(const struct locate *locate, size_t here, size_t *matched)
{
    struct slice to = slice_of(locate->count, locate->world, here);
    for (size_t there = 0; there < locate->world; there++) {
        struct slice from = slice_of(locate->count, locate->world, there);
        size_t count = from.count < to.count ? from.count : to.count;
        if (there == here || count == 0 ||
            memcmp(locate->found + to.begin, locate->expected + from.begin,
                   count * sizeof(float)) != 0)
            continue;
        *matched += count;
        return there;
    }
    return locate->world;
}

static bool name_chunks(const struct locate *locate, char *text)
{
    size_t moved = 0, matched = 0, here = 0, source = 0, back = locate->world;
    for (size_t rank = 0; !locate->part && rank < locate->world; rank++) {
        if (differing_in(locate, slice_of(locate->count, locate->world, rank)) == 0)
            continue;
        size_t from = source_of(locate, rank, &matched);
        if (from == locate->world)
            return false;
        if (moved++ == 0) {
            here = rank;
            source = from;
        }
        back = rank == source ? from : back;
    }
    if (moved == 0 || matched < 2) // one equal value is no evidence
        return false;
    if (moved == 2 && back == here && source != here)
        snprintf(text, LOCATE_TEXT_BYTES, "chunks %zu and %zu of %zu are swapped", here, source,
                 locate->world);
    else
        snprintf(text, LOCATE_TEXT_BYTES,
                 "chunk %zu of %zu holds the values of chunk %zu%s: a wrong chunk index", here,
                 locate->world, source, moved > 1 ? ", others are moved too" : "");
    return true;
}

/* ", all in the shard of rank 2 (elements 20 to 29)", or nothing. */
static void append_shard(const struct locate *locate, size_t rank, char *text)
{
    size_t length = strlen(text);
    if (rank == locate->world)
        return;
    struct slice slice = slice_of(locate->count, locate->world, rank);
    snprintf(text + length, LOCATE_TEXT_BYTES - length,
             "; only the shard of rank %zu differs (elements %zu to %zu)", rank, slice.begin,
             slice.begin + slice.count - 1);
}

/* --- public ---------------------------------------------------------------------------------- */

static void name_not_finite(const struct locate *locate, const struct survey *survey, char *text)
{
    float found = locate->found[survey->bad], expected = locate->expected[survey->bad];
    const char *side = isfinite(found)      ? "expected"
                       : isfinite(expected) ? "found"
                                            : "on both sides";
    snprintf(text, LOCATE_TEXT_BYTES,
             "not finite: %g %s at element %zu, %zu of %zu elements in all: a bad sample, or a "
             "learning rate too large",
             (double)(isfinite(found) ? expected : found), side, survey->bad, survey->not_finite,
             locate->count);
}

void locate_cause(const struct locate *locate, char text[LOCATE_TEXT_BYTES])
{
    struct survey survey = survey_of(locate);
    char who[64];
    size_t shard = one_shard(locate, &survey);
    subject(locate, &survey, who, sizeof who);
    if (survey.not_finite) {
        name_not_finite(locate, &survey, text);
    } else if (survey.different == 0) {
        snprintf(text, LOCATE_TEXT_BYTES, "nothing differs");
    } else if (is_stale(locate)) {
        snprintf(text, LOCATE_TEXT_BYTES,
                 "%s that of the step before: a stale bucket, or a part not gathered", who);
        append_shard(locate, shard, text);
    } else if (factor_fits(locate, &survey, 1, 1)) {
        snprintf(text, LOCATE_TEXT_BYTES, "%s off in the last bits only: another order of addition",
                 who);
    } else if (name_factor(locate, &survey, text)) {
        append_shard(locate, shard, text);
    } else if (is_zero(locate)) {
        snprintf(text, LOCATE_TEXT_BYTES, "%s zero: never written", who);
        append_shard(locate, shard, text);
    } else if (name_chunks(locate, text)) {
        return;
    } else if (shard < locate->world) {
        snprintf(text, LOCATE_TEXT_BYTES, "an offset, or a part not gathered");
        append_shard(locate, shard, text);
    } else {
        snprintf(text, LOCATE_TEXT_BYTES, "no usual cause fits");
    }
}
