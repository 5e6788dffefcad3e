/* advice_print: the table of choices, and what it comes to in a sentence. See advice.h. */
#include "lesson02_allreduce/meet.h"
#include "lesson04_zero/advice.h"

#include <errno.h>
#include <string.h>
#include <time.h>

enum { MIB = 1024 * 1024, SIZE_TEXT_BYTES = 24 };

/* "964 B", "18.4 KiB", "65.2 MiB", "1.27 GiB" */
static const char *size_text(char text[SIZE_TEXT_BYTES], size_t bytes)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes / 1024;
    size_t unit = 0;
    for (; value >= 1023.95 && unit < 3; unit++)
        value /= 1024;
    if (bytes < 1024)
        snprintf(text, SIZE_TEXT_BYTES, "%zu B", bytes);
    else
        snprintf(text, SIZE_TEXT_BYTES, "%.*f %s", unit < 2 ? 1 : 2, value, units[unit]);
    return text;
}

static void print_cell(size_t bytes, FILE *out)
{
    char text[SIZE_TEXT_BYTES];
    fprintf(out, " %11s", size_text(text, bytes));
}

static void print_head(FILE *out)
{
    fprintf(out, "%-20s", "choice");
    for (int use = 0; use < MEMORY_OTHER; use++)
        fprintf(out, " %11s", memory_use_name((enum memory_use)use));
    fprintf(out, " %11s %11s\n", "a rank", "sends");
}

static void print_choice(const struct advice_choice *choice, FILE *out)
{
    fprintf(out, "%-20s", choice->name);
    for (int use = 0; use < MEMORY_OTHER; use++)
        print_cell(choice->plan.bytes[use], out);
    print_cell(choice->total_bytes, out);
    print_cell(choice->sent_bytes, out);
    fprintf(out, "  %s\n", choice->fits ? "fits" : "too much");
}

static void print_nothing_fits(const struct advice *advice, FILE *out)
{
    const struct advice_choice *least = advice->choices;
    size_t read_bytes = advice->run->memory.peak_total_bytes; // whatever is chosen
    char text[SIZE_TEXT_BYTES];
    for (size_t i = 0; i < advice->count; i++)
        if (advice->choices[i].total_bytes < least->total_bytes)
            least = &advice->choices[i];
    fprintf(out,
            "Nothing fits. The least is %s, %s a rank: ", least->name + strspn(least->name, " "),
            size_text(text, least->total_bytes));
    int enough = advice_enough_ranks(advice);
    if (read_bytes > least->limit_bytes)
        fprintf(out, "to read the data alone takes %s.\n", size_text(text, read_bytes));
    else if (enough > 0)
        fprintf(out, "on %d ranks with as much each ZeRO %d would fit.\n", enough, STAGE_MOST);
    else
        fprintf(out, "more ranks would not do, a smaller --hidden or --batch may.\n");
}

/* Every stage has its price in speed or in simplicity; what asks for it is memory alone. */
static void print_verdict(const struct advice *advice, FILE *out)
{
    const struct advice_choice *simplest = advice_simplest(advice);
    const struct advice_choice *ranks = advice_simplest_ranks(advice);
    if (!simplest) {
        print_nothing_fits(advice, out);
        return;
    }
    fprintf(out, "The simplest that fits: %s (%s).\n", simplest->name + strspn(simplest->name, " "),
            simplest->flags);
    if (advice->world == 1)
        return; // nobody to be faster with
    if (ranks && ranks != simplest)
        fprintf(out, "The simplest that fits and uses %d ranks, for speed: %s (%s).\n",
                advice->world, ranks->name, ranks->flags);
    if (!ranks)
        fprintf(out, "None of those that use %d ranks fits.\n", advice->world);
}

static void print_question(const struct advice *advice, FILE *out)
{
    const struct run *run = advice->run;
    static const char *const optimizers[] = {"sgd", "adam", "adamw"};
    size_t limit = advice->choices[advice->count - 1].limit_bytes;
    char text[SIZE_TEXT_BYTES];
    for (size_t i = 0; i <= run->model.layers; i++)
        fprintf(out, "%s%zu", i ? "-" : "", run->model.widths[i]);
    fprintf(out, " network of %zu parameters, %s, updates of %zu samples, %d rank%s; ",
            run->model.count, optimizers[run->options.optimizer],
            run->options.batch * run->options.accumulate, advice->world,
            advice->world == 1 ? "" : "s");
    if (run->options.memory_limit > 0)
        fprintf(out, "a rank may have %s\n", size_text(text, limit));
    else if (limit < SIZE_MAX)
        fprintf(out, "a rank may have %s, its part of this machine\n", size_text(text, limit));
    else
        fprintf(out, "what a rank may have is not known: give --memory-limit\n");
}

void advice_print(const struct advice *advice, FILE *out)
{
    print_question(advice, out);
    print_head(out);
    for (size_t i = 0; i < advice->count; i++)
        print_choice(&advice->choices[i], out);
    print_verdict(advice, out);
}

static size_t limit_of(const struct run *run)
{
    size_t most = SIZE_MAX / MIB; // more is no limit
    size_t mib = run->options.memory_limit;
    return (mib < most ? mib : most) * MIB;
}

int advice_asked(struct run *run)
{
    struct advice advice;
    int world = run->options.ranks > 0 ? (int)run->options.ranks : run->environment.world;
    int error = meet_choice(run, &advice.algorithms);
    if (error || run->environment.rank > 0)
        return error;
    advice_make(&advice, run, world, limit_of(run));
    advice_print(&advice, stdout);
    return 0;
}

/* What this run would keep, on the rank that keeps most. */
static size_t bytes_of(const struct run *run)
{
    struct memory_case of = memory_case_of(run);
    size_t most = run->memory.peak_total_bytes;
    for (size_t rank = 0; rank < (size_t)of.world; rank++) {
        struct memory_plan plan = memory_plan_of(&of, rank);
        most = plan.total_bytes > most ? plan.total_bytes : most;
    }
    return most;
}

/* Whoever watches the job ends the others once one has ended: the table's rank goes first. */
static void let_rank_0_speak(const struct run *run)
{
    if (run->environment.rank > 0)
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
}

int advice_check_limit(struct run *run)
{
    struct advice advice;
    size_t limit = limit_of(run), bytes = bytes_of(run);
    char text[SIZE_TEXT_BYTES];
    if (limit == 0 || bytes <= limit)
        return 0;
    int error = meet_choice(run, &advice.algorithms);
    if (error)
        return error;
    advice_make(&advice, run, run->environment.world, limit);
    if (run->environment.rank == 0 && !run->options.quiet)
        advice_print(&advice, stdout);
    const struct advice_choice *fits = advice_simplest_ranks(&advice);
    fits = fits ? fits : advice_simplest(&advice);
    let_rank_0_speak(run);
    run->exit_code = EXIT_USAGE;
    return fail_set(&run->fail, -ENOMEM, "--memory-limit %zu: a rank of this run keeps %s; %s%s",
                    run->options.memory_limit, size_text(text, bytes),
                    fits ? "this would fit: " : "nothing that is offered here would fit",
                    fits ? fits->flags : "");
}
