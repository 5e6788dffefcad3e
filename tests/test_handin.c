/* A hand-in is what was committed and answered, or a sentence that says what is not. */
#include "tests/folder.h"
#include "tests/program.h"
#include "tests/suites.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

enum { COMMAND_BYTES = 4096 };

/* A student's tree: a lesson that asks five things, a file of it, a commit; $git, and $course for the scripts.
 * Settings of whoever runs the tests have no part in it. */
static const char tree[] =
    "export HOME=\"$PWD/home\" GIT_CONFIG_NOSYSTEM=1 course='" SOURCE_DIR "/common/course'\n"
    "unset LESSON OUT GIT_DIR GIT_WORK_TREE; mkdir home tree; cd tree; mkdir common lesson02_ring\n"
    "git() { command git -c user.name=A -c user.email=a@b.c -c init.defaultBranch=main \"$@\"; }\n"
    "commit() { git add -A . && git commit -qm 'try again'; }\n"
    "cat >lesson02_ring/README.md <<\\END\n"
    "# Ring\n\n## Predict first\n\nWrite it down.\n\n1. How many bytes\n   does a rank send?\n2. "
    "Messages?\n\n"
    "## Tasks\n\n1. Not asked.\n\n"
    "## Experiments\n\n| what | here | yours |\n|---|---|---|\n| `a\\|b` large | 5 | |\n\n"
    "## Checkpoint questions\n\n1. Why?\n\n<details><summary>Answer</summary>\n\n1. "
    "Because.\n\n</details>\n"
    "END\n"
    "printf 'int x;\\n' >lesson02_ring/ring.c; printf 'int y;\\n' >common/y.c\n"
    "sheet=lesson02_ring/ANSWERS.md\n"
    "fill() { sed -i 's/^\\(Name\\|Predicted\\|Seen\\|Answer\\):/&\\n some\\n/; s/  |$/ 7 |/' "
    "$sheet; }\n"
    "handin() { sh \"$course/handin.sh\" \"$@\"; }\n"
    "answers() { sh \"$course/answers.sh\" \"$@\"; }\n";

/* The tree with a sheet that is filled in, committed. */
static const char ready[] = "git init -q .; answers 2 && fill && commit\n";

/* What Autolab is given, with a tree whose grader takes its own files unless it is told of others. */
static const char autolab[] =
    "mkdir -p course/tests/grade; echo 'all build/grade: ; @true' >course/Makefile; echo 02 "
    ">lesson\n"
    "echo 'echo grades ${FROM-the solution} | sed s,/.*/,,' >course/tests/grade/grade.sh\n"
    "tar -cf autograde.tar course lesson; rm -r course; unset FROM MAKEFLAGS\n"
    "autograde() { make -s -f $course/../../tests/grade/upload/autograde-Makefile; }\n";

/* And Gradescope. */
static const char gradescope[] =
    "mkdir -p source/course/tests/grade submission results; echo 02 >source/lesson\n"
    "echo 'echo grades ${FROM##*/}' >source/course/tests/grade/grade.sh\n"
    "submit() { for file; do mkdir -p $(dirname submission/$file); echo >submission/$file; done\n"
    "    AUTOGRADER=$PWD bash $course/../../tests/grade/upload/run_autograder; }\n";

static void run(struct program *program, const char *before, const char *commands)
{
    char command[COMMAND_BYTES];
    struct folder folder;
    folder_open(&folder);
    int length = snprintf(command, sizeof command, "%s%s%s", tree, before, commands);
    ck_assert_int_lt(length, COMMAND_BYTES);
    program_run(program, folder.path, command);
    folder_close(&folder);
}

