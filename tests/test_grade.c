/* The grader's command line and what it writes for others. Whether it is right is make check-grader's to
 * prove; here it may be a starter's, with no point at all. */
#include "common/todo.h"
#include "tests/folder.h"
#include "tests/program.h"
#include "tests/suites.h"
#include "tests/watched.h"

#include <check.h>
#include <jansson.h>
#include <string.h>

enum { COMMAND_BYTES = 2048 };

/* What the grader says of a task that is not yet written is not this test's own: it is said otherwise. */
static void run(struct program *program, const struct folder *folder, const char *commands)
{
    char command[2 * COMMAND_BYTES];
    snprintf(command, sizeof command,
             "export OPENBLAS_NUM_THREADS=1; build=${LAUNCH%%/*}; grade=$build/grade; source='%s'; "
             "from() { (cd \"$source\" && sh tests/grade/grade.sh \"$build\" \"$@\"); }; "
             "(%s) >said 2>&1; code=$?; sed 's/is not yet written/is empty/' said; exit $code",
             SOURCE_DIR, commands);
    program_run(program, folder->path, command);
}

static const struct saying {
    const char *commands;
    int code;
    const char *said;
} sayings[] = {
    {"$grade", 2, "expected one lesson, 01 to 04"},
    {"$grade 01 02", 2, "expected one lesson"},
    {"$grade 05", 2, "found '05'"},
    {"$grade two", 2, "found 'two'"},
    {"$grade 02 --task 03.1", 2, "'03.1'; there are 02.1 02.2 02.3"},
    {"$grade 02 --task 02.4/none", 2, "no task or check '02.4/none'"},
    {"$grade 01 --seed -1", 2, "--seed: expected a whole number, found '-1'"},
    {"$grade 01 --json", 2, "see grade --help"},
    {"$grade --help", 0, "usage: grade LESSON"},
    {"$grade 01 --files", 0, "lesson01_single/loss.c\n"},
    {"$grade 01 --task 01.1 --json none/r.json", 1, "cannot write none/r.json"},
    {"$grade 1 --task 01.1/loss --seed 4", 0, " /   5\n"},
    {"from ''", 2, "which lesson?"},
    {"FROM=$PWD from 01", 2, "has no lesson01_single/loss.c"},
    {"FROM=$PWD/none from 01", 2, "neither a folder nor an archive"},
    {"for f in $($grade 01 --files); do mkdir -p mine/${f%/*}; echo 'int x' >mine/$f; done; "
     "FROM=$PWD/mine from 01",
     0, "loss.c does not compile: its tasks get no points"},
};

START_TEST(what_cannot_be_graded_is_said)
{
    const struct saying *saying = &sayings[_i];
    struct folder folder;
    struct program program;
    folder_open(&folder);
    run(&program, &folder, saying->commands);
    ck_assert_msg(program.code == saying->code && strstr(program.out, saying->said),
                  "%s\nleft with %d, expected %d and: %s\n%s", saying->commands, program.code,
                  saying->code, saying->said, program.out);
    program_close(&program);
    folder_close(&folder);
}
END_TEST

/* A copy of the files of lesson 1's tasks, of which loss.c has, before all else or after, what it should not. */
static const struct loss {
    const char *lines, *said;
    int code;
} losses[] = {
    {": >$loss", "has no function loss_correct", 1},
    {"echo '#include \"lesson01_single/loss.c\"' >$loss", "loss.c: only headers may be incl", 1},
    {"echo 'int memcmp(const void *a, const void *b, size_t n) { return !a || !b || !n; }' >>$loss",
     "shows memcmp to other files: make it static", 1},
    {"echo '__attribute__((constructor)) static void win(void) { puts(\"100\"); }' >>$loss; "
     "sed -i '1i #include <stdio.h>' $loss",
     "runs before main", 1},
    {"sed -i '1i #include <stdlib.h>' $loss; sed -i 's/.*task 01.1 {/setenv(\"A\", \"\", 0);/' "
     "$loss",
     "calls setenv which no task needs", 1},
    {"sed -i '1i #include <unistd.h>' $loss; sed -i 's/.*task 01.1 {/(void)!daemon(1, 1);/' $loss",
     "calls daemon which no task needs", 1},
    {"sed -i '1i #include \"lesson02_allreduce/comm_inside.h\"' $loss", "not for tasks to look", 1},
    {"sed -i '1i #include \"tests/grade/grade.h\"' $loss", "not for tasks to look", 1},
    {"mv $loss there; ln -s $PWD/there $loss", "is a symbolic link", 2},
    {"mv mine/lesson01_single there; ln -s $PWD/there mine/lesson01_single", "is a symbolic", 2},
    {"tar -czPf $PWD/h.tar.gz mine/../mine; FROM=$PWD/h.tar.gz", "outside of its folder", 2},
    {"tar -czf $PWD/h.tar.gz -T /dev/null; FROM=$PWD/h.tar.gz", "found: nothing", 2},
    {"tar -czf $PWD/h.tar.gz -C mine .; FROM=$PWD/h.tar.gz", "found: common lesson01_single", 2},
    {"ln -s $source h; tar -czf $PWD/h.tar.gz h; FROM=$PWD/h.tar.gz", "is a symbolic link", 2},
    {"sed -i '1i #include <pthread.h>' $loss; sed -i 's/.*task 01.1 {/pthread_exit(NULL);/' $loss",
     "found that it ended its process", 0},
    {"sed -i '1i #include <pthread.h>' $loss; sed -i 's/.*task 01.1 {/pthread_exit(NULL);/' $loss; "
     "mv mine \"my 'own' tree\"; FROM=$PWD/\"my 'own' tree\"",
     "/my '\\''own'\\'' tree'   hint: make hint TASK=01.1", 0},
    {"echo 'int x' >>$loss",
     "      lesson01_single/loss.c does not compile: lesson01_single/loss.c:", 0},
    {"sed -i 's/.*task 01.1 {/nobodys();/' $loss", "implicit declaration of function", 0},
    {"sed -i '1i static void nobodys(void);' $loss; sed -i 's/.*task 01.1 {/nobodys();/' $loss",
     "does not compile: lesson01_single/loss.c:", 0},
    {"sed -i '1i static int mine(void) { return 1; }' $loss; sed -i 's/.*task 01.1 "
     "{/(void)mine();/' "
     "$loss; echo '#include \"mine.h\"' >>$loss; : >mine/lesson01_single/mine.h",
     "\ntotal ", 0},
};

