/* records: what a run has kept of itself, read by a test. See the header. */
#include "tests/records.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void read_file(struct records *records, const struct folder *folder, const char *name,
                      int rank)
{
    char path[96];
    snprintf(path, sizeof path, "%s/rank-%d.jsonl", name, rank);
    char *text = lesson_text(folder, path), *at = text, *end;
    records->lines[rank] = json_array();
    for (; (end = strchr(at, '\n')) != NULL; at = end + 1) {
        json_error_t error;
        *end = '\0';
        json_t *line = json_loads(at, JSON_REJECT_DUPLICATES, &error);
        ck_assert_msg(json_is_object(line), "%s: %s: %s", path, error.text, at);
        json_array_append_new(records->lines[rank], line);
    }
    ck_assert_msg(*at == '\0', "%s: half a line: %s", path, at);
    records->start[rank] = json_array_get(records->lines[rank], 0);
    free(text);
}

void records_read(struct records *records, const struct folder *folder, const char *name, int world)
{
    *records = (struct records){.world = world};
    for (int rank = 0; rank < world; rank++)
        read_file(records, folder, name, rank);
}

void records_release(struct records *records)
{
    for (int rank = 0; rank < records->world; rank++)
        json_decref(records->lines[rank]);
}

bool records_is(const json_t *line, const char *event)
{
    return strcmp(json_string_value(json_object_get(line, "event")), event) == 0;
}

/* Line `index` of this kind; NULL: there are not so many. */
const json_t *records_line(const struct records *records, int rank, const char *event, size_t index)
{
    for (size_t i = 0; i < json_array_size(records->lines[rank]); i++) {
        const json_t *line = json_array_get(records->lines[rank], i);
        if (records_is(line, event) && index-- == 0)
            return line;
    }
    return NULL;
}

size_t records_count(const struct records *records, int rank, const char *event)
{
    size_t count = 0;
    while (records_line(records, rank, event, count))
        count++;
    return count;
}

double records_real(const json_t *line, const char *key)
{
    const json_t *value = json_object_get(line, key);
    ck_assert_msg(json_is_number(value), "%s is no number", key);
    return json_number_value(value);
}

uint64_t records_hash(const json_t *line, const char *key)
{
    const char *text = json_string_value(json_object_get(line, key));
    ck_assert_msg(text && strlen(text) == 16, "%s is no hash", key);
    return strtoull(text, NULL, 16);
}
