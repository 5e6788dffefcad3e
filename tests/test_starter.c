/* starter: trees for students, written by common/course/starter.sh. */
#include "tests/folder.h"
#include "tests/program.h"
#include "tests/suites.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

enum { COMMAND_BYTES = 1024 };

/* In a folder of its own; $out is not there yet, $starter asks for it. */
static void expect(const char *script, int code, const char *said)
{
    char command[COMMAND_BYTES];
    struct folder folder;
    struct program program;
    folder_open(&folder);
    snprintf(command, sizeof command,
             "out=$PWD/out; cd '%s'; starter() { sh common/course/starter.sh \"$@\"; }; %s",
             SOURCE_DIR, script);
    program_run(&program, folder.path, command);
    ck_assert_msg(program.code == code, "%s: returned %d, not %d: %s%s", script, program.code, code,
                  program.out, program.err);
    ck_assert_msg(strstr(program.err, said) || strstr(program.out, said), "%s: said %s%s", script,
                  program.out, program.err);
    program_close(&program);
    folder_close(&folder);
}

START_TEST(what_cannot_be_made_is_refused_and_nothing_is_lost)
{
    static const struct {
        const char *script, *said;
    } rows[] = {
        {"starter '' $out", "LESSON is '', expected 01, 02, 03 or 04"},
        {"starter 05 $out", "LESSON is '05'"},
        {"starter 02 ''", "OUT is not given"},
        {"starter 02 Makefile", "OUT=Makefile is a file"},
        {"mkdir $out; echo mine > $out/a; starter 02 $out; code=$?; grep -q mine $out/a && exit "
         "$code",
         "is not empty: nothing in it was changed"},
        {"starter 02 $out $out.none", "is no folder"},
        {"mkdir $out.from; starter 02 $out $out.from; code=$?; [ ! -e $out ] && exit $code",
         "which holds a task of an earlier lesson"},
        {"starter 02 / ", "OUT=/ is not empty"},
        {"starter 02 build/out/mine", "OUT=build/out/mine is within this tree"},
        {"starter 02 -mine", "is within this tree"},
        {"ln -s $out.none $out; starter 02 $out", "a link that leads nowhere"},
        {"starter 02 /dev/null/mine", "OUT=/dev/null/mine cannot be made; see above"},
        {"ulimit -f 100; starter 02 $out; code=$?; [ -z \"$(ls -A ${out%/*})\" ] && exit $code",
         "cannot be filled, and nothing was left of it"},
    };
    expect(rows[_i].script, 2, rows[_i].said);
}
END_TEST

/* A slash at its end, as a shell's completion puts it; a folder that waits for it, a link to one, a blank. */
START_TEST(a_folder_may_be_named_in_any_way)
{
    static const char *const scripts[] = {
        "starter 04 $out// && [ -f $out/Makefile ]",
        "mkdir $out && starter 04 $out/ && [ -f $out/Makefile ]",
        ("mkdir $out.there && ln -s $out.there $out && starter 04 $out && [ -L $out ] && "
         "[ -f $out.there/Makefile ]"),
        "starter 04 \"$out a b/mine\" && [ -f \"$out a b/mine/Makefile\" ]",
    };
    expect(scripts[_i], 0, _i < 3 ? "begin with: cd /" : "begin with: cd '/");
}
END_TEST

START_TEST(tasks_of_this_lesson_and_the_later_ones_are_emptied)
{
    expect("starter 03 $out && grep -q 'todo(\"03.1\")' $out/lesson03_ddp/bucket.c && "
           "grep -q 'todo(\"04.1\")' $out/lesson04_zero/shard.c && "
           "cmp lesson02_allreduce/wire.c $out/lesson02_allreduce/wire.c",
           0, "places to write in");
}
END_TEST

/* Of what its texts name, too: its own `make check` looks. */
START_TEST(a_starter_lacks_nothing_but_solutions)
{
    expect("starter 01 $out && sh tests/documents.sh $out", 0, "places to write in");
}
END_TEST

START_TEST(earlier_tasks_are_the_students_own_and_later_ones_are_not)
{
    expect("mkdir $out.from; cp -r --parents common/s*.c lesson0*/*.c $out.from; "
           "echo '// mine' >> $out.from/lesson02_allreduce/ring.c; "
           "echo 'todo(\"02.2\")' >> $out.from/lesson02_allreduce/wire.c; "
           "echo '// mine' >> $out.from/lesson03_ddp/ddp.c; starter 03 $out $out.from && "
           "cmp $out.from/lesson02_allreduce/ring.c $out/lesson02_allreduce/ring.c && "
           "! grep mine $out/lesson03_ddp/ddp.c",
           0, "lesson02_allreduce/wire.c: 02.2");
}
END_TEST

/* Else --inject would plant nothing in the tree of a student who has every point. */
START_TEST(no_mistake_is_planted_within_a_region)
{
    expect("starter 01 $out && cd $out && "
           "planted() { grep -Eo '(mistakes_|ZOO_)[A-Za-z_]+' lesson0?_*/*.c | sort -u; } && "
           "planted > $out.left; cd '" SOURCE_DIR "' && planted > $out.all && "
           "diff $out.all $out.left && echo the same",
           0, "the same");
}
END_TEST

/* Every region's task is in the table with that file, and every file of the table has one. */
START_TEST(the_table_names_the_files_of_all_regions)
{
    expect("grep -HE '^ *// task [0-9]{2}[.][0-9]+ [{]$' lesson0*/*.c common/*.c | "
           "sed -E 's,^([^:]*): *// task ([0-9.]+) .*,\\2 \\1,' | sort -u > $out; "
           "\"${LAUNCH%/*}/tasks\" | awk -F '\\t' '{ n = split($3, files, / /); "
           "for (i = 1; i <= n; i++) print $1, files[i] }' | sort | diff $out - && echo the same",
           0, "the same");
}
END_TEST

Suite *starter_suite(void)
{
    Suite *suite = suite_create("starter");
    TCase *tcase = tcase_create("starter");
    tcase_add_loop_test(tcase, what_cannot_be_made_is_refused_and_nothing_is_lost, 0, 13);
    tcase_add_loop_test(tcase, a_folder_may_be_named_in_any_way, 0, 4);
    tcase_add_test(tcase, tasks_of_this_lesson_and_the_later_ones_are_emptied);
    tcase_add_test(tcase, a_starter_lacks_nothing_but_solutions);
    tcase_add_test(tcase, earlier_tasks_are_the_students_own_and_later_ones_are_not);
    tcase_add_test(tcase, no_mistake_is_planted_within_a_region);
    tcase_add_test(tcase, the_table_names_the_files_of_all_regions);
    suite_add_tcase(suite, tcase);
    return suite;
}
