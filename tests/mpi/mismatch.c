/*
 * mismatch: three ranks, the middle one of which makes another call than the others. For check_mpi.sh.
 *
 *   mpirun -n 3 mismatch none | count | type | operation | algorithm | tag | order
 *
 * Each rank prints what it was told. Exits 1 when there was an error, as there must be; 0 with none.
 */
#include "lesson02_allreduce/allreduce.h"
#include "lesson02_allreduce/barrier.h"
#include "lesson02_allreduce/comm.h"
#include "lesson02_allreduce/ring.h"

#include <string.h>

enum { COUNT = 100000 }; // longer than one message of MPI's

static int call(struct comm *comm, float *data, const char *other)
{
    struct choice direct = choice_fixed(ALGORITHM_DIRECT);
    if (strcmp(other, "algorithm") == 0)
        comm_set_choice(comm, &direct);
    if (strcmp(other, "tag") == 0)
        comm_tag(comm, 7);
    if (strcmp(other, "order") == 0 && barrier(comm))
        return 1;
    if (strcmp(other, "operation") == 0)
        return ring_all_gather(comm, data, COUNT, COMM_F32);
    size_t count = strcmp(other, "count") == 0 ? COUNT - 6 : COUNT;
    enum comm_type type = strcmp(other, "type") == 0 ? COMM_I32 : COMM_F32;
    return allreduce(comm, data, data, count, type, COMM_SUM);
}

int main(int argc, char **argv)
{
    static float data[COUNT];
    struct environment environment;
    struct fail fail = {0};
    struct comm *comm = NULL;
    struct comm_config config = {.timeout_seconds = 10, .log = stderr, .transport = COMM_MPI};
    int error = environment_read(&environment, &fail);
    if (!error)
        error = comm_open(&comm, &environment, &config, &fail);
    if (!error)
        error = call(comm, data, argc == 2 && environment.rank == 1 ? argv[1] : "none");
    if (!error)
        error = barrier(comm);
    fprintf(stderr, "%s\n", comm ? comm_fail(comm)->text : fail.text);
    comm_close(comm);
    return error ? 1 : 0;
}
