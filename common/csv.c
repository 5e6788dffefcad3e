/*
 * csv: line by line, into one growing vector of cells. See the header.
 *
 * A line's cells are counted before any is read, so that a missing or an extra cell is reported as
 * that, and not as whatever the shifted values look like.
 */
#include "common/csv.h"
#include "common/decimal.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN_MOST = 40 };

/* Halfway between the largest float and what would follow it: from here on, rounding is to infinity.
 * The largest float itself, written with nine digits, is a little larger than it is. */
static const double TOO_LARGE = 0x1.ffffffp127;

struct csv {
    const char *path;
    size_t line;    // of the file, from 1
    size_t columns; // of line 1
    float *cells;   // (line, columns)
    size_t count, room;
    struct memory *memory;
    struct fail *fail;
};

/* A run of characters that is not to be trusted: neither ended by NUL nor printable. */
struct text {
    const char *begin;
    size_t length;
};

static void text_drop(struct text *text, size_t count)
{
    text->begin += count;
    text->length -= count;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static struct text text_trim(struct text text)
{
    while (text.length > 0 && is_blank(text.begin[0]))
        text_drop(&text, 1);
    while (text.length > 0 && is_blank(text.begin[text.length - 1]))
        text.length--;
    return text;
}

/* What stands before the next comma; `rest` goes on behind it. */
static struct text text_next_cell(struct text *rest)
{
    const char *comma = memchr(rest->begin, ',', rest->length);
    struct text cell = {rest->begin, comma ? (size_t)(comma - rest->begin) : rest->length};
    text_drop(rest, comma ? cell.length + 1 : cell.length);
    return text_trim(cell);
}

static size_t text_cells(struct text text)
{
    size_t cells = 1;
    for (size_t i = 0; i < text.length; i++)
        cells += text.begin[i] == ',';
    return cells;
}

/* The line without its ending, and the first without a byte-order mark. */
static struct text line_of(const struct csv *csv, const char *begin, size_t length)
{
    struct text text = {begin, length};
    if (csv->line == 1 && length >= 3 && memcmp(begin, "\xEF\xBB\xBF", 3) == 0)
        text_drop(&text, 3);
    if (text.length > 0 && text.begin[text.length - 1] == '\n')
        text.length--;
    if (text.length > 0 && text.begin[text.length - 1] == '\r')
        text.length--;
    return text;
}

static int refuse_cell(const struct csv *csv, size_t column, struct text cell)
{
    char shown[SHOWN_MOST + 1] = "";
    for (size_t i = 0; i < cell.length && i < SHOWN_MOST; i++)
        shown[i] = cell.begin[i] >= ' ' && cell.begin[i] <= '~' ? cell.begin[i] : '?';
    return fail_set(csv->fail, -EINVAL,
                    "%s, line %zu, column %zu: expected a number, found %s%s%s%s", csv->path,
                    csv->line, column, cell.length ? "'" : "an empty cell", shown,
                    cell.length ? "'" : "",
                    csv->line == 1 ? " (a file has no header: line 1 is the first sample)" : "");
}

static int check_cells(struct csv *csv, struct text line)
{
    size_t cells = text_cells(line);
    if (text_trim(line).length == 0)
        return fail_set(csv->fail, -EINVAL, "%s, line %zu: expected a sample, found an empty line",
                        csv->path, csv->line);
    if (csv->line == 1)
        csv->columns = cells;
    if (cells < 2)
        return fail_set(csv->fail, -EINVAL,
                        "%s, line %zu: expected features and a target, separated by commas, "
                        "found 1 cell",
                        csv->path, csv->line);
    if (cells != csv->columns)
        return fail_set(csv->fail, -EINVAL,
                        "%s, line %zu: expected %zu cells, as line 1 has, found %zu", csv->path,
                        csv->line, csv->columns, cells);
    return 0;
}

static int reserve(struct csv *csv)
{
    if (csv->room - csv->count >= csv->columns)
        return 0;
    size_t room = csv->room * 2 + csv->columns;
    struct growth bytes = {csv->room * sizeof(float), room * sizeof(float)};
    float *cells = room <= SIZE_MAX / sizeof *cells / 4
                       ? memory_grow(csv->memory, MEMORY_BUFFERS, csv->cells, bytes)
                       : NULL;
    if (!cells)
        return fail_set(csv->fail, -ENOMEM, "%s, line %zu: no memory for %zu numbers", csv->path,
                        csv->line, room);
    csv->cells = cells;
    csv->room = room;
    return 0;
}

static int read_line(struct csv *csv, struct text line)
{
    int code = check_cells(csv, line);
    if (code == 0)
        code = reserve(csv);
    for (size_t column = 1; code == 0 && column <= csv->columns; column++) {
        struct text cell = text_next_cell(&line);
        double value;
        if (!decimal_read(cell.begin, cell.length, &value) || fabs(value) >= TOO_LARGE)
            return refuse_cell(csv, column, cell);
        csv->cells[csv->count++] = (float)value;
    }
    return code;
}

static int read_lines(struct csv *csv, FILE *file)
{
    char *buffer = NULL;
    size_t room = 0;
    int code = 0;
    for (;;) {
        errno = 0;
        ssize_t length = getline(&buffer, &room, file);
        if (length < 0)
            break;
        csv->line++;
        code = read_line(csv, line_of(csv, buffer, (size_t)length));
        if (code < 0)
            break;
    }
    int error = errno; // getline also ends early for want of memory
    free(buffer);
    if (code == 0 && !feof(file))
        return fail_set(csv->fail, error ? -error : -EIO, "%s: cannot be read after line %zu: %s",
                        csv->path, csv->line, strerror(error ? error : EIO));
    if (code == 0 && csv->line == 0)
        return fail_set(csv->fail, -EINVAL, "%s: expected a sample a line, found an empty file",
                        csv->path);
    return code;
}

static int tabulate(struct table *table, const struct csv *csv)
{
    size_t width = csv->columns - 1;
    int code = table_size(table, csv->line, width, 1, csv->fail);
    for (size_t i = 0; code == 0 && i < table->count; i++) {
        const float *row = csv->cells + i * csv->columns;
        memcpy(table->features + i * width, row, width * sizeof *row);
        table->targets[i] = row[width];
    }
    return code;
}

int csv_read(struct table *table, const char *path, struct memory *memory, struct fail *fail)
{
    int code = table_init(table, path, memory, fail);
    if (code < 0)
        return code;
    FILE *file = fopen(path, "re");
    if (!file)
        return fail_set(fail, -errno, "%s: cannot be opened: %s", path, strerror(errno));
    struct csv csv = {.path = path, .memory = memory, .fail = fail};
    code = read_lines(&csv, file);
    if (code == 0)
        code = tabulate(table, &csv);
    memory_give_back(memory, MEMORY_BUFFERS, csv.cells, csv.room * sizeof *csv.cells);
    fclose(file);
    return code;
}
