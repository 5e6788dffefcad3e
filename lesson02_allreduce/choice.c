/* choice: which algorithm for which size. See the header. */
#include "lesson02_allreduce/choice.h"

struct choice choice_fixed(enum algorithm algorithm)
{
    return (struct choice){.rows = {{INT64_MAX, algorithm}}};
}

/* Measured on 2 cores, by TCP and Unix sockets. Two ranks: direct's one step wins while it lasts,
 * then the ring, both of whose ranks work all the time. More ranks, 3 to 8 measured: up to 64 KiB root,
 * for cores that are shared have to handle 2 (R - 1) messages instead of direct's R (R - 1); then
 * direct, which wakes a rank less often than the ring's 2 (R - 1) rounds. Both fold in rank order, so
 * the border between them shows in no bit. Not measured: many ranks on many hosts, where R - 1
 * partners at once crowd a host's one link; there a ring's two partners are the safer guess for what
 * takes long. */
struct choice choice_builtin(int world)
{
    if (world == 2)
        return (struct choice){
            .rows = {{(int64_t)algorithm_direct_whole_bytes(2), ALGORITHM_DIRECT},
                     {INT64_MAX, ALGORITHM_RING}}};
    if (world <= 8)
        return (struct choice){.rows = {{64 << 10, ALGORITHM_ROOT}, {INT64_MAX, ALGORITHM_DIRECT}}};
    return (struct choice){.rows = {{64 << 10, ALGORITHM_DIRECT}, {INT64_MAX, ALGORITHM_RING}}};
}

struct choice choice_builtin_halves(int world)
{
    struct choice choice = choice_builtin(world);
    for (size_t i = 0; i < CHOICE_ROWS_MOST; i++)
        if (choice.rows[i].algorithm == ALGORITHM_ROOT)
            choice.rows[i].algorithm = ALGORITHM_DIRECT;
    return choice;
}

static const struct choice_row *row_for(const struct choice *choice, size_t bytes)
{
    size_t row = 0;
    while (row + 1 < CHOICE_ROWS_MOST && (uint64_t)choice->rows[row].most_bytes < bytes)
        row++;
    return &choice->rows[row];
}

enum algorithm choice_for(const struct choice *choice, size_t bytes)
{
    return (enum algorithm)row_for(choice, bytes)->algorithm;
}

int64_t choice_border(const struct choice *choice, size_t bytes)
{
    return row_for(choice, bytes)->most_bytes;
}
