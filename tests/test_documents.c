/* Links, files, targets of make and checks of the grader that a text names are there; and one that is not is noticed. */
#include "tests/folder.h"
#include "tests/program.h"
#include "tests/suites.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

enum { COMMAND_BYTES = 1024 };

static const char script[] = SOURCE_DIR "/tests/documents.sh";

START_TEST(the_texts_name_what_is_there)
{
    char command[COMMAND_BYTES];
    struct program program;
    struct folder folder;
    snprintf(command, sizeof command, "sh '%s' '%s'", script, SOURCE_DIR);
    folder_open(&folder);
    program_run(&program, folder.path, command);
    ck_assert_msg(program.code == 0, "%s%s", program.out, program.err);
    program_close(&program);
    folder_close(&folder);
}
END_TEST

/* A tree of docs/a.md, this text, docs/b.md with a heading, common/c.h, and a Makefile that makes `all` and
 * `run-it`, and checks 02.4/sums and 02.5/moves. Of the text, the one complaint holds `said`; NULL: there is none. */
static const struct text {
    const char *text, *said;
} texts[] = {
    {"[b](b.md), [c](../common/c.h), [web](https://example.org/none.h), and [above](#a-heading).",
     NULL},
    {"[b](b.md#b-and-c), `c.h`, common/c.h, `build/made.c`, `tests/test_NAME.c`, *.c.", NULL},
    {"`make all`, `make V=1 -j2 run-it`, `X=1 make run-it ARGS=\"a b\"`, `make\nrun-it`; make "
     "sure.",
     NULL},
    {"```\n$ make run-it ARGS=\"none\"\nmake\n```\n\n    make all    # here\n", NULL},
    {"`02.4/sums` and task 02.4, and of 02.5/moves.", NULL},
    {"lost at `02.4/sum`", "docs/a.md:3: the grader has no check 02.4/sum"},
    {"`make all TASK=02.5/sums`", "the grader has no check 02.5/sums"},
    {"[c](c.md)", "docs/a.md:3: a link to docs/c.md, which is not there"},
    {"[c](common/c.h)", "a link to docs/common/c.h, which is not there"},
    {"[b](b.md#none)", "a link to #none of docs/b.md"},
    {"[here](#none)", "a link to #none of docs/a.md"},
    {"see `d.h`", "there is no d.h"},
    {"see lesson01_single/c.h for more", "there is no lesson01_single/c.h"},
    {"in `common/data`", "there is no common/data"},
    {"```\nsh common/none.sh\n```", "docs/a.md:4: there is no common/none.sh"},
    {"run `make none`", "there is no `make none`"},
    {"run `make V=1 ARGS=\"all b\" none`", "there is no `make none`"},
    {"run `make\nnone`", "docs/a.md:4: there is no `make none`"},
    {"```\n$ make none NP=4\n```", "there is no `make none`"},
    {"Before:\n\n    make none    # all\n", "there is no `make none`"},
};

static void write(const struct folder *folder, const char *name, const char *text)
{
    char path[512];
    folder_write(folder, name, text, strlen(text), false, path);
}

START_TEST(what_is_missing_is_named)
{
    const struct text *text = &texts[_i];
    char whole[COMMAND_BYTES], command[COMMAND_BYTES];
    struct program program;
    struct folder folder;
    folder_open(&folder);
    program_run(&program, folder.path, "mkdir -p docs common tests/grade");
    program_close(&program);
    snprintf(whole, sizeof whole, "# A heading\n\n%s\n", text->text);
    write(&folder, "docs/a.md", whole);
    write(&folder, "docs/b.md", "## `b`, and c\n");
    write(&folder, "common/c.h", "");
    write(
        &folder, "tests/grade/lesson02.c",
        "    {\"02.4\", \"sums\", KIND_CORRECT, 6,\n    {\"02.5\", \"moves\", KIND_CORRECT, 5,\n");
    write(&folder, "Makefile", "all: run-it ## both\nrun-it other: c.h\n\tmake none\n");
    snprintf(command, sizeof command, "sh '%s' .", script);
    program_run(&program, folder.path, command);
    ck_assert_msg(program.code == (text->said ? 1 : 0) &&
                      strstr(program.out, text->said ? text->said : ""),
                  "%s\nleft with %d: %s%s", whole, program.code, program.out, program.err);
    ck_assert_msg(!text->said || strchr(program.out, '\n')[1] == '\0', "more than one: %s",
                  program.out);
    program_close(&program);
    folder_close(&folder);
}
END_TEST

Suite *documents_suite(void)
{
    Suite *suite = suite_create("documents");
    TCase *tcase = tcase_create("documents");
    tcase_add_test(tcase, the_texts_name_what_is_there);
    tcase_add_loop_test(tcase, what_is_missing_is_named, 0, sizeof texts / sizeof *texts);
    suite_add_tcase(suite, tcase);
    return suite;
}
