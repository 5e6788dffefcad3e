/* tilefile: arrays in a file, read and written in tiles. See the header. */
#include "lesson04_zero/tilefile.h"
#include "common/compare.h"

#include <errno.h>

struct tilefile tilefile_measure(const struct tilefile_plan *plan)
{
    struct tilefile file = {.count = plan->count, .arrays = plan->arrays};
    if (plan->count > 0) {
        file.tile_count = (plan->count - 1) / plan->tile + 1;
        file.tile = slice_of(file.count, file.tile_count, 0).count;
    }
    return file;
}

size_t tilefile_hash_bytes(const struct tilefile *file)
{
    return sizeof *file->hashes * file->arrays * file->tile_count;
}

struct slice tilefile_part(const struct tilefile *file, size_t index)
{
    return slice_of(file->count, file->tile_count, index);
}

static uint64_t *hash_of(const struct tilefile *file, size_t index, size_t array)
{
    return &file->hashes[array * file->tile_count + index];
}

static size_t place_of(const struct tilefile *file, size_t index, size_t array)
{
    return (array * file->count + tilefile_part(file, index).begin) * sizeof(float);
}

int tilefile_read(const struct tilefile *file, size_t index, size_t array, float *values,
                  struct fail *fail)
{
    size_t size_bytes = tilefile_part(file, index).count * sizeof *values;
    size_t at_bytes = place_of(file, index, array);
    int error = statefile_read(&file->file, at_bytes, values, size_bytes, fail);
    if (error || compare_hash(values, size_bytes) == *hash_of(file, index, array))
        return error;
    return fail_set(fail, -EIO,
                    "--offload: rank %d's state in %s is not what was written: something has "
                    "changed bytes %zu to %zu",
                    file->file.rank, file->file.directory, at_bytes, at_bytes + size_bytes - 1);
}

int tilefile_write(const struct tilefile *file, size_t index, size_t array, const float *values,
                   struct fail *fail)
{
    size_t size_bytes = tilefile_part(file, index).count * sizeof *values;
    *hash_of(file, index, array) = compare_hash(values, size_bytes);
    return statefile_write(&file->file, place_of(file, index, array), values, size_bytes, fail);
}

int tilefile_open(struct tilefile *file, const struct tilefile_plan *plan, struct memory *memory,
                  struct fail *fail)
{
    *file = tilefile_measure(plan);
    file->memory = memory;
    size_t floats = tilefile_hash_bytes(file) / sizeof(float); // the ledger counts floats
    file->hashes = (void *)memory_floats(memory, MEMORY_OPTIMIZER, floats);
    if (!file->hashes)
        return fail_set(fail, -ENOMEM, "--offload: no memory for the hashes of %zu tiles",
                        file->tile_count);
    return statefile_open(&file->file, plan->directory, plan->rank, fail);
}

void tilefile_close(struct tilefile *file)
{
    statefile_close(&file->file);
    memory_return(file->memory, MEMORY_OPTIMIZER, (float *)file->hashes,
                  tilefile_hash_bytes(file) / sizeof(float));
    *file = (struct tilefile){0};
}

int tilefile_clear(const struct tilefile *file, const float *zeros, struct fail *fail)
{
    int error = 0;
    for (size_t array = 0; array < file->arrays; array++)
        for (size_t index = 0; index < file->tile_count && !error; index++)
            error = tilefile_write(file, index, array, zeros, fail);
    return error;
}
