/* explain_buckets: which gradients travel together, drawn. See the header. */
#include "lesson03_ddp/explain_buckets.h"
#include "lesson02_allreduce/steps.h"

#include <string.h>

enum { LINE_MOST = 96, CELL_BYTES = 32 };

/* --- the slab -------------------------------------------------------------------------------- */

static void bucket_text(const struct bucket_plan *plan, size_t tensor, char text[CELL_BYTES])
{
    if (plan->of_tensor[tensor] == BUCKET_NONE)
        snprintf(text, CELL_BYTES, "-");
    else
        snprintf(text, CELL_BYTES, "%zu", plan->of_tensor[tensor]);
}

/* Tensors `from` up to `to`; a bar where one bucket ends and another begins. */
static void draw_line(FILE *out, const struct model *model, const struct bucket_plan *plan,
                      size_t from, size_t to)
{
    char text[CELL_BYTES];
    fprintf(out, "    slab    |");
    for (size_t i = from; i < to; i++)
        fprintf(out, " %s |", model->tensors[i].name);
    fprintf(out, "\n    bucket  |");
    for (size_t i = from; i < to; i++) {
        bool closes = i + 1 == to || plan->of_tensor[i] != plan->of_tensor[i + 1];
        bucket_text(plan, i, text);
        fprintf(out, " %-*s %c", (int)strlen(model->tensors[i].name), text, closes ? '|' : ' ');
    }
    fprintf(out, "\n");
}

static void draw_slab(FILE *out, const struct model *model, const struct bucket_plan *plan)
{
    for (size_t from = 0, to; from < model->tensor_count; from = to) {
        size_t length = 13 + strlen(model->tensors[from].name) + 3;
        for (to = from + 1; to < model->tensor_count; to++) {
            length += strlen(model->tensors[to].name) + 3;
            if (length > LINE_MOST)
                break;
        }
        draw_line(out, model, plan, from, to);
    }
}

/* --- the table ------------------------------------------------------------------------------- */

static size_t messages_of(const struct explain_buckets *explain, enum algorithm algorithm,
                          size_t bucket, size_t count)
{
    size_t ranks = (size_t)explain->world;
    size_t gathers = explain->gathers ? explain->gathers[bucket] : 1;
    return explain->halves ? (1 + gathers) * ranks * (ranks - 1)
                           : steps_of(algorithm, explain->world, count, NULL, 0);
}

static void print_tensors(FILE *out, const struct model *model, const struct bucket_plan *plan,
                          size_t bucket)
{
    for (size_t i = 0; i < plan->order.count; i++)
        if (plan->of_tensor[plan->order.tensors[i]] == bucket)
            fprintf(out, " %s", model->tensors[plan->order.tensors[i]].name);
    fprintf(out, "\n");
}

static double kib(size_t bytes)
{
    return (double)bytes / 1024;
}

void explain_buckets(FILE *out, const struct explain_buckets *explain,
                     const struct bucket_plan *plan)
{
    size_t elements = 0, messages = 0;
    draw_slab(out, explain->model, plan);
    fprintf(out, "\n    %6s %10s %10s %10s  %-8s %8s  %s\n", "bucket", "elements", "KiB", "cap KiB",
            "by", "messages", "tensors, as planned");
    for (size_t i = 0; i < plan->count; i++) {
        size_t count = plan->buckets[i].slice.count, bytes = count * sizeof(float);
        enum algorithm algorithm = choice_for(&explain->choice, bytes);
        size_t sent = messages_of(explain, algorithm, i, count);
        fprintf(out, "    %6zu %10zu %10.2f %10.2f  %-8s %8zu ", i, count, kib(bytes),
                kib(i == 0 ? explain->first_bytes : explain->bytes), algorithm_name(algorithm),
                sent);
        print_tensors(out, explain->model, plan, i);
        elements += count;
        messages += sent;
    }
    fprintf(out, "    %6s %10zu %10.2f %10s  %-8s %8zu  per update, by %d rank%s together\n", "all",
            elements, kib(elements * sizeof(float)), "", "", messages, explain->world,
            explain->world == 1 ? "" : "s");
}
