/* options_help: the table of flags, printed for one lesson, at most 100 columns wide. */
#include "common/options.h"

#include "common/flag.h"
#include "common/zoo.h"

#include <stdio.h>
#include <string.h>

enum { COLUMN = 38, WIDTH = 100 }; // one column is kept for a closing parenthesis

static void new_line(FILE *out, int *column)
{
    fprintf(out, "\n%*s", COLUMN - 1, "");
    *column = COLUMN - 1;
}

/* Prints the words of `text`, going to a new line where one would pass the edge. */
static void print_words(const char *text, int *column, FILE *out)
{
    while (*text) {
        int length = (int)strcspn(text, " ");
        if (*column + 1 + length > WIDTH - 1)
            new_line(out, column);
        *column += fprintf(out, " %.*s", length, text);
        text += length;
        text += strspn(text, " ");
    }
}

/* The names of what can be planted in this lesson. */
static void print_zoo(int lesson, FILE *out)
{
    int column;
    new_line(out, &column);
    for (int member = 0; member < ZOO_MEMBERS; member++)
        if (zoo_table[member].lessons >> lesson & 1)
            print_words(zoo_table[member].name, &column, out);
}

static void print_flag(const struct flag *flag, int lesson, FILE *out)
{
    int column = fprintf(out, "  --%s %s", flag->name, flag->accepts ? flag->accepts : "");
    if (column >= COLUMN - 1)
        new_line(out, &column);
    else
        column += fprintf(out, "%*s", COLUMN - 1 - column, "");
    print_words(flag->help, &column, out);
    if (flag->kind == FLAG_INJECT)
        print_zoo(lesson, out);
    if (flag->fallback) {
        print_words("(default:", &column, out);
        print_words(flag->fallback, &column, out);
        fputc(')', out);
    }
    fputc('\n', out);
}

void options_help(const struct options *options, const char *program, FILE *out)
{
    if (options->inject == OPTIONS_INJECT_HELP) {
        zoo_print(options->lesson, out);
        return;
    }
    fprintf(out, "usage: %s [--flag VALUE | --flag=VALUE ...]\n", program);
    if (options->lesson > 1)
        fprintf(out, "   or: launch -n RANKS %s [...]\n", program);
    for (const struct flag *flag = flags; flag->help; flag++) {
        if (!flag_in_lesson(flag, options->lesson))
            continue;
        if (flag->kind == FLAG_TITLE)
            fprintf(out, "\n%s\n", flag->help);
        else
            print_flag(flag, options->lesson, out);
    }
    fputs("\nA flag given twice: the last one counts.\n", out);
}
