/* asked: --explain and --bench. See the header. */
#include "lesson02_allreduce/asked.h"
#include "lesson02_allreduce/bench.h"
#include "lesson02_allreduce/explain.h"
#include "lesson02_allreduce/meet.h"

int asked_explain(struct run *run)
{
    int world = run->environment.world;
    size_t count = run->model.count;
    struct choice choice;
    if (run->environment.rank != 0)
        return 0;
    int error = meet_choice(run, &choice);
    if (error)
        return error;
    enum algorithm algorithm = choice_for(&choice, count * sizeof(float));
    error = explain_algorithm(stdout, algorithm, world, count);
    return error ? fail_set(&run->fail, error, "no memory to draw %d ranks", world) : 0;
}

int asked_bench(struct run *run, struct comm *comm)
{
    const struct options *options = &run->options;
    struct bench bench = {.out = stdout,
                          .transport = (enum comm_transport)options->transport,
                          .link = options->link,
                          .algorithm = (enum algorithm)options->algorithm,
                          .all = options->bench_all,
                          .most_bytes = options->bench_most_bytes,
                          .tuning = options->tuning};
    return bench_allreduce(&bench, comm, &run->fail);
}
