/* The pages in Chinese have the shape of the English ones; and each way in which they can part is noticed. */
#include "tests/folder.h"
#include "tests/program.h"
#include "tests/suites.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

enum { COMMAND_BYTES = 1024 };

static const char script[] = SOURCE_DIR "/tests/translations.sh";

START_TEST(the_pages_have_one_shape)
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

START_TEST(a_lesson_that_is_not_translated_is_named)
{
    struct program program;
    struct folder folder;
    folder_open(&folder);
    program_run(&program, folder.path,
                "mkdir lesson09_x; echo '# X' | tee lesson09_x/README.md README.md README.zh.md; "
                "sh " SOURCE_DIR "/tests/translations.sh .");
    ck_assert_int_eq(program.code, 1);
    ck_assert_msg(strstr(program.out, "there is no lesson09_x/README.zh.md") != NULL, "%s",
                  program.out);
    program_close(&program);
    folder_close(&folder);
}
END_TEST

/* A tree of docs/a.md and docs/a.zh.md, beside b.md and b.zh.md with a heading each, c.md, d.zh.md, and a glossary.
 * Of these two texts, the one complaint holds `said`; NULL: there is none. */
static const struct text {
    const char *english, *chinese, *said;
} texts[] = {
    {"[zh](a.zh.md)\n\nOne\n`line`.\n\n- 1\n- 2", "[en](a.md)\n\n`line` 一行。\n\n- 1\n- 2", NULL},
    {"[b](b.md#b-1), [web](https://example.org/b.md)",
     "[乙](b.zh.md#b-乙1), [网](https://example.org/b.md), [丁](d.zh.md)", NULL},
    {"[c](c.md), [up](#a)", "[丙](c.md)，[上](#甲)", NULL},
    {"2 of 5.", "5 个里的 2 个。", NULL},
    {"One\n\nTwo", "一", "the end, where docs/a.md:5 has a paragraph"},
    {"One", "一\n\n二", "a.zh.md:5: a paragraph, where"},
    {"## One", "### 一", "a heading of level 3, where"},
    {"- one", "  - 一", "a list item 2 deep, where"},
    {"- one\n- two", "- 一，二", "where docs/a.md:4 has a list item 0 deep"},
    {"1. one", "- 一", "has a numbered item"},
    {"| a | b |", "| 甲 |", "a row of 1 cells, where"},
    {"```\n$ make\n```", "```\n$ make  all\n```", "has the line of code $ make"},
    {"```console\nx\n```", "```\nx\n```", "has the line of code ```console"},
    {"```\n1\n2\n```", "```\n1\n```", "a.zh.md:5: the line of code ```, where"},
    {"Before:\n\n    a\n", "前：\n\n    b\n", "has the line of code     a"},
    {"<!-- files -->", "<!-- tasks -->", "has the comment <!-- files -->"},
    {"`a` and `b`", "`a`", "lacks `b`, see docs/a.md:3"},
    {"`a`", "`a` `a`", "has too many: `a`"},
    {"23 mistakes", "22 个错误", "lacks the number 23"},
    {"some mistakes", "22 个错误", "has too many: the number 22"},
    {"<details><summary>x</summary>y</details>", "<details><summary>x</summary>y",
     "lacks </details>"},
    {"[b](b.md)", "[乙](b.zh.md), [b](b.md)", "has too many: a link to b.md"},
    {"[c](c.md)", "丙", "lacks a link to c.md"},
    {"![a](a.svg)", "![甲](b.svg)", "lacks a link to a.svg"},
    {"[b](b.md#b-1)", "[乙](b.zh.md#b-1)", "lacks a link to b.zh.md#b-乙1"},
    {"[zh](a.zh.md)", "[en](a.zh.md)", "lacks a link to a.md"},
    {"word", "坏词", "says 坏词, which docs/glossary.zh.md does not use"},
};

static void write(const struct folder *folder, const char *name, const char *text)
{
    char path[512];
    folder_write(folder, name, text, strlen(text), false, path);
}

static void write_page(const struct folder *folder, const char *name, const char *heading,
                       const char *text)
{
    char whole[COMMAND_BYTES];
    snprintf(whole, sizeof whole, "# %s\n\n%s\n", heading, text);
    write(folder, name, whole);
}

START_TEST(where_they_part_is_named)
{
    const struct text *text = &texts[_i];
    char command[COMMAND_BYTES];
    struct program program;
    struct folder folder;
    folder_open(&folder);
    program_run(&program, folder.path, "mkdir docs");
    program_close(&program);
    write_page(&folder, "docs/a.md", "A", text->english);
    write_page(&folder, "docs/a.zh.md", "甲", text->chinese);
    write_page(&folder, "docs/b.md", "`B` 1", "");
    write_page(&folder, "docs/b.zh.md", "`B` 乙（1）", "");
    write_page(&folder, "docs/c.md", "C", "");
    write_page(&folder, "docs/d.zh.md", "丁", "");
    write_page(&folder, "docs/glossary.zh.md", "词",
               "| 英文 | 中文 | 不写作 |\n|---|---|---|\n| a | 甲 | 错词、坏词 |\n| b | 乙 | |\n");
    snprintf(command, sizeof command, "sh '%s' .", script);
    program_run(&program, folder.path, command);
    ck_assert_msg(program.code == (text->said ? 1 : 0) &&
                      strstr(program.out, text->said ? text->said : ""),
                  "%s\n\n%s\nleft with %d: %s%s", text->english, text->chinese, program.code,
                  program.out, program.err);
    program_close(&program);
    folder_close(&folder);
}
END_TEST

Suite *translations_suite(void)
{
    Suite *suite = suite_create("translations");
    TCase *tcase = tcase_create("translations");
    tcase_add_test(tcase, the_pages_have_one_shape);
    tcase_add_test(tcase, a_lesson_that_is_not_translated_is_named);
    tcase_add_loop_test(tcase, where_they_part_is_named, 0, sizeof texts / sizeof *texts);
    suite_add_tcase(suite, tcase);
    return suite;
}
