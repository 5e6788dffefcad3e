/* halving: recursive halving and doubling. See the header. */
#include "lesson02_allreduce/halving.h"
#include "lesson02_allreduce/collective.h"

#include <stdbool.h>

enum { ROUNDS_MOST = 16 };

int halving_power(int world)
{
    int power = 1;
    while (power * 2 <= world)
        power *= 2;
    return power;
}

/* The ranks that take part, numbered 0 .. P - 1: of the first 2 x extra ranks only the even ones. */
static int rank_of(const struct collective *all, int place)
{
    int extra = all->world - halving_power(all->world);
    return place < extra ? 2 * place : place + extra;
}

static int place_of(const struct collective *all, int rank)
{
    int extra = all->world - halving_power(all->world);
    return rank < 2 * extra ? rank / 2 : rank - extra;
}

/* Half `which` (0 or 1) of a slice. */
static struct slice half(struct slice slice, int which)
{
    struct slice part = slice_of(slice.count, 2, (size_t)which);
    part.begin += slice.begin;
    return part;
}

static int swap(const struct collective *all, int partner, struct slice give, struct slice take,
                enum comm_receive how)
{
    struct comm_step step = {.to = partner,
                             .from = partner,
                             .send = collective_at(all, give.begin),
                             .send_count = give.count,
                             .receive = collective_at(all, take.begin),
                             .receive_count = take.count,
                             .how = how};
    return comm_exchange(all->comm, &step);
}

/* held[k]: what this rank is responsible for before round k; half of it after. */
static int halve_and_double(const struct collective *all)
{
    struct slice held[ROUNDS_MOST] = {{.begin = 0, .count = all->count}};
    int place = place_of(all, all->rank), power = halving_power(all->world), round = 0, error = 0;
    for (int distance = 1; distance < power && !error; distance *= 2, round++) {
        int upper = (place & distance) != 0;
        held[round + 1] = half(held[round], upper);
        error = swap(all, rank_of(all, place ^ distance), half(held[round], !upper),
                     held[round + 1], COMM_REDUCE);
    }
    for (int distance = power / 2; distance > 0 && !error; distance /= 2, round--) {
        int upper = (place & distance) != 0;
        error = swap(all, rank_of(all, place ^ distance), held[round],
                     half(held[round - 1], !upper), COMM_STORE);
    }
    return error;
}

/* A rank without a place: its neighbour below takes its part and returns the result. */
static int stand_aside(const struct collective *all)
{
    comm_send(all->comm, all->rank - 1, all->data, all->count);
    int error = comm_wait(all->comm);
    if (error)
        return error;
    comm_receive(all->comm, all->rank - 1, all->data, all->count, COMM_STORE);
    return comm_wait(all->comm);
}

static int take_part(const struct collective *all, bool for_two)
{
    int error = 0;
    if (for_two) {
        comm_receive(all->comm, all->rank + 1, all->data, all->count, COMM_REDUCE);
        error = comm_wait(all->comm);
    }
    if (!error)
        error = halve_and_double(all);
    if (error || !for_two)
        return error;
    comm_send(all->comm, all->rank + 1, all->data, all->count);
    return comm_wait(all->comm);
}

int halving_allreduce(struct comm *comm, const void *in, void *out, size_t count,
                      enum comm_type type, enum comm_reduction reduction)
{
    struct comm_call call = {COMM_ALLREDUCE, ALGORITHM_HALVING, type, reduction, count};
    struct collective all;
    int error = collective_begin_allreduce(&all, comm, &call, in, out);
    if (!error && count > 0) {
        bool paired = all.rank < 2 * (all.world - halving_power(all.world));
        error = paired && all.rank % 2 == 1 ? stand_aside(&all) : take_part(&all, paired);
    }
    return collective_end(&all, error);
}
