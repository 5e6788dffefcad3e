/*
 * page: one rank's file of a record. See the header.
 *
 * Whatever it holds was written by somebody else. A count is checked before anything is made as large as it says, and
 * nothing is made that is larger than the file.
 */
#include "common/doctor/page.h"
#include "common/doctor/line.h"
#include "common/doctor/start.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE_BYTES = 4096 };

/* Room for one more, cleared; arrays double. NULL: no memory. */
static void *grow(void **array, size_t *count, size_t size)
{
    bool full = (*count & (*count - 1)) == 0; // 0, 1, 2, 4, ...
    if (full) {
        void *larger = realloc(*array, (*count > 0 ? 2 * *count : 1) * size);
        if (!larger)
            return NULL;
        *array = larger;
    }
    char *entry = (char *)*array + *count * size;
    memset(entry, 0, size);
    *count += 1;
    return entry;
}

static int refuse_memory(const struct line *line)
{
    return fail_set(line->fail, -ENOMEM, "%s, line %zu: no memory for what is recorded", line->path,
                    line->number);
}

/* A step is a look where it has sketches: all three, or none. */
static int take_look(const struct casebook *book, struct case_step *step, const struct line *line)
{
    size_t count = book->tensor_count;
    if (!json_object_get(line->object, "raw"))
        return 0;
    step->look = calloc(1, sizeof *step->look + 3 * count * sizeof(struct sketch));
    if (!step->look)
        return refuse_memory(line);
    step->look->raw = (struct sketch *)(step->look + 1);
    step->look->reduced = step->look->raw + count;
    step->look->param = step->look->reduced + count;
    line_sketches(line, "raw", step->look->raw, count);
    line_sketches(line, "reduced", step->look->reduced, count);
    line_sketches(line, "param", step->look->param, count);
    step->look->param_hash = line_hash(line, "param_hash");
    step->look->dropout_mask = line_hash(line, "dropout_mask");
    step->look->decayed = line_size(line, "decayed");
    return line->fail->code;
}

static int check_step(const struct casebook *book, const struct case_rank *page,
                      const struct case_step *step, const struct line *line)
{
    size_t count = page->step_count;
    size_t expected = page->starts[page->start_count - 1].first;
    if (count > 1 && page->steps[count - 2].step + 1 > expected)
        expected = page->steps[count - 2].step + 1;
    if (line->fail->code || (step->step == expected && step->samples_local <= step->samples &&
                             step->samples <= book->train_samples && step->micro_batches > 0 &&
                             step->micro_batches <= book->train_samples))
        return line->fail->code;
    if (step->step != expected)
        return fail_set(
            line->fail, -EINVAL,
            "%s, line %zu: expected step %zu, found step %zu: lines are missing or out of order; "
            "record the run again",
            line->path, line->number, expected, step->step);
    return fail_set(line->fail, -EINVAL,
                    "%s, line %zu: step %zu says %zu samples, %zu of them this rank's, in %zu "
                    "micro-batches, of %zu "
                    "there are to train on: that cannot be",
                    line->path, line->number, step->step, step->samples, step->samples_local,
                    step->micro_batches, book->train_samples);
}

/* Comparisons are of a step that was verified, or, with the end, of one that was not finished. */
static int take_proofs(struct case_rank *page, const struct line *line)
{
    json_t *list = json_object_get(line->object, "proof"), *proof;
    size_t i;
    if (!list)
        return line->fail->code;
    if (!json_is_array(list))
        line_refuse(line, "proof", "a list");
    json_array_foreach(list, i, proof)
    {
        struct line inner = *line;
        inner.object = proof;
        line_size(&inner, "step");
        line_text(&inner, "what");
        line_text(&inner, "how");
        line_bool(&inner, "holds");
    }
    page->proofs = page->proofs ? page->proofs : json_array();
    if (!line->fail->code && json_array_extend(page->proofs, list) != 0)
        return refuse_memory(line);
    return line->fail->code;
}

