/* ledger: what every rank really keeps, beside what the formula says. See the header. */
#include "lesson04_zero/ledger.h"
#include "common/resident.h"
#include "lesson04_zero/memory_plan.h"

#include <errno.h>
#include <string.h>

/* What ranks tell each other: doubles, which hold every count of bytes there is. */
enum {
    NOW = 0,
    PEAK = MEMORY_USES,
    PEAK_TOTAL = 2 * MEMORY_USES,
    OWNED,
    COPIES, // verification's, at their most
    RESIDENT,
    RESIDENT_PEAK,
    NUMBERS
};

/* Gathered of all ranks. */
struct ledger {
    struct memory_case of;
    int world;
    double rank[ENVIRONMENT_WORLD_MOST][NUMBERS];
};

static int gather(struct ledger *ledger, struct run *run)
{
    double mine[NUMBERS];
    struct resident resident;
    resident_read(&resident);
    for (int use = 0; use < MEMORY_USES; use++) {
        mine[NOW + use] = (double)run->memory.now_bytes[use];
        mine[PEAK + use] = (double)run->memory.peak_bytes[use];
    }
    mine[PEAK_TOTAL] = (double)run->memory.peak_total_bytes;
    mine[OWNED] = (double)run->optimizer.count;
    mine[COPIES] = (double)run->proving.peak_total_bytes;
    mine[RESIDENT] = (double)resident.now_bytes;
    mine[RESIDENT_PEAK] = (double)resident.peak_bytes;
    ledger->of = memory_case_of(run);
    ledger->world = run->environment.world;
    return run_share(run, mine, NUMBERS, ledger->rank[0]);
}

static int check_rank(const struct ledger *ledger, int rank, struct fail *fail)
{
    const double *found = ledger->rank[rank];
    struct memory_plan plan = memory_plan_of(&ledger->of, (size_t)rank);
    size_t owned = memory_owned(&ledger->of, (size_t)rank);
    if (found[OWNED] != (double)owned)
        return fail_set(fail, -EINVAL,
                        "rank %d owns %.0f parameters; chunk %d of every bucket is %zu", rank,
                        found[OWNED], rank, owned);
    for (int use = 0; use < MEMORY_USES; use++)
        if (found[NOW + use] != (double)plan.bytes[use])
            return fail_set(fail, -EINVAL, "rank %d keeps %.0f bytes of %s; the formula says %zu",
                            rank, found[NOW + use], memory_use_name((enum memory_use)use),
                            plan.bytes[use]);
    return 0;
}

static int check(const struct ledger *ledger, struct run *run)
{
    int error = 0;
    for (int rank = 0; rank < ledger->world && !error; rank++)
        error = check_rank(ledger, rank, &run->fail);
    if (error)
        run->exit_code = EXIT_NOT_EQUAL;
    return error;
}

static void print_head(void)
{
    printf("memory, bytes      ");
    for (int use = 0; use < MEMORY_USES; use++)
        printf(" %11s", memory_use_name((enum memory_use)use));
    printf(" %11s\n", "total");
}

static void print_formula(const char *who, const struct memory_case *of, int rank)
{
    struct memory_plan plan = memory_plan_of(of, (size_t)rank);
    printf("%-10s formula ", who);
    for (int use = 0; use < MEMORY_USES; use++)
        printf(" %11zu", plan.bytes[use]);
    printf(" %11zu\n", plan.total_bytes);
}

static void print_found(const char *what, const double *bytes, double total)
{
    printf("%-10s %-8s", "", what);
    for (int use = 0; use < MEMORY_USES; use++)
        printf(" %11.0f", bytes[use]);
    printf(" %11.0f\n", total);
}

static bool alike(const struct ledger *ledger, int a, int b)
{
    return memcmp(ledger->rank[a], ledger->rank[b], OWNED * sizeof(double)) == 0;
}

/* From this rank on, as many as keep the same. Returns the next one. */
static int print_ranks(const struct ledger *ledger, int first)
{
    const double *found = ledger->rank[first];
    char who[32];
    int next = first + 1;
    double total = 0;
    while (next < ledger->world && alike(ledger, first, next))
        next++;
    if (next == first + 1)
        snprintf(who, sizeof who, "rank %d", first);
    else
        snprintf(who, sizeof who, "rank %d-%d", first, next - 1);
    for (int use = 0; use < MEMORY_USES; use++)
        total += found[NOW + use];
    print_formula(who, &ledger->of, first);
    print_found("measured", found + NOW, total);
    print_found("peak", found + PEAK, found[PEAK_TOTAL]);
    return next;
}

/* What the same run would keep in lesson 3, and what the buffers are. */
static void print_foot(const struct ledger *ledger)
{
    struct memory_case ddp = ledger->of;
    struct memory_plan plan = memory_plan_of(&ledger->of, 0);
    ddp.stage = STAGE_DDP;
    ddp.offloads = false;
    print_formula("lesson 3", &ddp, 0);
    printf("buffers of rank 0:");
    for (int i = 0; i < BUFFERS; i++)
        if (plan.buffers[i] > 0)
            printf(" %s %zu", memory_buffer_name((enum memory_buffer)i), plan.buffers[i]);
    printf("; a peak above measured was while the data was read\n");
}

static bool speaks(const struct run *run)
{
    return run->environment.rank == 0 && !run->options.quiet;
}

int ledger_show(struct run *run)
{
    struct ledger ledger;
    int error = gather(&ledger, run);
    if (!error)
        error = check(&ledger, run);
    if (error || !speaks(run))
        return error;
    print_head();
    for (int rank = 0; rank < ledger.world;)
        rank = print_ranks(&ledger, rank);
    print_foot(&ledger);
    return 0;
}

/* The largest of all ranks', in MiB. */
static double most_mib(const struct ledger *ledger, int number)
{
    double most = 0;
    for (int rank = 0; rank < ledger->world; rank++)
        most = ledger->rank[rank][number] > most ? ledger->rank[rank][number] : most;
    return most / (1024 * 1024);
}

int ledger_end(struct run *run)
{
    struct ledger ledger;
    int error = gather(&ledger, run);
    if (!error)
        error = check(&ledger, run);
    if (error || !speaks(run))
        return error;
    progress_clear(&run->progress);
    printf(
        "memory | of any rank, at most: ledger %.2f MiB, verification's copies %.2f | resident, as "
        "the operating system counts: ",
        most_mib(&ledger, PEAK_TOTAL), most_mib(&ledger, COPIES));
    if (ledger.rank[0][RESIDENT] > 0)
        printf("%.2f now, %.2f at most\n", most_mib(&ledger, RESIDENT),
               most_mib(&ledger, RESIDENT_PEAK));
    else
        printf("not known here\n");
    return 0;
}