START_TEST(what_may_not_be_linked_is_refused)
{
    const struct loss *loss = &losses[_i];
    char commands[COMMAND_BYTES / 2];
    if (WATCHED &&
        strstr(loss->lines, "pthread_exit")) // a sanitizer ends such a process its own way
        return;
    struct folder folder;
    struct program program;
    folder_open(&folder);
    snprintf(
        commands, sizeof commands,
        "for f in $($grade 01 --files); do mkdir -p mine/${f%%/*}; cp $source/$f mine/$f; done; "
        "loss=mine/lesson01_single/loss.c; FROM=$PWD/mine; %s; export FROM; TASK=01.1 from 01",
        loss->lines);
    run(&program, &folder, commands);
    ck_assert_msg(program.code == loss->code && strstr(program.out, loss->said),
                  "%s\nleft with %d, expected %d and: %s\n%s", loss->lines, program.code,
                  loss->code, loss->said, program.out);
    program_close(&program);
    folder_close(&folder);
}
END_TEST

/* A function of the test's runs once in lesson 1's backward, in a tree that admits whatever it is given, as a student's own
 * does, and grades with these arguments. */
static void run_planted(struct program *program, const struct folder *folder, const char *planted,
                        const char *grade)
{
    char header[COMMAND_BYTES], commands[COMMAND_BYTES], path[512];
    int bytes = snprintf(header, sizeof header,
                         "#include <fcntl.h>\n#include <unistd.h>\nstatic void planted(void)\n"
                         "{\nstatic int times;\nif (times++ == 0) {\n%s\n}\n}\n",
                         planted);
    folder_write(folder, "planted.h", header, (size_t)bytes, false, path);
    snprintf(commands, sizeof commands,
             "for f in $($grade 02 --files); do mkdir -p mine/${f%%/*}; cp $source/$f mine/$f; "
             "done; layer=mine/lesson01_single/layer.c; "
             "sed -i 's/.*task 01.2 {/planted();/; 1i #include \"../../planted.h\"' $layer; mkdir "
             "-p here/tests/grade tmp; "
             ": >here/tests/grade/admit.sh; cp $source/tests/grade/grade.sh here/tests/grade; "
             "ln -s $source/common $source/lesson0* here; export FROM=$PWD/mine TMPDIR=$PWD/tmp; "
             "cd here; %s",
             grade);
    run(program, folder, commands);
}

START_TEST(who_leaves_its_group_does_not_outlive_its_check)
{
    struct folder folder;
    struct program program;
    folder_open(&folder);
    run_planted(&program, &folder, "if (fork() == 0) { setsid(); fork(); setsid(); sleep(200); }",
                "TASK=01.2/weight sh tests/grade/grade.sh $build 01");
    ck_assert_msg(program.code == 0 && strstr(program.out, "\ntotal "), "%s", program.out);
    ck_assert(program_gone(&program));
    program_close(&program);
    folder_close(&folder);
}
END_TEST

/* As Ctrl-C does, and as somebody who knows but one of its processes: of a check that runs lesson 1's program in a
 * temporary folder. */
static const char *const stops[] = {
    ("timeout=$(command -v timeout) && go=\"timeout 250 $go\"; $go & started=$!; await; kill "
     "${timeout:+-INT} $started"), // which passes it on to its whole group
    "$go & started=$!; await; kill $started",
    "$go & started=$!; await; kill -HUP $started", // a terminal that is closed
};

/* In a starter the check ends at an empty task before it comes to what is planted: there is nothing to stop. */
static void wait_for_empty_task(const struct program *program)
{
    char task[8];
    const char *at = strstr(program->out, "      task ");
    if (!at || sscanf(at, " task %5[0-9.]", task) != 1 || !strstr(at, ") is empty\n"))
        return;
    program_gone(program);
    todo(task);
}

