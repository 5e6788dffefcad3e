/*
 * report: a record's numbers as tables, and the page that shows their pictures. gnuplot works in between:
 * report.sh calls all three.
 *
 *     report tables RUN OUT [REFERENCE]    the tables, and settings.gp, in OUT
 *     report page RUN OUT [REFERENCE]      index.html in OUT, from its pictures, page.css and verdict.json
 */
#include "common/report/sections.h"
#include "common/report/tables.h"

#include <stdio.h>
#include <string.h>

enum { EXIT_RAN, EXIT_FAILED, EXIT_USAGE, TEXT_BYTES = 4096 };

static int write_what(const char *what, const struct survey *survey,
                      const struct casebook *reference, const char *folder, struct fail *fail)
{
    char path[TEXT_BYTES];
    if (strcmp(what, "tables") == 0)
        return tables_write(survey, reference, folder, fail);
    int length = snprintf(path, sizeof path, "%s/index.html", folder);
    if (length >= TEXT_BYTES)
        return fail_set(fail, -1, "%.60s...: this name is too long", folder);
    return sections_write(survey, reference, folder, path, fail);
}

int main(int argc, char **argv)
{
    struct casebook run = {0}, other = {0};
    struct survey survey;
    struct fail fail = {0};
    bool known = argc > 1 && (strcmp(argv[1], "tables") == 0 || strcmp(argv[1], "page") == 0);
    if (!known || argc < 4 || argc > 5) {
        fprintf(stderr, "usage: report tables|page RUN OUT [REFERENCE]\n");
        return EXIT_USAGE;
    }
    struct casebook *reference = argc == 5 ? &other : NULL;
    int error = casebook_open(&run, argv[2], &fail);
    if (!error && reference)
        error = casebook_open(reference, argv[4], &fail);
    if (!error) {
        survey_take(&survey, &run, reference);
        error = write_what(argv[1], &survey, reference, argv[3], &fail);
    }
    if (error)
        fprintf(stderr, "report: %s\n", fail.text);
    casebook_close(&run);
    casebook_close(&other);
    return error ? EXIT_FAILED : EXIT_RAN;
}