/* What `commands` say, after which `code` is returned; on which stream does not matter. */
static const struct saying {
    const char *before, *commands;
    int code;
    const char *said;
} sayings[] = {
    {ready, "handin", 2, "expected a lesson from 1 to 4, found ''"},
    {ready, "handin 5", 2, "expected a lesson from 1 to 4, found '5'"},
    {ready, "handin 02/..", 2, "expected a lesson from 1 to 4"},
    {ready, "handin 03", 2, "expected a lesson from 1 to 4"}, // this tree has none
    {"", "answers 2; handin 2", 2, "git does not know this folder"},
    {"", "git init -q .; handin 2", 2, "nothing is committed yet"},
    {ready, "echo >new.c; handin 2", 2, "?? new.c"},
    {ready, "echo >>common/y.c; git add common/y.c; handin 2", 2, "M  common/y.c"},
    {ready, "git mv common/y.c common/z.c; handin 2", 2, "D  common/y.c"},
    {ready, "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo >n$i.c; done; handin 2", 2, "and 2 more"},
    {ready, "git config status.showUntrackedFiles no; echo >new.c; handin 2", 2, "?? new.c"},
    {ready,
     "echo ANSWERS.md >.git/info/exclude; git rm -q --cached $sheet; git commit -qm x; handin 2", 2,
     "ANSWERS.md is not committed as it is here"},
    {ready,
     "echo '// task 02.1 {' >>common/y.c; git update-index --assume-unchanged common/y.c; handin 2",
     2, "common/y.c is not committed as it is here"},
    {ready,
     "echo '// task 02.1 {' >>common/y.c; commit; echo common/y.c export-ignore "
     ">.git/info/attributes; handin 2",
     2, "common/y.c is not committed as it is here"},
    {ready, "git config core.autocrlf true; rm $sheet; git checkout -q $sheet; handin 2", 0,
     "7 fields filled in\n"},
    {ready, "echo broken >.git/index; handin 2", 2, "git cannot say what is not committed"},
    {"", "head -c 99999 /dev/zero >big; ulimit -f 9; . $course/place.sh; place big out; ls", 0,
     "big\ncommon\nlesson02_ring\n"},
    {"", "echo mine >out; . $course/place.sh; place common/y.c out || cat out", 0, "mine\n"},
    {ready, "git rm -q $sheet; commit; handin 2", 2, "make answers LESSON=02 makes it"},
    {"git init -q .; answers 2; commit\n", "handin 2", 2, "Prediction 1, Seen"},
    {"git init -q .; answers 2; commit\n", "handin 2", 2,
     "Experiments, row \"`ab` large\", last column"},
    {"git init -q .; answers 2; commit\n", "handin 2", 2, "Question 1, Answer"},
    {ready, "sed -i 's/ some/ /' $sheet; commit; handin 2", 2, "Name\n"},
    {ready, "sed -i '/### Question 1/,$d' $sheet; commit; handin 2", 2, "Question 1, Answer"},
    {ready, "sed -i 's/ 7 |/ |/' $sheet; commit; handin 2", 2, "last column"},
    {ready, "echo mine >a.tar.gz; commit; handin 2 a.tar.gz; code=$?; cat a.tar.gz; exit $code", 2,
     "mine"},
    {ready, "handin 2 a.zip", 2, "a name that ends in .tar.gz, found 'a.zip'"},
    {ready, "handin 2 none/a.tar.gz", 2, "there is no folder none"},
    {ready, "answers 2; code=$?; grep -c some $sheet; exit $code", 2, "stays as it is"},
    {ready, "handin 2", 0, "lesson 02 as of commit "},
    {ready, "sed -i 's/ some/ -/' $sheet; commit; handin 02", 0,
     "7 fields filled in, 6 of them with -"},
    {ready, "sed -i 's/$/\\r/' $sheet; commit; handin 02", 0, "7 fields filled in\n"},
    {ready, "echo 'todo(\"02.4\"); todo(\"02.1\");' >>common/y.c; commit; handin 2", 0,
     "not yet written, and no reason to wait: 02.1 02.4\n"},
    {ready,
     "echo 'todo(\"02.4\"); // } 02.3 instead: todo(\"02.3\");' >>common/y.c; commit; handin 2", 0,
     "not yet written, and no reason to wait: 02.4\n"},
    {"", "FROM=none.tar.gz sh $course/../../tests/grade/grade.sh b 2", 2,
     "FROM=none.tar.gz is not there"},
    {"", "echo >bad.tar.gz; FROM=bad.tar.gz sh $course/../../tests/grade/grade.sh b 2", 2,
     "bad.tar.gz cannot be unpacked"},
    {"", "sh $course/../../tests/grade/upload/pack.sh 2 moodle x", 2,
     "FOR: expected gradescope or autolab, found 'moodle'"},
    {"", "sh $course/../../tests/grade/upload/pack.sh 2 autolab common", 2,
     "common is there already"},
    {ready,
     "sh $course/../../tests/grade/upload/pack.sh 2 autolab ../al && tar tf ../al/autograde.tar", 0,
     "ring.c\nlesson\n"},
    {autolab, "autograde", 0,
     "its name must end in .tar.gz, as make handin packs it.\n{\"scores\": {}}\n"},
    {autolab, "echo >handin.tar.gz; autograde", 0, "grades handin.tar.gz\n"},
    {gradescope, "submit a.tar.gz", 0, "grades a.tar.gz\n"},
    {gradescope, "submit lesson02_ring/ring.c", 0, "grades submission\n"},
    {gradescope, "submit mine/lesson02_ring/ring.c", 0, "grades mine\n"},
    {gradescope, "submit a.tar.gz b.tar.gz; cat results/results.json", 0,
     "{\"score\": 0, \"output\": \"expected one archive, found a.tar.gz b.tar.gz: submit"},
    {"", "TREE=none sh $course/offline.sh", 2, "TREE: there is no tree of this course in none"},
    {"", "TREE=$course/../.. EXTRA='clang fortran' sh $course/offline.sh", 2,
     "the table has no row fortran"},
    {"", "cp $course/offline_install.sh .; echo system=other >system; sh offline_install.sh", 2,
     "the packages here are of other"},
    {ready, "cp -r . ../home/a && cd ../home/a && git init -q .. && rm -rf .git && handin 2", 2,
     "nothing is committed"},
};

