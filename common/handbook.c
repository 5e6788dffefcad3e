/*
 * handbook: what common/zoo_table.c says of each mistake, put into docs/odd-curves.md.
 *
 *   handbook         the table, a line a member, for scripts: name, lessons, most stage, flags, needs a
 *                    reference, lessons whose proof catches it
 *   handbook FILE    FILE, with what stands between these two lines written anew, for every member:
 *                      <!-- NAME: from common/zoo_table.c -->
 *                      <!-- end -->
 *
 * So nothing is said twice: `make handbook` rewrites the file, and a test compares. 1: FILE cannot be read, a
 * member has no such place, or a place is no member's.
 */
#include "common/zoo.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char mark[] = "<!-- ", from[] = ": from common/zoo_table.c -->\n",
                  end[] = "<!-- end -->\n";

static bool in_lesson(const struct zoo_row *row, int lesson)
{
    return (row->lessons >> lesson & 1) != 0;
}

/* "2, 3, 4" of a set of bits. */
static void print_lessons(unsigned lessons, const char *between, FILE *out)
{
    const char *before = "";
    for (int lesson = 1; lesson <= 4; lesson++) {
        if (!(lessons >> lesson & 1))
            continue;
        fprintf(out, "%s%d", before, lesson);
        before = between;
    }
}

static void print_list(FILE *out)
{
    for (int member = 0; member < ZOO_MEMBERS; member++) {
        const struct zoo_row *row = &zoo_table[member];
        fprintf(out, "%s\t", row->name);
        print_lessons(row->lessons, ",", out);
        fprintf(out, "\t%d\t%s\t%s\t", row->most_stage, row->needs ? row->needs : "",
                row->needs_reference ? "yes" : "no");
        print_lessons(row->caught, ",", out);
        fputc('\n', out);
    }
}

static void print_proof(const struct zoo_row *row, FILE *out)
{
    if (!row->caught) {
        fputs("- **The lessons' proof** does not catch it.\n", out);
        return;
    }
    fputs("- **The lessons' proof** of the first steps catches it in lesson ", out);
    print_lessons(row->caught, ", ", out);
    fputs((row->caught & row->lessons) == row->lessons ? ".\n" : " only.\n", out);
}

static void print_plant(const struct zoo_row *row, FILE *out)
{
    int lesson = in_lesson(row, 2) ? 2 : in_lesson(row, 3) ? 3 : 4;
    fprintf(out, "- **Plant it:** `make lesson0%d ARGS=\"--inject %s%s%s\"`; in lesson ", lesson,
            row->name, row->needs ? " " : "", row->needs ? row->needs : "");
    print_lessons(row->lessons, ", ", out);
    fprintf(out, "%s.\n",
            in_lesson(row, 4) && row->most_stage < 3 ? ", there of `--stage 1` only" : "");
}

static void print_member(const struct zoo_row *row, FILE *out)
{
    fprintf(out, "![%s beside the healthy run](pictures/%s.svg)\n\n", row->name, row->name);
    fprintf(out, "- **Wrong:** %s.\n", row->wrong);
    fprintf(out, "- **You see:** %s.\n", row->symptom);
    fprintf(out, "- **Cure:** %s.\n", row->cure);
    print_proof(row, out);
    fprintf(out, "- **Elsewhere:** %s.\n", row->elsewhere);
    print_plant(row, out);
}

/* The member a line begins the place of, or -1. */
static int begins(const char *line)
{
    const char *rest = strstr(line, from);
    size_t before = strlen(mark);
    if (!rest || strncmp(line, mark, before) != 0)
        return -1;
    return zoo_find(line + before, (size_t)(rest - line) - before);
}

/* Every place written anew; which members have one is kept in `found`. False: a place without an end. */
static bool renew(FILE *in, FILE *out, bool found[ZOO_MEMBERS])
{
    char line[4096];
    bool inside = false;
    while (fgets(line, sizeof line, in)) {
        int member = begins(line);
        inside = inside && strcmp(line, end) != 0;
        if (!inside)
            fputs(line, out);
        if (member < 0)
            continue;
        print_member(&zoo_table[member], out);
        found[member] = inside = true;
    }
    return !inside;
}

int main(int argc, char **argv)
{
    bool found[ZOO_MEMBERS] = {false};
    if (argc < 2) {
        print_list(stdout);
        return 0;
    }
    FILE *file = fopen(argv[1], "r");
    bool whole = file && renew(file, stdout, found);
    if (file)
        fclose(file);
    if (!whole)
        fprintf(stderr, "handbook: %s: %s\n", argv[1],
                file ? "a place has no line that ends it" : "cannot be read");
    for (int member = 0; member < ZOO_MEMBERS && whole; member++) {
        if (found[member])
            continue;
        fprintf(stderr, "handbook: %s has no place for %s\n", argv[1], zoo_table[member].name);
        whole = false;
    }
    return whole ? 0 : 1;
}
