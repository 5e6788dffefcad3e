/* slice: cutting a vector into parts whose sizes differ by at most one. See the header. */
#include "common/slice.h"

#include <assert.h>

struct slice slice_of(size_t count, size_t parts, size_t index)
{
    // task 01.5 {
    assert(parts > 0 && index < parts);
    size_t base = count / parts, longer = count % parts; // the first `longer` parts have one more
    struct slice slice = {
        .begin = index * base + (index < longer ? index : longer),
        .count = base + (index < longer ? 1 : 0),
    };
    return slice;
    // } 01.5
}

struct slice slice_overlap(struct slice a, struct slice b)
{
    size_t begin = a.begin > b.begin ? a.begin : b.begin;
    size_t a_end = a.begin + a.count, b_end = b.begin + b.count;
    size_t end = a_end < b_end ? a_end : b_end;
    return (struct slice){.begin = begin, .count = end > begin ? end - begin : 0};
}