START_TEST(what_is_not_handed_in_is_named)
{
    const struct saying *saying = &sayings[_i];
    struct program program;
    run(&program, saying->before, saying->commands);
    ck_assert_msg(program.code == saying->code &&
                      (strstr(program.out, saying->said) || strstr(program.err, saying->said)),
                  "%s\nleft with %d, expected %d and: %s\n%s%s", saying->commands, program.code,
                  saying->code, saying->said, program.out, program.err);
    program_close(&program);
}
END_TEST

START_TEST(an_archive_holds_what_was_committed_and_where_from)
{
    static const char *const lines[] = {"same as committed",
                                        "lesson: 02",
                                        "name: Ada",
                                        "not yet written: nothing",
                                        "answers: 7 fields filled in",
                                        "system: ",
                                        "compiler: ",
                                        "try again",
                                        "1\t1\tlesson02_ring/ANSWERS.md",
                                        "\n-Name:\n+Name: Ada\n"};
    struct program program;
    run(&program, ready,
        "sed -i 's/^Name:/Name: Ada/' $sheet; printf '*.o\\n' >.gitignore; commit; echo "
        ">left-out.o\n"
        "handin 2 ../my.tar.gz >/dev/null && cd ../home && tar xzf ../my.tar.gz && cat "
        "my/HANDIN.txt &&\n"
        "rm my/HANDIN.txt ../tree/left-out.o && rm -rf ../tree/.git && diff -r my ../tree && echo "
        "same as committed");
    ck_assert_msg(program.code == 0, "%s%s", program.out, program.err);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        ck_assert_msg(strstr(program.out, lines[i]) != NULL, "no '%s' in\n%s", lines[i],
                      program.out);
    program_close(&program);
}
END_TEST

/* A sheet asks what is under the three headings, and nothing of the answers folded away below a question. */
START_TEST(a_sheet_asks_what_the_text_asks)
{
    struct program program;
    run(&program, "", "answers 2 >/dev/null && sed '1,/^Name:/d' $sheet");
    ck_assert_str_eq(
        program.out,
        "\n## Predict first\n\n"
        "### Prediction 1\n\nHow many bytes\ndoes a rank send?\n\nPredicted:\n\nSeen:\n\n"
        "### Prediction 2\n\nMessages?\n\nPredicted:\n\nSeen:\n\n"
        "## Experiments\n\n| what | here | yours |\n|---|---|---|\n"
        "| `a\\|b` large | 5 |  |\n\n"
        "## Checkpoint questions\n\n### Question 1\n\nWhy?\n\nAnswer:\n\n");
    program_close(&program);
}
END_TEST

Suite *handin_suite(void)
{
    Suite *suite = suite_create("handin");
    TCase *tcase = tcase_create("handin");
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, what_is_not_handed_in_is_named, 0, sizeof sayings / sizeof *sayings);
    tcase_add_test(tcase, an_archive_holds_what_was_committed_and_where_from);
    tcase_add_test(tcase, a_sheet_asks_what_the_text_asks);
    suite_add_tcase(suite, tcase);
    return suite;
}
