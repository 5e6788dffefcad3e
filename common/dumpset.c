/* dumpset: which ranks and which steps a dump holds. See the header. */
#include "common/dumpset.h"
#include "common/environment.h"
#include "common/whole.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char step_begin[] = "step-", step_end[] = ".safetensors", rank_begin[] = "rank-";

enum { NAME_BYTES = 64 }; // of an entry we look for: two words and a number of 64 bits

char *dumpset_path(const char *folder, size_t rank, size_t step)
{
    size_t room = strlen(folder) + 2 * NAME_BYTES;
    char *path = malloc(room);
    if (path)
        snprintf(path, room, "%s/%s%zu/%s%06zu%s", folder, rank_begin, rank, step_begin, step,
                 step_end);
    return path;
}

/* --- names that hold a number ---------------------------------------------------------------- */

static bool number_between(const char *name, const char *begin, const char *end, uint64_t *number)
{
    char digits[NAME_BYTES];
    size_t length = strlen(name), before = strlen(begin), after = strlen(end);
    if (length <= before + after || length >= sizeof digits || strncmp(name, begin, before) != 0 ||
        strcmp(name + length - after, end) != 0)
        return false;
    memcpy(digits, name + before, length - before - after);
    digits[length - before - after] = '\0';
    return whole_read(digits, number);
}

/* Spelled the one way dumpset_path spells it: rank-0, never rank-00. */
static bool rank_in(const char *name, uint64_t *rank)
{
    char spelled[NAME_BYTES];
    if (!number_between(name, rank_begin, "", rank))
        return false;
    snprintf(spelled, sizeof spelled, "%s%zu", rank_begin, (size_t)*rank);
    return strcmp(spelled, name) == 0;
}

static bool step_in(const char *name, uint64_t *step)
{
    char spelled[NAME_BYTES];
    if (!number_between(name, step_begin, step_end, step))
        return false;
    snprintf(spelled, sizeof spelled, "%s%06zu%s", step_begin, (size_t)*step, step_end);
    return strcmp(spelled, name) == 0;
}

/* --- ranks ----------------------------------------------------------------------------------- */

static int count_ranks(struct dumpset *set, struct fail *fail)
{
    bool seen[ENVIRONMENT_WORLD_MOST] = {false};
    uint64_t rank = 0;
    DIR *directory = opendir(set->folder);
    if (!directory)
        return fail_set(fail, -errno, "cannot open the dump %s: %s", set->folder, strerror(errno));
    for (struct dirent *entry = readdir(directory); entry; entry = readdir(directory)) {
        if (!rank_in(entry->d_name, &rank) || rank >= ENVIRONMENT_WORLD_MOST)
            continue;
        seen[rank] = true;
        set->world = rank + 1 > set->world ? rank + 1 : set->world;
    }
    closedir(directory);
    if (set->world == 0)
        return fail_set(fail, -ENOENT,
                        "%s is no dump: it holds no directory rank-0 (written with --dump)",
                        set->folder);
    for (size_t i = 0; i < set->world; i++)
        if (!seen[i])
            return fail_set(fail, -ENOENT, "%s lacks rank-%zu, but has rank-%zu", set->folder, i,
                            set->world - 1);
    return 0;
}

/* --- steps ----------------------------------------------------------------------------------- */

static int ascending(const void *left, const void *right)
{
    size_t a = *(const size_t *)left, b = *(const size_t *)right;
    return (a > b) - (a < b);
}

/* The steps of an open directory; *steps is to be freed whatever the outcome. */
static int scan_steps(DIR *directory, size_t **steps, size_t *count)
{
    uint64_t step;
    size_t room = 0;
    for (struct dirent *entry = readdir(directory); entry; entry = readdir(directory)) {
        if (!step_in(entry->d_name, &step))
            continue;
        if (*count == room) {
            room = room ? 2 * room : 64;
            size_t *larger = realloc(*steps, room * sizeof **steps);
            if (!larger)
                return -ENOMEM;
            *steps = larger;
        }
        (*steps)[(*count)++] = step;
    }
    if (*count)
        qsort(*steps, *count, sizeof **steps, ascending);
    return 0;
}

static int list_steps(const struct dumpset *set, size_t rank, size_t **steps, size_t *count,
                      struct fail *fail)
{
    size_t room = strlen(set->folder) + NAME_BYTES;
    char *path = malloc(room);
    DIR *directory = NULL;
    int status = -ENOMEM;
    if (path) {
        snprintf(path, room, "%s/%s%zu", set->folder, rank_begin, rank);
        directory = opendir(path);
        status = directory ? scan_steps(directory, steps, count) : -errno;
    }
    if (directory)
        closedir(directory);
    free(path);
    return status ? fail_set(fail, status, "cannot list %s/rank-%zu: %s", set->folder, rank,
                             strerror(-status))
                  : 0;
}

/* Names the first step that one of two ranks has and the other has not. */
static int same_steps(const struct dumpset *set, size_t rank, const size_t *steps, size_t count,
                      struct fail *fail)
{
    for (size_t i = 0; i < set->count || i < count; i++) {
        size_t first = i < set->count ? set->steps[i] : SIZE_MAX;
        size_t here = i < count ? steps[i] : SIZE_MAX;
        if (first != here)
            return fail_set(fail, -ENOENT, "%s/rank-%zu lacks step %zu, which rank %zu has",
                            set->folder, first < here ? rank : 0, first < here ? first : here,
                            first < here ? 0 : rank);
    }
    return 0;
}

static int check_rank(const struct dumpset *set, size_t rank, struct fail *fail)
{
    size_t *steps = NULL, count = 0;
    int status = list_steps(set, rank, &steps, &count, fail);
    if (!status)
        status = same_steps(set, rank, steps, count, fail);
    free(steps);
    return status;
}

/* --- public ---------------------------------------------------------------------------------- */

int dumpset_open(struct dumpset *set, const char *folder, struct fail *fail)
{
    *set = (struct dumpset){.folder = folder};
    int status = count_ranks(set, fail);
    if (!status)
        status = list_steps(set, 0, &set->steps, &set->count, fail);
    if (!status && set->count == 0)
        status = fail_set(fail, -ENOENT,
                          "%s is no dump: rank-0 holds no step-000000.safetensors or later step",
                          folder);
    for (size_t rank = 1; !status && rank < set->world; rank++)
        status = check_rank(set, rank, fail);
    return status;
}

void dumpset_release(struct dumpset *set)
{
    free(set->steps);
    *set = (struct dumpset){0};
}