START_TEST(what_is_stopped_leaves_nothing)
{
    struct folder folder;
    struct program program;
    char planted[600], grade[600];
    folder_open(&folder);
    snprintf(planted, sizeof planted, "creat(\"%s/begun\", 0600); sleep(200);", folder.path);
    snprintf(grade, sizeof grade,
             "await() { for i in $(seq 600); do [ -e ../begun ] && break; sleep 0.1; done; }; "
             "export TASK=02.6/step; "
             "go='sh tests/grade/grade.sh '$build' 02'; %s; wait $started; code=$?; "
             "find $TMPDIR -mindepth 1; [ $code != 0 ]",
             stops[_i]);
    run_planted(&program, &folder, planted, grade);
    wait_for_empty_task(&program);
    const char *said = strchr(program.out, '\n'); // after the seed's line
    ck_assert_msg(program.code == 0 && said &&
                      strcmp(said, "\n\ngrade: stopped; nothing that it started is left\n") == 0,
                  "%s\nleft with %d and: %s", stops[_i], program.code, program.out);
    ck_assert(program_gone(&program));
    program_close(&program);
    folder_close(&folder);
}
END_TEST

static double number(const json_t *object, const char *key)
{
    ck_assert_msg(json_is_number(json_object_get(object, key)), "there is no number %s", key);
    return json_number_value(json_object_get(object, key));
}

/* A row of "tests": what Gradescope shows of a check. */
static void check_row(const json_t *row)
{
    static const char *const texts[] = {"number", "name", "status", "output"};
    double score = number(row, "score"), most = number(row, "max_score");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        ck_assert_msg(json_is_string(json_object_get(row, texts[i])), "no text %s", texts[i]);
    const char *status = json_string_value(json_object_get(row, "status"));
    ck_assert_str_eq(status, score > 0 ? "passed" : "failed");
    ck_assert(score == 0 || score == most);
    ck_assert_int_eq(json_string_length(json_object_get(row, "output")) == 0, score > 0);
}

/* All there is, a tree in which a task is not yet written, and one in which its file does not compile. */
static const char *const gradings[] = {
    "$grade 01 --seed 3 --autolab --json r.json",
    ("for f in $($grade 01 --files); do mkdir -p mine/${f%/*}; cp $source/$f mine/$f; done; "
     "awk -v from=01 -f $source/common/course/regions.awk $source/lesson01_single/layer.c "
     ">mine/lesson01_single/layer.c; FROM=$PWD/mine JSON=$PWD/r.json from 01 -A"),
    ("for f in $($grade 01 --files); do mkdir -p mine/${f%/*}; cp $source/$f mine/$f; done; "
     "echo 'int x' >mine/lesson01_single/layer.c; FROM=$PWD/mine JSON=$PWD/r.json from 01 -A")};

START_TEST(the_file_for_gradescope_adds_up_as_autolabs_line_does)
{
    struct folder folder;
    struct program program;
    char path[512];
    static const char *const said[] = {"", ") is empty\n",
                                       "      lesson01_single/layer.c does not"};
    double score = 0, most = 0;
    size_t i;
    json_t *row;
    const char *task;
    folder_open(&folder);
    run(&program, &folder, gradings[_i]);
    ck_assert_int_eq(program.code, 0);
    json_t *all = json_load_file(folder_path(&folder, "r.json", path), 0, NULL);
    json_array_foreach(json_object_get(all, "tests"), i, row)
    {
        check_row(row);
        score += number(row, "score");
        most += number(row, "max_score");
    }
    ck_assert(_i == 0 || (score <= 80 && strstr(program.out, said[_i])));
    ck_assert(most == 100 && number(all, "score") == score && number(all, "execution_time") > 0);
    json_t *line = json_loads(strstr(program.out, "{\"scores\""), 0, NULL);
    json_object_foreach(json_object_get(line, "scores"), task, row) score -= json_number_value(row);
    ck_assert(score == 0 && json_object_size(json_object_get(line, "scores")) == 5);
    json_decref(line);
    json_decref(all);
    program_close(&program);
    folder_close(&folder);
}
END_TEST

Suite *grade_suite(void)
{
    Suite *suite = suite_create("grade");
    TCase *tcase = tcase_create("grade");
    tcase_add_loop_test(tcase, what_cannot_be_graded_is_said, 0, sizeof sayings / sizeof *sayings);
    tcase_add_loop_test(tcase, what_may_not_be_linked_is_refused, 0,
                        sizeof losses / sizeof *losses);
    tcase_add_loop_test(tcase, the_file_for_gradescope_adds_up_as_autolabs_line_does, 0,
                        sizeof gradings / sizeof *gradings);
    suite_add_tcase(suite, tcase);
    tcase = tcase_create("ends");
    tcase_add_test(tcase, who_leaves_its_group_does_not_outlive_its_check);
    tcase_add_loop_test(tcase, what_is_stopped_leaves_nothing, 0, sizeof stops / sizeof *stops);
    suite_add_tcase(suite, tcase);
    return suite;
}