static void take_times(struct case_step *step, const struct line *line)
{
    bool there = json_object_get(line->object, "compute_seconds") != NULL;
    step->compute_seconds = there ? line_real(line, "compute_seconds") : NAN;
    step->comm_seconds = there ? line_real(line, "comm_seconds") : NAN;
    step->exposed_seconds = there ? line_real(line, "exposed_seconds") : NAN;
}

static int take_step(struct casebook *book, struct case_rank *page, const struct line *line)
{
    struct case_step *step = grow((void **)&page->steps, &page->step_count, sizeof *step);
    if (!step)
        return refuse_memory(line);
    step->step = line_size(line, "step");
    step->epoch = line_size(line, "epoch");
    step->samples = line_size(line, "samples");
    step->samples_local = line_size(line, "samples_local");
    step->micro_batches = line_size(line, "micro_batches");
    step->handed_over = line_size(line, "handed_over");
    step->seen = line_hash(line, "seen").bits;
    step->lr = line_real(line, "lr");
    step->loss = line_real(line, "loss");
    step->loss_local = line_real(line, "loss_local");
    step->weight_least = line_real(line, "weight_least");
    step->weight_most = line_real(line, "weight_most");
    step->clip = line_real(line, "clip");
    step->grad_norm = line_real(line, "grad_norm");
    step->seconds = line_real(line, "seconds");
    take_times(step, line);
    step->updated = line_bool(line, "updated");
    step->nonfinite = line_known_true(line, "nonfinite");
    int error = check_step(book, page, step, line);
    if (!error)
        error = take_proofs(page, line);
    return error ? error : take_look(book, step, line);
}

static int take_epoch(struct casebook *book, struct case_rank *page, const struct line *line)
{
    struct case_epoch *epoch = grow((void **)&page->epochs, &page->epoch_count, sizeof *epoch);
    (void)book;
    if (!epoch)
        return refuse_memory(line);
    epoch->epoch = line_size(line, "epoch");
    epoch->step = line_size(line, "step");
    epoch->order = line_hash(line, "order").bits;
    epoch->seen = line_hash(line, "seen").bits;
    epoch->seen_count = line_size(line, "seen_count");
    epoch->evaluated = line_size(line, "evaluated");
    epoch->train_loss = line_real(line, "train_loss");
    epoch->test_loss = line_real(line, "test_loss");
    epoch->test_accuracy = line_real(line, "test_accuracy");
    return line->fail->code;
}

static int take_end(struct casebook *book, struct case_rank *page, const struct line *line)
{
    (void)book;
    page->ended = true;
    page->exit_code = line_size(line, "exit_code");
    page->steps_at_end = line_size(line, "steps");
    return take_proofs(page, line);
}

static int take_start(struct casebook *book, struct case_rank *page, const struct line *line)
{
    struct case_start *start = grow((void **)&page->starts, &page->start_count, sizeof *start);
    if (!start)
        return refuse_memory(line);
    page->ended = false;
    return start_take(book, (size_t)(page - book->ranks), start, line);
}

static int take_object(struct casebook *book, struct case_rank *page, const struct line *line)
{
    static const struct {
        const char *event;
        int (*take)(struct casebook *book, struct case_rank *page, const struct line *line);
    } events[] = {
        {"step", take_step}, {"epoch", take_epoch}, {"end", take_end}, {"start", take_start}};
    const char *event = json_string_value(json_object_get(line->object, "event"));
    if (page->start_count == 0 && (!event || strcmp(event, "start") != 0))
        return fail_set(line->fail, -EINVAL,
                        "%s, line %zu: expected the start of a record (--record DIR), found "
                        "another line: not a "
                        "record of this course, or its beginning is gone",
                        line->path, line->number);
    if (page->ended && event && strcmp(event, "start") != 0)
        return fail_set(line->fail, -EINVAL,
                        "%s, line %zu: there are lines behind the end of the run", line->path,
                        line->number);
    for (size_t i = 0; i < sizeof events / sizeof *events && event; i++)
        if (strcmp(event, events[i].event) == 0)
            return events[i].take(book, page, line);
    line_refuse(line, "event", "start, step, epoch or end");
    return line->fail->code;
}

