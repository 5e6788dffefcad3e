/* What the texts quote of the tree is what it has; and the scripts that quote, and that run a text's commands, notice what
 * is not so. */
#include "tests/folder.h"
#include "tests/program.h"
#include "tests/suites.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

enum { COMMAND_BYTES = 2048 };

static void write(const struct folder *folder, const char *name, const char *text)
{
    char path[512];
    folder_write(folder, name, text, strlen(text), false, path);
}

/* Runs the command in the folder. It leaves with `code`, and what it prints holds `said`. */
static void expect(const struct folder *folder, const char *command, int code, const char *said)
{
    struct program program;
    program_run(&program, folder->path, command);
    ck_assert_msg(program.code == code && (strstr(program.out, said) || strstr(program.err, said)),
                  "%s\nleft with %d, not %d with \"%s\": %s%s", command, program.code, code, said,
                  program.out, program.err);
    program_close(&program);
}

START_TEST(the_texts_quote_what_the_tree_has)
{
    struct folder folder;
    char command[COMMAND_BYTES];
    folder_open(&folder);
    snprintf(command, sizeof command,
             "cd '%s' && sh common/course/texts.sh \"${LAUNCH%%/*}\" check", SOURCE_DIR);
    expect(&folder, command, 0, "");
    folder_close(&folder);
}
END_TEST

static const char header[] =
    "/* a banner: not of cut(). */\n#ifndef H\n#define H\n\nenum { MOST = 2 };\n\n"
    "/* Cuts.\n *\n * Twice. */\nint cut(int a,\n        int b);\nint uncut(int a);\n\n"
    "struct part {\n    int begin;\n\n    int count; // of cut (it)\n};\n\n#endif\n";

/* A place of lesson/a.md, and what comes of it; or what is complained of. Beside it are lesson/h.h as above and two tasks. */
static const struct quoted {
    const char *place, *gives, *complaint;
} quotes[] = {
    {"<!-- contract lesson/h.h cut -->\nstale\n<!-- end -->\n",
     "<!-- contract lesson/h.h cut -->\n```c\n/* Cuts.\n *\n * Twice. */\nint cut(int a,\n        "
     "int "
     "b);\nint uncut(int a);\n```\n<!-- end -->\n",
     NULL},
    {"<!-- contract lesson/h.h part -->\n<!-- end -->\n",
     "<!-- contract lesson/h.h part -->\n```c\nstruct part {\n    int begin;\n\n    int count; // "
     "of cut "
     "(it)\n};\n```\n<!-- end -->\n",
     NULL},
    {"<!-- files -->\n| file | lines | is |\n|---|---|---|\n| [h](h.h), [a](../a) | 7 | b |\n<!-- "
     "end -->\n",
     "<!-- files -->\n| file | lines | is |\n|---|---|---|\n| [h](h.h), [a](../a) | 23 | b |\n<!-- "
     "end -->\n",
     NULL},
    {"<!-- tasks 02 -->\n<!-- end -->\n",
     "<!-- tasks 02 -->\n| task | what | file | suites | hints |\n|---|---|---|---|---|\n"
     "| 02.1 | two | [b.c](b.c), [c.c](../x/c.c) | s | 3 |\n<!-- end -->\n",
     NULL},
    {"```\n<!-- tasks 02 -->\n```\n<!-- end -->\n", "```\n<!-- tasks 02 -->\n```\n<!-- end -->\n",
     NULL},
    {"<!-- contract lesson/h.h none -->\n<!-- end -->\n", NULL,
     "line 1: lesson/h.h declares no none"},
    {"<!-- contract none.h cut -->\n<!-- end -->\n", NULL, "none.h, which cannot be read"},
    {"<!-- files -->\n| [x](x.c) | | |\n<!-- end -->\n", NULL, "lesson/x.c, which is not there"},
    {"<!-- tasks 03 -->\n<!-- end -->\n", NULL, "no tasks of lesson 03"},
    {"a\n<!-- files -->\n", NULL, "a place of files has no <!-- end -->"},
};

