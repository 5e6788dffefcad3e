/* table: what a reader found in a file. See the header. */
#include "common/table.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

int table_init(struct table *table, const char *path, struct memory *memory, struct fail *fail)
{
    *table = (struct table){.unit = "line", .first = 1, .memory = memory};
    if (strlen(path) >= sizeof table->path)
        return fail_set(fail, -ENAMETOOLONG, "a path of %zu characters: at most %zu are accepted",
                        strlen(path), sizeof table->path - 1);
    memcpy(table->path, path, strlen(path) + 1);
    return 0;
}

int table_size(struct table *table, size_t count, size_t width, size_t outputs, struct fail *fail)
{
    table->count = count;
    table->width = width;
    table->outputs = outputs;
    if (count <= SIZE_MAX / width && count <= SIZE_MAX / outputs) {
        table->features = memory_floats(table->memory, MEMORY_BUFFERS, count * width);
        table->targets = memory_floats(table->memory, MEMORY_BUFFERS, count * outputs);
    }
    if (!table->features || !table->targets)
        return fail_set(fail, -ENOMEM, "%s: no memory for %zu samples of %zu numbers", table->path,
                        count, width + outputs);
    return 0;
}

void table_release(struct table *table)
{
    struct memory *memory = table->memory;
    memory_return(memory, MEMORY_BUFFERS, table->features, table->count * table->width);
    memory_return(memory, MEMORY_BUFFERS, table->targets, table->count * table->outputs);
    *table = (struct table){0};
}
