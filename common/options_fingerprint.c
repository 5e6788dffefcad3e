/*
 * options_fingerprint: one number for all that the ranks of a run must have been given alike.
 *
 * Texts count by what they say, wherever they stand in memory. Where a rank writes its files is its
 * own affair; whether it writes them is not: a rank that stops to save keeps the others waiting.
 */
#include "common/options.h"

#include "common/flag.h"

#include <string.h>

static uint64_t mix(uint64_t hash, const void *bytes, size_t size_bytes)
{
    const unsigned char *byte = bytes; // FNV-1a
    for (size_t i = 0; i < size_bytes; i++)
        hash = (hash ^ byte[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static uint64_t mix_text(uint64_t hash, const char *text)
{
    return text ? mix(hash, text, strlen(text) + 1) : mix(hash, "\1", 1);
}

static uint64_t mix_flag(uint64_t hash, const struct flag *flag, const struct options *options)
{
    const void *field = (const char *)options + flag->offset;
    switch (flag->kind) {
    case FLAG_ON:
    case FLAG_OFF:
        return mix(hash, field, sizeof(bool));
    case FLAG_TEXT:
        return mix_text(hash, *(const char *const *)field);
    case FLAG_PATH:
        return mix(hash, *(const char *const *)field ? "1" : "0", 1);
    case FLAG_CHOICE:
        return mix(hash, field, sizeof(int));
    case FLAG_REAL:
        return mix(hash, field, sizeof(double));
    case FLAG_HIDDEN:
        hash = mix(hash, &options->hidden_count, sizeof options->hidden_count);
        hash = mix(hash, &options->hidden_given, sizeof options->hidden_given);
        return mix(hash, options->hidden, options->hidden_count * sizeof *options->hidden);
    case FLAG_SCHEDULE:
        hash = mix(hash, &options->halve_every, sizeof options->halve_every);
        return mix(hash, &options->schedule, sizeof options->schedule);
    case FLAG_INIT:
        return mix_text(hash, options->init);
    default:
        return mix(hash, field, sizeof(size_t));
    }
}

uint64_t options_fingerprint(const struct options *options)
{
    uint64_t hash = mix(UINT64_C(0xcbf29ce484222325), &options->lesson, sizeof options->lesson);
    for (const struct flag *flag = flags; flag->help; flag++)
        if (flag->scope == FLAG_SHARED)
            hash = mix_flag(hash, flag, options);
    return mix(hash, &options->bench_all, sizeof options->bench_all);
}