START_TEST(a_place_holds_what_the_tree_has)
{
    const struct quoted *quoted = &quotes[_i];
    struct folder folder;
    char command[COMMAND_BYTES];
    folder_open(&folder);
    expect(&folder, "mkdir lesson", 0, "");
    write(&folder, "lesson/h.h", header);
    write(&folder, "a", "1\n2\n3\n");
    write(&folder, "tasks", "01.1\tone\tlesson/a.c\ts\t0\n02.1\ttwo\tlesson/b.c x/c.c\ts\t3\n");
    write(&folder, "lesson/a.md", quoted->place);
    snprintf(command, sizeof command, "awk -f '%s/common/course/texts.awk' tasks lesson/a.md",
             SOURCE_DIR);
    expect(&folder, command, quoted->complaint ? 2 : 0,
           quoted->complaint ? quoted->complaint : quoted->gives);
    folder_close(&folder);
}
END_TEST

START_TEST(a_translated_list_keeps_its_head_and_titles)
{
    struct folder folder;
    char command[COMMAND_BYTES];
    folder_open(&folder);
    write(&folder, "tasks", "02.1\ttwo\tb.c\ts\t3\n02.2\tnew\tb.c\ts\t1\n");
    write(&folder, "a.zh.md",
          "<!-- tasks 02 -->\n| T | W |\n|---|---|\n| 02.1 | zwei | old |\n<!-- end -->\n");
    snprintf(command, sizeof command, "awk -f '%s/common/course/texts.awk' tasks a.zh.md",
             SOURCE_DIR);
    expect(&folder, command, 0,
           "| T | W |\n|---|---|\n| 02.1 | zwei | [b.c](b.c) | s | 3 |\n| 02.2 | new | [b.c](b.c) "
           "| s | 1 |\n<!--");
    folder_close(&folder);
}
END_TEST

/* What stands in a text, and what is complained of; NULL: nothing, and all is well. */
static const struct shown {
    const char *text, *complaint;
} texts[] = {
    {"```console\n$ echo a; echo b\na\nb\n```\n", NULL},
    {"```console\n$ echo a; echo b\n```\n", NULL},
    {"```console\n$ seq 5\n1\n...\n4\n...\n```\n", NULL},
    {"```console\n$ echo 'loss 0.2946  took 3 s, 12.5 us, 7 samples/s'\nloss 0.2950 took 11 s, 9 "
     "us, 1234 samples/s\n```\n",
     NULL},
    {"```console\n$ echo off by at most 0.3 %, 0x3b\noff by at most 7e-08 %, 0xffa0\n```\n", NULL},
    {"```console\n$ x=4\n$ echo $x \\\n  and more\n4 and more\n```\n", NULL},
    {"```console\n$ exit_3() { return 3; }; exit_3    # exits with 3\n```\n", NULL},
    {"```\n$ false\n```\n", NULL},
    {"<!-- texts: times -->\n```console\n$ echo '| 4 | 17.5 | -3 |'\n| 8 | 1.5 | 2 |\n```\n", NULL},
    {"<!-- texts: cut MANY=1 -->\n```console\n$ seq $MANY\n1\n2\n```\n```console\n$ echo "
     "$MANY.\n.\n```\n",
     NULL},
    {"<!-- texts: short 9999 => 3 -->\n```console\n$ seq 9999\n1\n...\n9999\n```\n", NULL},
    {"<!-- texts: needs no-such-program -->\n```console\n$ false\n```\n", NULL},
    {"## Experiments\n\n| e | command | you expect | here | yours |\n|---|---|---|---|---|\n"
     "| x | `A=1; echo 0.5 12345 7` | y | 0.5, 12345 and 7, in 3.1 s | |\n",
     NULL},
    {"```console\n$ echo a; echo b\na\n```\n", "t.md:2: prints more than is shown"},
    {"```console\n$ echo a\nb\n```\n", "t.md:2: prints other than \"b\""},
    {"```console\n$ echo a\na\nb\n```\n", "t.md:2: prints other than \"b\""},
    {"```console\n$ seq 5\n1\n...\n6\n...\n```\n", "t.md:2: prints other than \"6\""},
    {"```console\n$ echo loss 0.29\nloss 0.31\n```\n", "prints other than \"loss 0.31\""},
    {"```console\n$ echo 16 ranks\n64 ranks\n```\n", "prints other than \"64 ranks\""},
    {"```console\n$ false\n```\n", "t.md:2: leaves with 1, expected 0"},
    {"```console\n$ true    # exits with 3\n```\n", "leaves with 0, expected 3"},
    {"```console\n$ exit\n$ true\n```\n", "t.md:3: was not come to"},
    {"<!-- texts: cut MANY=1 -->\n```console\n$ seq $MANY\n2\n3\n```\n",
     "prints nothing of what is shown"},
    {"<!-- texts: cut MANY=b -->\n```console\n$ printf '%s 0.5\\n' a $MANY\na 0.5\nb 0.6\n```\n",
     "prints other than \"b 0.6\""},
    {"## Experiments\n\n| e | command | you expect | here | yours |\n|---|---|---|---|---|\n| x | "
     "`A=1; echo 0.5` | y | 0.7 | |\n",
     "t.md:5: shows 0.7, which was not printed"},
    {"## Experiments\n\n| e | command | you expect | here | yours |\n|---|---|---|---|---|\n| x | "
     "`for i in 4 7; do echo $i buckets; done` | y | 4 buckets, then 6 | |\n",
     "t.md:5: shows 6, which was not printed"},
};

