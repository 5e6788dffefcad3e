/* digits: a CSV file of which more is known. See the header. */
#include "common/digits.h"
#include "common/csv.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PIXELS = 64, INK = 16, CLASSES = 10 };

static const char FILE_IN_TREE[] = "common/data/digits.csv";

/* TREE/build/lesson01_single is run: the file is in TREE. False where the system has no such
 * link (macOS), or the programs were built outside of the tree. */
static bool beside_program(char path[TABLE_PATH_BYTES])
{
    size_t room = TABLE_PATH_BYTES - sizeof "/../" - sizeof FILE_IN_TREE;
    ssize_t length = readlink("/proc/self/exe", path, room);
    if (length <= 0 || (size_t)length >= room)
        return false;
    path[length] = '\0';
    char *slash = strrchr(path, '/');
    if (!slash)
        return false;
    sprintf(slash, "/../%s", FILE_IN_TREE);
    return access(path, R_OK) == 0;
}

int digits_path(char path[TABLE_PATH_BYTES], struct fail *fail)
{
    if (beside_program(path))
        return 0;
    int length = snprintf(path, TABLE_PATH_BYTES, "%s/%s", SOURCE_DIR, FILE_IN_TREE);
    if (length >= TABLE_PATH_BYTES)
        return fail_set(fail, -ENAMETOOLONG, "the path %s is too long", SOURCE_DIR);
    return 0;
}

static int scale(struct table *table, struct fail *fail)
{
    if (table->width != PIXELS)
        return fail_set(fail, -EINVAL,
                        "%s: expected %d pixels and a label in a line, found %zu cells",
                        table->path, PIXELS, table->width + 1);
    for (size_t i = 0; i < table->count * PIXELS; i++) {
        float pixel = table->features[i];
        if (!(pixel >= 0 && pixel <= INK))
            return fail_set(fail, -EINVAL,
                            "%s, line %zu, column %zu: expected a pixel from 0 to %d, found %g",
                            table->path, i / PIXELS + 1, i % PIXELS + 1, INK, (double)pixel);
        table->features[i] = pixel / INK; // exact: a power of two
    }
    return 0;
}

int digits_read(struct table *table, const char *path, struct memory *memory, struct fail *fail)
{
    int code = csv_read(table, path, memory, fail);
    if (code < 0)
        return code;
    table->task = TASK_CLASSIFY;
    table->classes = CLASSES;
    table->holds_test = true;
    return scale(table, fail);
}
