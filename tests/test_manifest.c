/* Ranks that would train different things are told so, all of them, before anything is sent. */
#include "lesson03_ddp/manifest.h"
#include "tests/lessons.h"
#include "tests/suites.h"

#include <check.h>
#include <string.h>

/* 3-4-2; 10 training and 2 test samples. */
static void plan(struct run *run)
{
    static const size_t widths[] = {3, 4, 2};
    *run = (struct run){.train = {.count = 10}, .test = {.count = 2}};
    model_plan(&run->model, widths, 2, true);
}

static void expect(const struct manifest *rank_0s, const struct manifest *other, const char *words)
{
    char text[MANIFEST_TEXT_BYTES] = "";
    bool differ = manifest_difference(rank_0s, other, 7, text);
    ck_assert_str_eq(text, words);
    ck_assert_int_eq(differ, words[0] != '\0');
}

START_TEST(the_first_item_that_differs_is_named_with_both_descriptions)
{
    struct run run;
    plan(&run);
    struct manifest mine = manifest_of(&run), other = mine;
    expect(&mine, &other, "");
    other.items[MANIFEST_ITEMS_MOST - 1].shape[0] = 3;
    expect(&mine, &other, "rank 7 has 3 test samples where rank 0 has 2 test samples");
    other.items[MANIFEST_ITEMS_MOST - 2].shape[0] = 9;
    expect(&mine, &other, "rank 7 has 9 training samples where rank 0 has 10 training samples");
    other.items[3].shape[0] = 5;
    expect(&mine, &other, "rank 7 has fc2.bias (5) where rank 0 has fc2.bias (2)");
    other.items[2].name[3] = 'W';
    expect(&mine, &other, "rank 7 has fc2Wweight (2, 4) where rank 0 has fc2.weight (2, 4)");
    memset(&other.items[0], 0, sizeof other.items[0]);
    expect(&mine, &other, "rank 7 has nothing where rank 0 has fc1.weight (4, 3)");
    memset(other.items[0].name, 'x', sizeof other.items[0].name); // no end, as from a stranger
    expect(&other, &mine,
           "rank 7 has fc1.weight (4, 3) where rank 0 has 0 xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
}
END_TEST

START_TEST(a_tensor_more_is_a_difference)
{
    static const size_t widths[] = {3, 4, 2};
    struct run run;
    plan(&run);
    struct manifest mine = manifest_of(&run);
    model_plan(&run.model, widths, 1, true);
    struct manifest other = manifest_of(&run);
    expect(&mine, &other, "rank 7 has nothing where rank 0 has fc2.weight (2, 4)");
    expect(&other, &mine, "rank 7 has fc2.weight (2, 4) where rank 0 has nothing");
}
END_TEST

/* --- real ranks ------------------------------------------------------------------------------ */

/* Every rank reads d.csv of a folder of its own; `culprit` has another. */
static const struct {
    int world, culprit;
    const char *rows, *culprits_rows;
    const char *words; // that every rank must say
} data[] = {
    {2, 1, "1,2,0\n3,4,1\n5,6,0\n", "1,2,9,0\n3,4,9,1\n5,6,9,0\n",
     "rank 1 has fc1.weight (5, 3) where rank 0 has fc1.weight (5, 2)"},
    {4, 2, "1,2,0\n3,4,1\n5,6,0\n", "1,2,0\n3,4,1\n5,6,2\n",
     "rank 2 has fc2.weight (3, 5) where rank 0 has fc2.weight (2, 5)"},
    {3, 0, "1,2,0\n3,4,1\n5,6,0\n", "1,0\n3,1\n5,0\n",
     "rank 1 has fc1.weight (5, 2) where rank 0 has fc1.weight (5, 1)"},
    {3, 2, "1,2,0\n3,4,1\n5,6,0\n7,8,1\n", "1,2,0\n3,4,1\n5,6,0\n",
     "rank 2 has 3 training samples where rank 0 has 4 training samples"},
    {2, 1, "1,2,0\n3,4,1\n5,6,0\n7,8,1\n9,10,1\n", "1,2,0\n3,4,1\n5,6,0\n7,8,1\n",
     "rank 1 has 0 test samples where rank 0 has 1 test samples"},
};
enum { DATA = sizeof data / sizeof *data };

static size_t times(const char *text, const char *words)
{
    size_t count = 0;
    for (const char *at = strstr(text, words); at; at = strstr(at + 1, words))
        count++;
    return count;
}

START_TEST(ranks_whose_data_differ_all_name_the_first_difference)
{
    int row = _i / 2, world = data[row].world;
    char command[512];
    struct folder folder;
    struct program program;
    folder_open(&folder);
    lesson_write(&folder, "all.csv", data[row].rows);
    lesson_write(&folder, "other.csv", data[row].culprits_rows);
    snprintf(command, sizeof command,
             "export OPENBLAS_NUM_THREADS=1 LESSON=${LAUNCH%%/*}/%s; exec $LAUNCH -n %d --grace 10 "
             "sh -c 'mkdir $RANK && cd $RANK && if [ $RANK = %d ]; then cp ../other.csv d.csv; "
             "else cp ../all.csv d.csv; fi && exec $LESSON --hidden 5 --steps 3 --data d.csv'",
             _i % 2 ? "lesson04_zero" : "lesson03_ddp", world, data[row].culprit);
    program_run(&program, folder.path, command);
    ck_assert_msg(program.code == 1 && times(program.err, data[row].words) >= (size_t)world,
                  "exit code %d\n%s%s", program.code, program.out, program.err);
    ck_assert_ptr_null(strstr(program.out, "verify step"));
    program_close(&program);
    folder_close(&folder);
}
END_TEST

Suite *manifest_suite(void)
{
    Suite *suite = suite_create("manifest");
    TCase *tcase = tcase_create("ranks");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, the_first_item_that_differs_is_named_with_both_descriptions);
    tcase_add_test(tcase, a_tensor_more_is_a_difference);
    tcase_add_loop_test(tcase, ranks_whose_data_differ_all_name_the_first_difference, 0, 2 * DATA);
    suite_add_tcase(suite, tcase);
    return suite;
}
