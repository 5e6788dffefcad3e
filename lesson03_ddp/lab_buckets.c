/*
 * lab_buckets: how large should a bucket be? The bucket experiment of lesson 3.
 *
 * Takes lesson 3's flags, and LAB_FILE in the environment: where the numbers go, one row per line, for
 * gnuplot. lab_buckets.sh runs it over several links and worlds.
 */
#include "lesson01_single/run.h"
#include "lesson02_allreduce/meet.h"
#include "lesson03_ddp/replicas.h"
#include "lesson03_ddp/sweep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 9 };

static double ms(double seconds)
{
    return 1e3 * seconds;
}

static double first_ready_seconds(const struct sweep *sweep)
{
    double first = sweep->gradient_seconds;
    for (size_t i = 0; i < sweep->run->model.tensor_count; i++)
        first = sweep->ready_seconds[i] < first ? sweep->ready_seconds[i] : first;
    return first;
}

static void print_title(const struct sweep *sweep)
{
    const struct run *run = sweep->run;
    const struct cost_link *link = &sweep->link;
    printf("%zu parameters, %.0f KiB of gradient, %d ranks, %s links%s%s; medians of %zu rounds, "
           "of rank 0\n",
           run->model.count, (double)run->model.count * sizeof(float) / 1024,
           run->environment.world, run->options.link ? "slowed" : "plain",
           run->options.link ? " " : "", run->options.link ? run->options.link : "", sweep->rounds);
    printf(
        "alpha %.1f us a message, beta %.3f ns a byte, gamma %.3f ns a byte added; a step without "
        "communication: %.1f ms, its gradients are ready from %.1f to %.1f ms\n",
        1e6 * link->alpha_seconds, 1e9 * link->beta_seconds, 1e9 * link->gamma_seconds,
        ms(sweep->step_seconds), ms(first_ready_seconds(sweep)), ms(sweep->gradient_seconds));
    printf(
        "|                              buckets |   n | messages |  step ms | exposed ms | comm ms "
        "| model step | model exposed |\n");
}

static void print_row(const struct sweep_row *row)
{
    printf("| %36s | %3zu | %8zu | %8.1f | %10.1f | %7.1f | %10.1f | %13.1f |\n", row->name,
           row->plan.count, row->messages, ms(row->seconds), ms(row->exposed_seconds),
           ms(row->comm_seconds), ms(row->model_seconds), ms(row->model_exposed_seconds));
}

/* What a whole bucket's latency costs: the model's time for one of no bytes, nearly. */
static double closed_form_bytes(const struct sweep *sweep)
{
    const struct run *run = sweep->run;
    double bucket = costmodel_predict(&sweep->link, choice_for(comm_choice(sweep->ddp.comm), 4),
                                      run->environment.world, 4);
    return bucketmodel_best_bytes((double)run->model.count * sizeof(float), bucket,
                                  sweep->gradient_seconds - first_ready_seconds(sweep));
}

/* On plain links communication takes its time from computing, which the model does not know: there
 * is no minimum to foretell. */
static void print_verdict(const struct sweep *sweep)
{
    const struct sweep_row *measured = sweep_fastest(sweep, false);
    const struct sweep_row *predicted = sweep_fastest(sweep, true);
    double ratio = (double)measured->bytes / (double)predicted->bytes;
    bool near = measured == predicted || (ratio >= 0.5 && ratio <= 2);
    printf("fastest as measured: %s", measured->name);
    if (sweep->run->options.link)
        printf("; by the model: %s: %s; sqrt(n a / c) = %.0f KiB", predicted->name,
               near ? "within a factor of two" : "more than a factor of two apart",
               closed_form_bytes(sweep) / 1024);
    printf("\n\n");
}

/* Columns: cap in KiB, as gnuplot's x; measured and predicted. */
static int write_file(const struct sweep *sweep, const char *path, struct fail *fail)
{
    FILE *file = fopen(path, "we");
    if (!file)
        return fail_set(fail, -errno, "cannot write %s: %s", path, strerror(errno));
    fprintf(file, "buckets,overlap,cap_kib,count,messages,step_ms,exposed_ms,comm_ms,"
                  "model_step_ms,model_exposed_ms\n");
    for (size_t i = 0; i < sweep->count; i++) {
        const struct sweep_row *row = &sweep->rows[i];
        fprintf(file, "%s,%d,%.3f,%zu,%zu,%.4f,%.4f,%.4f,%.4f,%.4f\n", row->name, row->overlap,
                row->bytes > 0 ? (double)row->bytes / 1024 : 4, row->plan.count, row->messages,
                ms(row->seconds), ms(row->exposed_seconds), ms(row->comm_seconds),
                ms(row->model_seconds), ms(row->model_exposed_seconds));
    }
    return fclose(file) == 0 ? 0 : fail_set(fail, -EIO, "cannot write %s", path);
}

static int report(struct sweep *sweep)
{
    const char *path = getenv("LAB_FILE");
    if (sweep->run->environment.rank > 0)
        return 0;
    print_title(sweep);
    for (size_t i = 0; i < sweep->count; i++)
        print_row(&sweep->rows[i]);
    print_verdict(sweep);
    return path ? write_file(sweep, path, &sweep->run->fail) : 0;
}

int main(int argc, char **argv)
{
    struct run run;
    struct comm *comm = NULL;
    struct sweep sweep = {0};
    int stop = run_open(&run, 3, argc, argv) || meet(&comm, &run) ||
               run_start(&run, &run.whole, 1) || replicas_begin(&run, comm) ||
               sweep_init(&sweep, &run, comm, ROUNDS) || sweep_measure(&sweep) || report(&sweep);
    if (stop)
        meet_report(&run, comm);
    sweep_release(&sweep);
    comm_close(comm);
    return run_close(&run);
}
