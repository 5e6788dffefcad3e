/* collective: a vector, its chunks, and where this rank stands. See the header. */
#include "lesson02_allreduce/collective.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

int collective_begin(struct collective *collective, struct comm *comm, const struct comm_call *call,
                     void *data)
{
    *collective = (struct collective){.comm = comm,
                                      .call = *call,
                                      .data = data,
                                      .count = call->count,
                                      .size_bytes = comm_type_bytes(call->type),
                                      .rank = comm_rank(comm),
                                      .world = comm_world(comm)};
    return comm_begin(comm, call);
}

static bool overlap_in_part(const void *in, const void *out, size_t size_bytes)
{
    uintptr_t a = (uintptr_t)in, b = (uintptr_t)out;
    return a != b && a < b + size_bytes && b < a + size_bytes;
}

int collective_begin_allreduce(struct collective *collective, struct comm *comm,
                               const struct comm_call *call, const void *in, void *out)
{
    size_t bytes = call->count * comm_type_bytes(call->type);
    if (overlap_in_part(in, out, bytes))
        return -EINVAL;
    int error = collective_begin(collective, comm, call, out);
    if (!error && in != out && bytes > 0)
        memcpy(out, in, bytes);
    return error;
}

int collective_end(const struct collective *collective, int error)
{
    return error ? error : comm_end(collective->comm);
}

struct slice collective_chunk(const struct collective *collective, int number)
{
    // task 02.1 {
    int index = (number % collective->world + collective->world) % collective->world;
    return slice_of(collective->count, (size_t)collective->world, (size_t)index);
    // } 02.1
}

void *collective_at(const struct collective *collective, size_t index)
{
    return collective->data + index * collective->size_bytes;
}

struct slice collective_part(struct slice slice, size_t from, size_t most)
{
    // task 02.1 {
    if (from >= slice.count)
        return (struct slice){.begin = slice.begin + slice.count, .count = 0};
    size_t left = slice.count - from;
    return (struct slice){.begin = slice.begin + from, .count = left < most ? left : most};
    // } 02.1
}
