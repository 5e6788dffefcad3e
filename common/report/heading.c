/* heading: what the run was and how it ended. See the header. */
#include "common/report/heading.h"
#include "common/report/html.h"

#include <math.h>
#include <stdlib.h>

enum { SAYS_BYTES = 512 };

const char *heading_plural(size_t count)
{
    return count == 1 ? "" : "s";
}

static void put_term(const struct page *page, const char *term, const char *text)
{
    fprintf(page->out, "<dt>%s</dt><dd>", term);
    html_text(page->out, text);
    fputs("</dd>\n", page->out);
}

/* As they would be given. */
static void put_flags(const struct page *page)
{
    const json_t *options = page->survey->book->ranks[0].starts[0].options;
    const json_t *given = json_object_get(options, "given");
    fputs("<dt>flags</dt><dd>", page->out);
    for (size_t i = 0; i < json_array_size(given); i++) {
        const char *name = json_string_value(json_array_get(given, i));
        const json_t *value = name ? json_object_get(options, name) : NULL;
        char *text = json_is_string(value) || json_is_boolean(value)
                         ? NULL
                         : json_dumps(value, JSON_ENCODE_ANY);
        if (name)
            html_format(page->out, "--%s %s ", name,
                        text                    ? text
                        : json_is_string(value) ? json_string_value(value)
                                                : "");
        free(text);
    }
    fputs(json_array_size(given) == 0 ? "none</dd>\n" : "</dd>\n", page->out);
}

/* Of the last epoch there is. */
static void put_results(const struct page *page)
{
    const struct case_rank *first = &page->survey->book->ranks[0];
    char text[SAYS_BYTES];
    if (first->epoch_count == 0)
        return;
    const struct case_epoch *epoch = &first->epochs[first->epoch_count - 1];
    snprintf(text, sizeof text, "%.4g (mean of the last epoch recorded)", epoch->train_loss);
    put_term(page, "training loss", isfinite(epoch->train_loss) ? text : "not finite");
    snprintf(text, sizeof text, "%.4g", epoch->test_loss);
    if (isfinite(epoch->test_loss))
        put_term(page, "test loss", text);
    snprintf(text, sizeof text, "%.2f %%", 100 * epoch->test_accuracy);
    if (isfinite(epoch->test_accuracy))
        put_term(page, "test accuracy", text);
}

static void put_warning(const struct page *page, const char *text)
{
    fputs("<div class=\"box bad\"><p>", page->out);
    html_text(page->out, text);
    fputs("</p></div>\n", page->out);
}

/* A rank that was killed, or hangs, has no end; one that failed has another exit code. */
static void put_end(const struct page *page)
{
    const struct casebook *book = page->survey->book;
    char text[SAYS_BYTES];
    size_t without = 0, failed = 0, which = 0, failing = 0;
    for (size_t rank = book->world; rank-- > 0;) {
        if (!book->ranks[rank].ended) {
            without++;
            which = rank;
        } else if (book->ranks[rank].exit_code != 0) {
            failed++;
            failing = rank;
        }
    }
    snprintf(
        text, sizeof text,
        "The run did not end by itself: %zu of %zu rank%s left no last line (rank %zu did not). "
        "Shown are the %zu "
        "updates that every rank has recorded, of %zu.",
        without, book->world, heading_plural(book->world), which, page->survey->steps,
        book->updates);
    if (without > 0)
        put_warning(page, text);
    snprintf(text, sizeof text,
             "The run failed: %zu of %zu rank%s ended with an error, rank %zu with exit code %zu.",
             failed, book->world, heading_plural(book->world), failing,
             book->ranks[failing].exit_code);
    if (failed > 0)
        put_warning(page, text);
    snprintf(text, sizeof text, "The reported loss is not finite in %zu of %zu updates.",
             page->survey->lost, page->survey->steps);
    if (page->survey->lost > 0)
        put_warning(page, text);
}

void heading_write(const struct page *page)
{
    const struct casebook *book = page->survey->book;
    FILE *out = page->out;
    fprintf(out,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
            "<title>Lesson %d, %zu rank%s, %zu update%s</title>\n<style>\n",
            book->lesson, book->world, heading_plural(book->world), page->survey->steps,
            heading_plural(page->survey->steps));
    html_file(out, page->folder, "page.css");
    fputs("</style>\n</head>\n<body>\n", out);
    fprintf(out, "<header>\n<h1>Lesson %d, %zu rank%s, %zu update%s</h1>\n<dl>\n", book->lesson,
            book->world, heading_plural(book->world), page->survey->steps,
            heading_plural(page->survey->steps));
    put_term(page, "record", book->folder);
    if (page->reference)
        put_term(page, "beside", page->reference->folder);
    put_flags(page);
    fprintf(out, "<dt>data</dt><dd>%zu training and %zu test samples, %zu parameters</dd>\n",
            book->train_samples, book->test_samples, book->parameters);
    put_results(page);
    fputs("</dl>\n", out);
    put_end(page);
    fputs("</header>\n", out);
}
