/* casebook: what all ranks of a run have recorded, side by side. See the header. */
#include "common/doctor/casebook.h"
#include "common/doctor/page.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int name_page(struct case_rank *page, const char *folder, size_t rank, struct fail *fail)
{
    int length = snprintf(page->path, sizeof page->path, "%s/rank-%zu.jsonl", folder, rank);
    if (length < CASEBOOK_PATH_BYTES)
        return 0;
    return fail_set(fail, -ENAMETOOLONG, "%.60s...: this name is too long", folder);
}

static bool is_there(const char *path)
{
    struct stat found;
    return stat(path, &found) == 0;
}

static int find_page(struct casebook *book, size_t rank, struct fail *fail)
{
    struct case_rank *page = &book->ranks[rank];
    int error = name_page(page, book->folder, rank, fail);
    if (error || is_there(page->path))
        return error;
    if (rank == 0)
        return fail_set(
            fail, -ENOENT,
            "%s: no record is there: expected %s; a lesson writes one with --record DIR",
            book->folder, page->path);
    return fail_set(fail, -ENOENT,
                    "%s is missing: the run had %zu ranks, and without all of them nothing can be "
                    "said; copy every "
                    "rank-*.jsonl into one folder",
                    page->path, book->world);
}

/* A file behind the last rank is left from a larger run. */
static int check_last(const struct casebook *book, struct fail *fail)
{
    struct case_rank next;
    int error = name_page(&next, book->folder, book->world, fail);
    if (error || !is_there(next.path))
        return error;
    return fail_set(fail, -EINVAL,
                    "%s is there, but the run had %zu ranks: files of two runs are in one folder; "
                    "give each run a folder "
                    "of its own",
                    next.path, book->world);
}

/* A rank that left with 0 has done all steps; so all ranks have, and have an end. */
static int check_ends(const struct casebook *book, struct fail *fail)
{
    const struct case_rank *whole = NULL;
    for (size_t rank = 0; rank < book->world; rank++)
        if (book->ranks[rank].ended && book->ranks[rank].exit_code == 0)
            whole = &book->ranks[rank];
    for (size_t rank = 0; rank < book->world && whole; rank++) {
        const struct case_rank *page = &book->ranks[rank];
        if (page->step_count < whole->step_count)
            return fail_set(fail, -EINVAL,
                            "%s is cut off: it ends behind %zu steps, but the run ended well "
                            "behind %zu; copy the whole "
                            "record, or record the run again",
                            page->path, page->step_count, whole->step_count);
    }
    return 0;
}

static int read_all(struct casebook *book, struct fail *fail)
{
    struct case_rank *ranks = NULL;
    for (size_t rank = 0; rank == 0 || rank < book->world; rank++) {
        if (rank <= 1) { // by now the world is known
            ranks = realloc(book->ranks, (rank == 0 ? 1 : book->world) * sizeof *ranks);
            if (!ranks)
                return fail_set(fail, -ENOMEM, "no memory for the record of %zu ranks",
                                book->world);
            book->ranks = ranks;
        }
        book->ranks[rank] = (struct case_rank){0};
        book->rank_count = rank + 1;
        int error = find_page(book, rank, fail);
        if (!error)
            error = page_read(book, rank, fail);
        if (error)
            return error;
    }
    return 0;
}

int casebook_open(struct casebook *book, const char *folder, struct fail *fail)
{
    *book = (struct casebook){.folder = folder};
    int error = read_all(book, fail);
    if (!error)
        error = check_last(book, fail);
    for (size_t rank = 1; rank < book->world && !error; rank++)
        if (book->ranks[rank].start_count != book->ranks[0].start_count ||
            book->ranks[rank].starts[0].first != book->ranks[0].starts[0].first)
            error =
                fail_set(fail, -EINVAL,
                         "%s has %zu starts from step %zu on, %s %zu from step %zu on: a rank has "
                         "not come to its first step after --resume, or files of two runs are "
                         "in one folder; give each run a folder of its own",
                         book->ranks[0].path, book->ranks[0].start_count,
                         book->ranks[0].starts[0].first, book->ranks[rank].path,
                         book->ranks[rank].start_count, book->ranks[rank].starts[0].first);
    return error ? error : check_ends(book, fail);
}

void casebook_close(struct casebook *book)
{
    for (size_t rank = 0; rank < book->rank_count; rank++)
        page_release(&book->ranks[rank]);
    free(book->ranks);
    *book = (struct casebook){0};
}

size_t casebook_steps(const struct casebook *book)
{
    size_t least = book->ranks[0].step_count;
    for (size_t rank = 1; rank < book->world; rank++)
        if (book->ranks[rank].step_count < least)
            least = book->ranks[rank].step_count;
    return least;
}

size_t casebook_process(const struct casebook *book, size_t step)
{
    const struct case_rank *first = &book->ranks[0];
    size_t process = 0;
    while (process + 1 < first->start_count && first->starts[process + 1].first <= step)
        process++;
    return process;
}

const struct options *casebook_options(const struct casebook *book, size_t step)
{
    return &book->ranks[0].starts[casebook_process(book, step)].asked;
}
