/* check_chunk: a vector's chunks and their parts. See lesson02.h. */
#include "lesson02_allreduce/collective.h"
#include "tests/grade/lesson02.h"
#include "tests/grade/oracle.h"

static int compare(struct grade *grade, const char *what, int number, struct slice found,
                   struct slice right)
{
    return grade_expect(grade, found.begin == right.begin && found.count == right.count,
                        "%s %d: expected %zu from %zu on, found %zu from %zu on", what, number,
                        right.count, right.begin, found.count, found.begin);
}

/* Numbers from before the first to beyond the last. */
static int compare_chunks(struct grade *grade, size_t count, int world)
{
    struct collective ring = {
        .call = {.count = count}, .count = count, .size_bytes = 4, .world = world};
    char what[64];
    int wrong = 0;
    snprintf(what, sizeof what, "%zu elements, %d ranks: chunk", count, world);
    for (int number = -2 * world; number <= 2 * world && !wrong; number++)
        wrong = compare(grade, what, number, collective_chunk(&ring, number),
                        oracle_slice(count, world, number));
    return wrong;
}

int chunk_tile(struct grade *grade)
{
    int wrong = 0;
    for (int world = 1; world <= 7; world++)
        for (size_t count = 0; count < 2 * (size_t)world + 2 && !wrong; count++)
            wrong = compare_chunks(grade, count, world);
    size_t large = ((size_t)1 << 33) + grade_odd(grade, 1000); // more than 32 bits hold
    return wrong || compare_chunks(grade, grade_odd(grade, 1000), grade_world(grade)) ||
           compare_chunks(grade, large, grade_world(grade));
}

/* A slice in the middle of a vector, in parts of `most`. */
static int compare_parts(struct grade *grade, struct slice slice, size_t most)
{
    char what[96];
    int wrong = 0;
    snprintf(what, sizeof what, "%zu elements from %zu on, at most %zu, part", slice.count,
             slice.begin, most);
    for (int part = 0; (size_t)part * most <= slice.count + 2 * most && !wrong; part++) {
        size_t from = (size_t)part * most;
        size_t start = from < slice.count ? from : slice.count, left = slice.count - start;
        struct slice right = {slice.begin + start, left < most ? left : most};
        wrong = compare(grade, what, part, collective_part(slice, from, most), right);
    }
    return wrong;
}

/* All that is left, however much more may be asked for; and more than 32 bits hold. */
static int compare_large_parts(struct grade *grade, struct slice slice)
{
    struct slice large = {((size_t)1 << 34) + slice.begin, ((size_t)1 << 33) + slice.count};
    struct slice rest = {slice.begin + 2, slice.count - 2};
    struct slice most = {large.begin + 2, ((size_t)1 << 32) + 1};
    return compare(grade, "at most SIZE_MAX, from element", 2, collective_part(slice, 2, SIZE_MAX),
                   rest) ||
           compare(grade, "at most 2^32 + 1 of 2^33 and some, from element", 2,
                   collective_part(large, 2, most.count), most);
}

int chunk_parts(struct grade *grade)
{
    size_t most = grade_draw(grade, 4, 9);
    struct slice slice = {grade_draw(grade, 1, 50), 3 * most + grade_draw(grade, 1, most - 1)};
    struct slice full = {slice.begin, 2 * most}, none = {slice.begin, 0};
    return compare_parts(grade, slice, most) || compare_parts(grade, full, most) ||
           compare_parts(grade, none, most) || compare_parts(grade, slice, slice.count + 1) ||
           compare_large_parts(grade, slice);
}
