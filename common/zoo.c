/* zoo: names, sets and pairs of planted mistakes; the table for readers. See the header. */
#include "common/zoo.h"

#include <errno.h>
#include <string.h>

int zoo_find(const char *name, size_t length)
{
    for (int member = 0; member < ZOO_MEMBERS; member++)
        if (strlen(zoo_table[member].name) == length &&
            memcmp(zoo_table[member].name, name, length) == 0)
            return member;
    return -1;
}

bool zoo_read(const char *text, uint64_t *inject)
{
    *inject = 0;
    for (const char *next = text; next;) {
        size_t length = strcspn(next, ",");
        int member = zoo_find(next, length);
        if (member < 0)
            return false;
        *inject |= UINT64_C(1) << member;
        next = next[length] == ',' ? next + length + 1 : NULL;
    }
    return true;
}

/* Both say what one and the same thing is, or the one takes back what the other does. Who skips looks at what is
 * reduced; a NaN that is added after that ends the run before anybody sees ranks part. */
static const enum zoo_member contradictions[][2] = {
    {ZOO_SUM_NOT_MEAN, ZOO_MEAN_TWICE},
    {ZOO_SUM_NOT_MEAN, ZOO_LAST_BATCH_UNWEIGHTED},
    {ZOO_NO_LR_SCALE, ZOO_LR_SCALE_NO_WARMUP},
    {ZOO_NO_LR_SCALE, ZOO_BATCH_NOT_DIVIDED},
    {ZOO_LR_SCALE_NO_WARMUP, ZOO_BATCH_NOT_DIVIDED},
    {ZOO_SAME_SHARD, ZOO_SHUFFLE_PER_RANK},
    {ZOO_SYNC_LAST_MICROBATCH_ONLY, ZOO_SYNC_FIRST_MICROBATCH_ONLY},
    {ZOO_SYNC_LAST_MICROBATCH_ONLY, ZOO_CLIP_BEFORE_REDUCE},
    {ZOO_SYNC_FIRST_MICROBATCH_ONLY, ZOO_CLIP_BEFORE_REDUCE},
    {ZOO_CLIP_BEFORE_REDUCE, ZOO_CLIP_PER_SHARD},
    {ZOO_SKIP_ONE_RANK, ZOO_SYNC_LAST_MICROBATCH_ONLY},
    {ZOO_SKIP_ONE_RANK, ZOO_SYNC_FIRST_MICROBATCH_ONLY},
};

bool zoo_contradicts(enum zoo_member member, uint64_t inject, enum zoo_member *other)
{
    for (size_t i = 0; i < sizeof contradictions / sizeof *contradictions; i++) {
        const enum zoo_member *pair = contradictions[i];
        if (pair[0] != member && pair[1] != member)
            continue;
        *other = pair[0] == member ? pair[1] : pair[0];
        if (inject >> *other & 1)
            return true;
    }
    return false;
}

int zoo_check_world(const struct options *options, int world, struct fail *fail)
{
    for (int member = 0; member < ZOO_MEMBERS; member++)
        if (zoo_has(options, (enum zoo_member)member) && zoo_table[member].needs_ranks && world < 2)
            return fail_set(
                fail, -EINVAL,
                "--inject %s means nothing with one rank: start 2 or more, as in launch "
                "-n 2 PROGRAM",
                zoo_table[member].name);
    return 0;
}

static void print_line(const char *what, const char *text, FILE *out)
{
    enum { COLUMN = 12, WIDTH = 100 };
    int column = fprintf(out, "  %-*s", COLUMN - 2, what);
    while (*text) {
        int length = (int)strcspn(text, " ");
        if (column + 1 + length > WIDTH)
            column = fprintf(out, "\n%*s", COLUMN, "") - 1;
        column += fprintf(out, " %.*s", length, text);
        text += length;
        text += strspn(text, " ");
    }
    fputc('\n', out);
}

/* Does the proof of a lesson's first steps find it? */
static void print_caught(const struct zoo_row *row, FILE *out)
{
    char text[64] = "";
    for (int lesson = 2; lesson <= 4; lesson++)
        if (row->caught >> lesson & 1)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%d",
                     *text ? ", " : "fails in lesson ", lesson);
    print_line("--verify 2", *text ? text : "does not see it", out);
}

static void print_row(const struct zoo_row *row, FILE *out)
{
    fprintf(out, "\n%s\n", row->name);
    print_line("wrong", row->wrong, out);
    print_line("symptom", row->symptom, out);
    print_line("cure", row->cure, out);
    print_line("elsewhere", row->elsewhere, out);
    print_caught(row, out);
    if (row->needs)
        print_line("needs", row->needs, out);
    if (row->most_stage < 3 && (row->lessons >> 4 & 1))
        print_line("", "in lesson 4: of --stage 1 only", out);
    fprintf(out, "  %-10s docs/odd-curves.md#%s\n", "more", row->name);
}

void zoo_print(int lesson, FILE *out)
{
    fputs("Well-known mistakes that --inject NAME[,NAME...] plants:\n", out);
    for (int member = 0; member < ZOO_MEMBERS; member++)
        if (zoo_table[member].lessons >> lesson & 1)
            print_row(&zoo_table[member], out);
}