/* Where figures may be off by `slack`. */
static void check_shown(const struct shown *shown, const char *slack)
{
    struct folder folder;
    char command[COMMAND_BYTES];
    folder_open(&folder);
    write(&folder, "t.md", shown->text);
    snprintf(
        command, sizeof command,
        "awk -v out=. -f '%s/tests/texts/commands.awk' t.md && bash run.sh > printed 2>&1; awk -v "
        "slack=%s -f "
        "'%s/tests/texts/compare.awk' expected printed",
        SOURCE_DIR, slack, SOURCE_DIR);
    expect(&folder, command, shown->complaint ? 1 : 0,
           shown->complaint ? shown->complaint : "command");
    folder_close(&folder);
}

START_TEST(a_text_shows_what_its_commands_print)
{
    check_shown(&texts[_i], "0.02");
}
END_TEST

START_TEST(figures_are_the_same_where_they_can_be)
{
    const struct shown same = {"```console\n$ echo loss 0.2946\nloss 0.2946\n```\n", NULL};
    const struct shown near = {"```console\n$ echo loss 0.2946\nloss 0.2947\n```\n",
                               "prints other than \"loss 0.2947\""};
    check_shown(&same, "0");
    check_shown(&near, "0");
}
END_TEST

static const struct flag {
    const char *text, *complaint;
} flags[] = {
    {"```sh\nmpirun --none -n 4 build/a --known 1\n```\n", NULL},
    {"```console\n$ build/a --known 1 --something\n```\n--none\n", NULL},
    {"```\nbuild/a --none\n```\n", "t.md:2: no program here has --none"},
    {"```\n$ true\n```\n", "t.md:2: a command in a block that is neither console nor sh"},
    {"```sh\nbuild/a --known 1 --none\n```\n", "t.md:2: no program here has --none"},
    {"```sh\nmake lesson02 ARGS=\"--none\"\n```\n", "no program here has --none"},
};

START_TEST(a_command_that_cannot_run_has_known_flags)
{
    struct folder folder;
    char command[COMMAND_BYTES];
    folder_open(&folder);
    write(&folder, "help", "  --known N    does --something\n");
    write(&folder, "t.md", flags[_i].text);
    snprintf(command, sizeof command, "awk -f '%s/tests/texts/flags.awk' help t.md", SOURCE_DIR);
    expect(&folder, command, flags[_i].complaint ? 1 : 0,
           flags[_i].complaint ? flags[_i].complaint : "");
    folder_close(&folder);
}
END_TEST

Suite *texts_suite(void)
{
    Suite *suite = suite_create("texts");
    TCase *tcase = tcase_create("texts");
    tcase_add_test(tcase, the_texts_quote_what_the_tree_has);
    tcase_add_loop_test(tcase, a_place_holds_what_the_tree_has, 0, sizeof quotes / sizeof *quotes);
    tcase_add_test(tcase, a_translated_list_keeps_its_head_and_titles);
    tcase_add_loop_test(tcase, a_text_shows_what_its_commands_print, 0,
                        sizeof texts / sizeof *texts);
    tcase_add_test(tcase, figures_are_the_same_where_they_can_be);
    tcase_add_loop_test(tcase, a_command_that_cannot_run_has_known_flags, 0,
                        sizeof flags / sizeof *flags);
    suite_add_tcase(suite, tcase);
    return suite;
}
