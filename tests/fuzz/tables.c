/* tables: what every reader of samples promises. See the header. */
#include "tests/fuzz/tables.h"
#include "common/dataset.h"

#include <math.h>

static bool all_finite(const float *values, size_t count)
{
    for (size_t i = 0; values && i < count; i++)
        if (!isfinite(values[i]))
            return false;
    return true;
}

const char *tables_broken(const struct table *table, const struct memory *memory)
{
    size_t inputs = table->count * table->width, outputs = table->count * table->outputs;
    if (inputs == 0 || outputs == 0)
        return "an accepted table has samples, features and targets";
    if (memory->now_bytes[MEMORY_BUFFERS] != (inputs + outputs) * sizeof(float))
        return "a table has the memory that its counts say";
    if (!all_finite(table->features, inputs) || !all_finite(table->targets, outputs))
        return "the numbers of a table are finite";
    return NULL;
}

static const char *part_broken(const struct dataset *part, const struct dataset *train)
{
    if (part->width != train->width || part->outputs != train->outputs || part->task != train->task)
        return "both parts of a data set are alike";
    if ((part->labels != NULL) != (part->task == TASK_CLASSIFY) ||
        (part->targets != NULL) != (part->task == TASK_REGRESS))
        return "a data set has labels or targets, as its task says";
    for (size_t i = 0; part->labels && i < part->count; i++)
        if (part->labels[i] < 0 || (size_t)part->labels[i] >= part->outputs)
            return "a label is one of the classes";
    if (!all_finite(part->features, part->count * part->width) ||
        !all_finite(part->targets, part->count * part->outputs))
        return "the numbers of a data set are finite";
    return NULL;
}

const char *tables_load_broken(const char *path, size_t rows)
{
    const struct options options = {.data = path, .task = TASK_BY_DATA};
    struct dataset train, test;
    struct memory memory = {0};
    struct fail fail = {0};
    const char *broken;
    int code = dataset_load(&train, &test, &options, &memory, &fail);
    if (code != 0)
        return memory.now_bytes[MEMORY_BUFFERS] ? "a refused data set leaves nothing allocated"
                                                : target_refused(code, &fail, path).broken;
    broken = part_broken(&train, &train);
    if (!broken)
        broken = part_broken(&test, &train);
    if (!broken && train.count + test.count != rows)
        broken = "every row is in exactly one part";
    dataset_release(&train);
    dataset_release(&test);
    if (!broken && memory.now_bytes[MEMORY_BUFFERS] != 0)
        broken = "a data set gives all its memory back";
    return broken;
}
