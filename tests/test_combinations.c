/*
 * Flags that change what is trained or how, together: in every combination of the table, at every
 * world, each lesson's own proof holds, lesson 4 trains as lesson 3 does, bit for bit, and a run that
 * stops half-way and resumes ends as one that does not.
 */
#include "tests/lessons.h"
#include "tests/suites.h"
#include "tests/watched.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

enum { WORLDS = 4, STAGES = 3, ARGUMENTS_BYTES = 512 };

struct combination {
    const char *flags;
    bool rebuilt; // lesson 3 plans its buckets anew, which lesson 4's shards do not allow
    bool drops;   // ranks leave out layers of their own: more of them train otherwise
};

static const struct combination combinations[] = {
    {.flags = "--hidden 13 --dropout 0.3 --batch 50"},
    {
        .flags =
            "--hidden 16,16,16 --dropout 0.5 --batch 17 --accumulate 3 --optimizer adam --lr 0.003",
    },
    {.flags = "--hidden 12,9 --freeze fc1,fc3.bias --batch 50 --weight-decay 0.1 --clip 0.5"},
    {.flags = "--hidden 16,16,16 --layer-drop 0.4 --batch 50 --weight-decay 0.1", .drops = true},
    {.flags = "--hidden 64,16,16,16 --layer-drop 0.5 --tie fc3=fc4 --freeze fc2 --dropout 0.3 "
              "--batch 21 --accumulate 3 --clip 1 --optimizer adam --lr 0.003",
     .rebuilt = true,
     .drops = true},
    {.flags = "--hidden 20,9,14,9 --recompute 2 --batch 50 --dropout 0.2"},
    {.flags = "--hidden 14,14,14,14 --recompute 2 --precision bf16 --batch 50 --dropout 0.2 "
              "--layer-drop 0.3",
     .drops = true},
    {.flags = "--hidden 12,12,12,12,12,12 --recompute 3 --tie fc5=fc2 --freeze fc4 "
              "--layer-drop 0.3 --batch 19 --accumulate 2 --optimizer adam --lr 0.003",
     .drops = true},
    {.flags = "--hidden 16,16,16 --tie fc3=fc2 --batch 24 --weight-decay 0.1"},
    {.flags = "--hidden 16,16,16 --tie fc2=fc3 --batch 24 --accumulate 2 --clip 1.5",
     .rebuilt = true},
    {
        .flags = "--hidden 16,16,16 --tie fc3=fc2 --freeze fc1,fc2.weight --dropout 0.2 --batch 33 "
                 "--optimizer adamw --lr 0.003 --weight-decay 0.1",
    },
};
enum { COMBINATIONS = sizeof combinations / sizeof *combinations };

/* Verification lines of a step: all of them must be ok. */
static const size_t lines_of[] = {0, 1, 4, 4, 4};

static const char buckets[] = "--first-bucket-kb 0.2 --bucket-kb 1 --find-unused";

static void climb(const struct folder *folder, struct lesson lesson, const char *flags,
                  const char *dump)
{
    char arguments[ARGUMENTS_BYTES];
    snprintf(arguments, sizeof arguments, "%s --steps 8 --verify 3 --dump %s --dump-steps 8 %s",
             flags, dump, lesson.number >= 3 ? buckets : "");
    size_t lines = lesson_ok(folder, lesson, arguments);
    ck_assert_msg(lines >= 3 * lines_of[lesson.number], "lesson %d printed %zu lines",
                  lesson.number, lines);
}

/* Lesson 4 at every stage: the dumps of each are lesson 3's, in "three". */
static void climb_stages(const struct folder *folder, int world,
                         const struct combination *combination)
{
    for (int stage = 1; stage <= STAGES; stage++) {
        char staged[ARGUMENTS_BYTES - 128], dump[24], both[64];
        snprintf(staged, sizeof staged, "%s --stage %d --persist-kb 0.1", combination->flags,
                 stage);
        snprintf(dump, sizeof dump, "four-%d", stage);
        snprintf(both, sizeof both, "three %s%s", dump,
                 combination->rebuilt ? " --tolerance 1e-5" : "");
        climb(folder, (struct lesson){4, world}, staged, dump);
        lesson_dumps_equal(folder, both);
    }
}

START_TEST(every_lesson_is_the_one_below_whatever_the_flags)
{
    int world = 1 + _i % WORLDS;
    const struct combination *combination = &combinations[_i / WORLDS];
    struct folder folder;
    folder_open(&folder);
    climb(&folder, (struct lesson){1, 1}, combination->flags, "one");
    climb(&folder, (struct lesson){2, world}, combination->flags, "two");
    climb(&folder, (struct lesson){3, world}, combination->flags, "three");
    climb_stages(&folder, world, combination);
    lesson_dumps_equal(&folder, "two three --tolerance 1e-5");
    if (world == 1 || !combination->drops)
        lesson_dumps_equal(&folder, "one two --tolerance 1e-5");
    folder_close(&folder);
}
END_TEST

/* What is random is a function of the step: there is nothing more to save. */
START_TEST(a_resumed_run_ends_like_one_that_never_stopped)
{
    struct lesson lesson = {1 + _i % 4, _i % 4 == 0 ? 1 : 3};
    char arguments[ARGUMENTS_BYTES], flags[ARGUMENTS_BYTES / 2];
    snprintf(flags, sizeof flags, "%s", combinations[_i / 4].flags);
    struct folder folder;
    folder_open(&folder);
    if (lesson.number >= 3)
        snprintf(flags, sizeof flags, "%s --find-unused", combinations[_i / 4].flags);
    snprintf(arguments, sizeof arguments, "%s --steps 7 --no-verify --save whole", flags);
    lesson_ok(&folder, lesson, arguments);
    snprintf(arguments, sizeof arguments, "%s --steps 4 --no-verify --save half", flags);
    lesson_ok(&folder, lesson, arguments);
    snprintf(arguments, sizeof arguments, "%s --steps 7 --verify 2 --resume half --save half",
             flags);
    lesson_ok(&folder, lesson, arguments);
    lesson_saves_equal(&folder, "whole", "half", flags);
    folder_close(&folder);
}
END_TEST

Suite *combinations_suite(void)
{
    Suite *suite = suite_create("combinations");
    TCase *tcase = tcase_create("combinations");
    tcase_set_timeout(tcase, 120);
    watched_add_rows(tcase, every_lesson_is_the_one_below_whatever_the_flags,
                     COMBINATIONS * WORLDS);
    watched_add_rows(tcase, a_resumed_run_ends_like_one_that_never_stopped, COMBINATIONS * 4);
    suite_add_tcase(suite, tcase);
    return suite;
}
