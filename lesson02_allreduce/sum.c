/*
 * sum: plain loops, one per type. Each element is read by memcpy, which compiles to an unaligned
 * load, so the compiler makes vector instructions of the whole loop.
 */
#include "lesson02_allreduce/sum.h"

#include <string.h>

static void add_f32(float *restrict own, const uint8_t *restrict received, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        float value;
        memcpy(&value, received + i * sizeof value, sizeof value);
        own[i] += value;
    }
}

static void add_f64(double *restrict own, const uint8_t *restrict received, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double value;
        memcpy(&value, received + i * sizeof value, sizeof value);
        own[i] += value;
    }
}

static void add_u64(uint64_t *restrict own, const uint8_t *restrict received, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t value;
        memcpy(&value, received + i * sizeof value, sizeof value);
        own[i] += value;
    }
}

void sum_add(void *own, const uint8_t *received, size_t count, enum comm_type type)
{
    if (type == COMM_F32)
        add_f32(own, received, count);
    else if (type == COMM_F64)
        add_f64(own, received, count);
    else
        add_u64(own, received, count);
}
