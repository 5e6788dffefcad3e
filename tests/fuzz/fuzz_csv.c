/*
 * fuzz_csv: any bytes as a CSV file.
 *
 * Promises: an accepted file has a row for every line and a column for every cell, written out its
 * numbers are read as the same ones, and the data set made from it is whole.
 */
#include "common/csv.h"
#include "tests/fuzz/scratch.h"
#include "tests/fuzz/tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CELL_BYTES = 32 };

static size_t count_of(const uint8_t *data, size_t size, uint8_t byte)
{
    size_t count = 0;
    for (size_t i = 0; i < size; i++)
        count += data[i] == byte;
    return count;
}

/* Lines, the last with or without its ending; and every line's commas. */
static bool has_shape_of(const struct table *table, const uint8_t *data, size_t size)
{
    size_t lines = count_of(data, size, '\n') + (size > 0 && data[size - 1] != '\n');
    return table->count == lines && table->count * table->width == count_of(data, size, ',');
}

static char *text_of(const struct table *table, size_t *length)
{
    size_t room = table->count * (table->width + 1) * CELL_BYTES + 1;
    char *text = malloc(room), *end = text;
    for (size_t i = 0; text && i < table->count; i++) {
        for (size_t j = 0; j < table->width; j++)
            end +=
                snprintf(end, CELL_BYTES, "%.9g,", (double)table->features[i * table->width + j]);
        end += snprintf(end, CELL_BYTES, "%.9g\n", (double)table->targets[i]);
    }
    *length = (size_t)(end - text);
    return text;
}

static bool are_equal(const struct table *a, const struct table *b)
{
    return a->count == b->count && a->width == b->width &&
           memcmp(a->features, b->features, a->count * a->width * sizeof(float)) == 0 &&
           memcmp(a->targets, b->targets, a->count * sizeof(float)) == 0;
}

/* Nine digits tell any two floats apart. */
static const char *rewritten_broken(struct scratch *scratch, const struct table *table)
{
    struct table again = {0};
    struct memory memory = {0};
    struct fail fail = {0};
    size_t length;
    char path[SCRATCH_PATH_BYTES], *text = text_of(table, &length);
    if (!text)
        return "a small file makes a small text";
    scratch_write(scratch, "again.csv", text, length, path);
    free(text);
    int code = csv_read(&again, path, &memory, &fail);
    const char *broken = code != 0                  ? "what was read can be written and read again"
                         : are_equal(&again, table) ? NULL
                                                    : "numbers written out are read as the same";
    table_release(&again);
    return broken;
}

struct verdict fuzz_csv(const uint8_t *data, size_t size)
{
    struct scratch scratch;
    char path[SCRATCH_PATH_BYTES];
    struct table table = {0};
    struct memory memory = {0};
    struct fail fail = {0};
    scratch_open(&scratch);
    scratch_write(&scratch, "t.csv", data, size, path);
    int code = csv_read(&table, path, &memory, &fail);
    struct verdict verdict = {.accepted = true};
    if (code != 0)
        verdict = target_refused(code, &fail, path);
    else
        verdict.broken = tables_broken(&table, &memory);
    if (code == 0 && !verdict.broken && !has_shape_of(&table, data, size))
        verdict.broken = "a row is a line, a column is a cell";
    if (code == 0 && !verdict.broken)
        verdict.broken = rewritten_broken(&scratch, &table);
    if (code == 0 && !verdict.broken)
        verdict.broken = tables_load_broken(path, table.count);
    table_release(&table);
    if (!verdict.broken && memory.now_bytes[MEMORY_BUFFERS] != 0)
        verdict.broken = "a table gives all its memory back";
    if (scratch_close(&scratch) != 0 && !verdict.broken)
        verdict.broken = "a reader leaves no file behind";
    return verdict;
}
