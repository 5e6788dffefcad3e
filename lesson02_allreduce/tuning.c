/* tuning: a choice of algorithms in a file. See the header. */
#include "lesson02_allreduce/tuning.h"
#include "common/aside.h"
#include "common/whole.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINE_BYTES = 128 };

static const char *const transports[] = {
    [COMM_TCP] = "tcp", [COMM_UNIX] = "unix", [COMM_MPI] = "mpi"};

static const char *algorithm_of(const struct choice_row *row)
{
    return algorithm_name((enum algorithm)row->algorithm);
}

static bool write_all(FILE *out, const struct tuning *tuning, const struct choice *choice)
{
    const struct choice_row *row = choice->rows;
    fprintf(out, "staircase tuning 1, world %d, transport %s\n", tuning->world,
            transports[tuning->transport]);
    for (; row->most_bytes != INT64_MAX; row++)
        fprintf(out, "up to %lld %s\n", (long long)row->most_bytes, algorithm_of(row));
    fprintf(out, "any %s\n", algorithm_of(row));
    bool wrong = ferror(out);
    return fclose(out) == 0 && !wrong;
}

static int refuse_write(const char *path, struct fail *fail)
{
    int error = errno ? errno : EIO;
    return fail_set(fail, -error, "--tuning: cannot write %s: %s", path, strerror(error));
}

int tuning_write(const struct tuning *tuning, const struct choice *choice, const char *path,
                 struct fail *fail)
{
    char *aside = aside_name(path);
    if (!aside)
        return fail_set(fail, -ENOMEM, "--tuning: no memory to write %s", path);
    errno = 0;
    FILE *out = fopen(aside, "we");
    int error = 0;
    if (!out || !write_all(out, tuning, choice) || rename(aside, path) != 0) {
        error = refuse_write(path, fail);
        unlink(aside);
    }
    free(aside);
    return error;
}

/* "16384 direct" or, of the last row, "direct". False: damaged. */
static bool read_row(struct choice_row *row, char *text, bool last)
{
    char *name = text;
    uint64_t bytes = INT64_MAX;
    if (!last) {
        name = strchr(text, ' ');
        if (!name)
            return false;
        *name++ = '\0';
        if (!whole_read(text, &bytes) || bytes >= INT64_MAX)
            return false;
    }
    *row = (struct choice_row){.most_bytes = (int64_t)bytes};
    while (row->algorithm < ALGORITHM_AUTO && strcmp(name, algorithm_of(row)) != 0)
        row->algorithm++;
    return row->algorithm < ALGORITHM_AUTO;
}

/* A line without its end. False: there is none, or it is too long, cut short, or holds a zero. */
static bool read_line(FILE *in, char line[LINE_BYTES])
{
    char *found = fgets(line, LINE_BYTES, in);
    char *end = found ? strchr(line, '\n') : NULL;
    if (end)
        *end = '\0';
    return end != NULL;
}

/* A tuning file of any version, world and transport. A pipe is not opened: it would wait. */
static bool begins_as_ours(const char *path, const struct stat *status)
{
    static const char ours[] = "staircase tuning ";
    char line[LINE_BYTES];
    FILE *in = S_ISREG(status->st_mode) ? fopen(path, "re") : NULL;
    bool begins = in && read_line(in, line) && strncmp(line, ours, strlen(ours)) == 0;
    if (in)
        fclose(in);
    return begins;
}

int tuning_check(const char *path, struct fail *fail)
{
    struct stat status;
    if (stat(path, &status) == 0 && !begins_as_ours(path, &status))
        return fail_set(fail, -EEXIST,
                        "--tuning: %s exists and reads as no tuning file; --bench would replace "
                        "it: remove it, or give another name",
                        path);
    char *aside = aside_name(path);
    if (!aside)
        return fail_set(fail, -ENOMEM, "--tuning: no memory to write %s", path);
    FILE *out = fopen(aside, "we"); // only making a file shows that one can be made
    int error = out ? 0 : refuse_write(path, fail);
    if (out) {
        fclose(out);
        unlink(aside);
    }
    free(aside);
    return error;
}

/* Sizes ascend, and the last row is for any. */
static int read_rows(FILE *in, struct choice *choice, const char *path, struct fail *fail)
{
    static const char upto[] = "up to ", any[] = "any ";
    char line[LINE_BYTES];
    int64_t before = 0;
    for (size_t i = 0; i < CHOICE_ROWS_MOST && read_line(in, line); i++) {
        struct choice_row *row = &choice->rows[i];
        bool last = strncmp(line, any, strlen(any)) == 0;
        const char *head = last ? any : upto;
        if (strncmp(line, head, strlen(head)) != 0 || !read_row(row, line + strlen(head), last) ||
            row->most_bytes <= before)
            return fail_set(fail, -EINVAL,
                            "--tuning: %s line %zu is not 'up to BYTES ALGORITHM' with more bytes "
                            "than the line before, nor 'any ALGORITHM': write the file anew with "
                            "--bench",
                            path, i + 2);
        before = row->most_bytes;
        if (last && fgetc(in) == EOF && !ferror(in))
            return 0;
        if (last)
            break;
    }
    return fail_set(fail, -EINVAL,
                    "--tuning: %s does not end with one line 'any ALGORITHM': write the file anew "
                    "with --bench",
                    path);
}

static int check_head(FILE *in, const struct tuning *tuning, const char *path, struct fail *fail)
{
    static const char ours[] = "staircase tuning 1, ";
    char line[LINE_BYTES], expected[LINE_BYTES];
    snprintf(expected, sizeof expected, "%sworld %d, transport %s", ours, tuning->world,
             transports[tuning->transport]);
    if (!read_line(in, line) || strncmp(line, ours, strlen(ours)) != 0)
        return fail_set(fail, -EINVAL, "--tuning: %s is no tuning file: --bench writes one", path);
    if (strcmp(line, expected) != 0)
        return fail_set(fail, -EINVAL,
                        "--tuning: %s is for '%s', this run is '%s': measure with --bench under "
                        "this world and transport",
                        path, line + strlen(ours), expected + strlen(ours));
    return 0;
}

int tuning_read(const struct tuning *tuning, struct choice *choice, const char *path,
                struct fail *fail)
{
    FILE *in = fopen(path, "re");
    if (!in)
        return fail_set(fail, -errno, "--tuning: cannot read %s: %s", path, strerror(errno));
    *choice = (struct choice){.rows = {{0}}};
    int error = check_head(in, tuning, path, fail);
    if (!error)
        error = read_rows(in, choice, path, fail);
    fclose(in);
    return error;
}