/* `length` bytes, the newline included. */
static int take_line(struct casebook *book, struct case_rank *page, const char *text, size_t length,
                     struct line *line)
{
    json_error_t wrong;
    if (length == CASEBOOK_LINE_MOST)
        return fail_set(line->fail, -EINVAL,
                        "%s: line %zu is longer than %d bytes: not a record of this course",
                        line->path, line->number, CASEBOOK_LINE_MOST);
    if (text[length - 1] != '\n')
        return fail_set(
            line->fail, -EINVAL,
            "%s is cut off in line %zu: the last line has no end; copy the whole record, or record "
            "the run again",
            line->path, line->number);
    json_t *object = json_loadb(text, length, JSON_REJECT_DUPLICATES, &wrong);
    line->object = object;
    if (json_is_object(object))
        take_object(book, page, line);
    else
        fail_set(line->fail, -EINVAL,
                 "%s, line %zu: no JSON object (%s): not a record of this course, or damaged",
                 line->path, line->number, object ? "another value" : wrong.text);
    json_decref(object);
    return line->fail->code;
}

/* O_NONBLOCK: opening a pipe that nobody writes to must not wait. A device may never end. */
FILE *page_open(const char *path, struct fail *fail)
{
    struct stat found;
    int handle = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool is_file = handle >= 0 && fstat(handle, &found) == 0 && S_ISREG(found.st_mode);
    FILE *file = is_file ? fdopen(handle, "rb") : NULL;
    if (handle >= 0 && !is_file)
        fail_set(fail, -EINVAL, "%s is no file, but a folder, a pipe or a device: not a record",
                 path);
    else if (!file)
        fail_set(fail, -errno, "cannot open %s: %s", path, strerror(errno));
    if (!file && handle >= 0)
        close(handle);
    return file;
}

/* The next line's bytes, the newline included; 0: there is none. What is too long is not read to its end. */
static size_t read_line(FILE *file, char text[CASEBOOK_LINE_MOST])
{
    size_t length = 0;
    for (int c = getc_unlocked(file); c != EOF; c = getc_unlocked(file)) {
        text[length++] = (char)c;
        if (c == '\n' || length == CASEBOOK_LINE_MOST)
            break;
    }
    return length;
}

/* The system writes page by page, and a process may be killed between two of them: half a line that ends with a page is
 * all that came, and the run did not end. Any other half was cut off later. */
static bool ends_with_a_page(FILE *file, const char *text, size_t length)
{
    return text[length - 1] != '\n' && ftell(file) % PAGE_BYTES == 0;
}

int page_read(struct casebook *book, size_t rank, struct fail *fail)
{
    struct case_rank *page = &book->ranks[rank];
    struct line line = {.path = page->path, .fail = fail};
    FILE *file = page_open(page->path, fail);
    if (!file)
        return fail->code;
    char *text = malloc(CASEBOOK_LINE_MOST);
    if (!text)
        refuse_memory(&line);
    for (size_t length = text ? read_line(file, text) : 0; length > 0 && !fail->code;
         length = read_line(file, text)) {
        line.number++;
        if (page->start_count > 0 && ends_with_a_page(file, text, length))
            break;
        take_line(book, page, text, length, &line);
    }
    free(text);
    if (ferror(file))
        fail_set(fail, -EIO, "cannot read %s: %s", page->path, strerror(errno));
    if (!fail->code && page->start_count == 0)
        fail_set(fail, -EINVAL,
                 "%s is empty: expected the start of a record (--record DIR), which a rank writes "
                 "before its first step",
                 page->path);
    fclose(file);
    return fail->code;
}

void page_release(struct case_rank *page)
{
    for (size_t i = 0; i < page->step_count; i++)
        free(page->steps[i].look);
    for (size_t i = 0; i < page->start_count; i++) {
        json_decref(page->starts[i].options);
        free(page->starts[i].param);
    }
    json_decref(page->proofs);
    free(page->steps);
    free(page->starts);
    free(page->epochs);
    *page = (struct case_rank){0};
}
