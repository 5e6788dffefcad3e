/* oracle: the right answers. See the header. */
#include "tests/grade/oracle.h"

struct slice oracle_slice(size_t count, int parts, int index)
{
    size_t part = (size_t)(((index % parts) + parts) % parts), all = (size_t)parts;
    size_t base = count / all, longer = count % all;
    size_t before = part < longer ? part : longer;
    return (struct slice){.begin = part * base + before, .count = base + (part < longer)};
}

/* A third has all the bits of a float, at any size. */
float oracle_share(const struct grade *grade, int rank, size_t i)
{
    return grade_value(grade, (size_t)rank, i) / 3;
}

void oracle_fill(const struct grade *grade, int rank, float *in, size_t count)
{
    for (size_t i = 0; i < count; i++)
        in[i] = oracle_share(grade, rank, i);
}

static int chunk_of(int world, size_t count, size_t i)
{
    int chunk = 0;
    for (struct slice slice = oracle_slice(count, world, 0); i >= slice.begin + slice.count;)
        slice = oracle_slice(count, world, ++chunk);
    return chunk;
}

float oracle_ring_sum(const struct grade *grade, int world, size_t count, size_t i)
{
    int chunk = chunk_of(world, count, i);
    float sum = oracle_share(grade, (chunk + 1) % world, i);
    for (int k = 2; k <= world; k++)
        sum += oracle_share(grade, (chunk + k) % world, i);
    return sum;
}
