/* One file of what many ranks have saved: complete, the same whoever saved it, and a beginning for --init. */
#include "common/tensorfile.h"
#include "tests/lessons.h"
#include "tests/suites.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

enum { ARGUMENTS_BYTES = 256 };

/* Lesson 4's stages equal lesson 3 at the same world, so their one file is the same, byte for byte. */
START_TEST(what_four_shards_saved_is_what_lesson_3_saved_byte_for_byte)
{
    static const char *const rules[] = {"", "--momentum 0", "--optimizer adam --clip 1",
                                        "--optimizer adamw --freeze fc2.bias"};
    static const char rest[] = "--hidden 9 --no-verify --bucket-kb 1 --steps 6";
    char arguments[ARGUMENTS_BYTES];
    struct folder folder;
    folder_open(&folder);
    snprintf(arguments, sizeof arguments, "%s %s --save whole", rest, rules[_i]);
    lesson_ok(&folder, (struct lesson){3, 4}, arguments);
    for (int stage = 1; stage <= 3; stage++) {
        snprintf(arguments, sizeof arguments, "%s %s --stage %d --save s", rest, rules[_i], stage);
        lesson_ok(&folder, (struct lesson){4, 4}, arguments);
        lesson_saves_equal(&folder, "whole", "s", arguments);
    }
    folder_close(&folder);
}
END_TEST

/* Case 21: parameters and both moments of all 685 elements, each tensor in its shape. */
START_TEST(every_tensor_of_every_kind_is_there_whole)
{
    static const char *const kinds[] = {"param", "adam_m", "adam_v"};
    static const struct {
        const char *name;
        size_t count, dimensions;
    } tensors[] = {
        {"fc1.weight", 576, 2}, {"fc1.bias", 9, 1}, {"fc2.weight", 90, 2}, {"fc2.bias", 10, 1}};
    char path[512], name[64];
    struct folder folder;
    struct fail fail = {0};
    struct tensorfile_reader *reader = NULL;
    folder_open(&folder);
    lesson_ok(&folder, (struct lesson){4, 4},
              "--hidden 9 --no-verify --optimizer adam --steps 6 --save s");
    lesson_consolidate(&folder, "s");
    ck_assert_int_eq(tensorfile_open(&reader, folder_path(&folder, "s.safetensors", path), &fail),
                     0);
    for (size_t kind = 0; kind < 3; kind++)
        for (size_t i = 0; i < 4; i++) {
            snprintf(name, sizeof name, "%s.%s", kinds[kind], tensors[i].name);
            const struct tensorfile_entry *entry = tensorfile_find(reader, name);
            ck_assert_msg(entry && entry->count == tensors[i].count &&
                              entry->dimensions == tensors[i].dimensions,
                          "%s", name);
        }
    ck_assert_uint_eq(tensorfile_count(reader), 12);
    ck_assert_str_eq(tensorfile_meta_find(reader, "updates"), "6");
    tensorfile_close(reader);
    folder_close(&folder);
}
END_TEST

/* Its one update is made with a rate of 0. */
START_TEST(a_run_begins_with_its_parameters)
{
    float saved[90], begun[90];
    struct folder folder;
    folder_open(&folder);
    lesson_ok(&folder, (struct lesson){4, 3}, "--hidden 9 --no-verify --steps 6 --save s");
    lesson_consolidate(&folder, "s");
    lesson_ok(&folder, (struct lesson){2, 2},
              "--hidden 9 --init s.safetensors --lr 0 --no-verify --steps 1 --dump d");
    lesson_read(&folder, "s.safetensors", "param.fc2.weight", saved, 90);
    lesson_read(&folder, "d/rank-1/step-000000.safetensors", "param.fc2.weight", begun, 90);
    ck_assert_mem_eq(saved, begun, sizeof saved);
    folder_close(&folder);
}
END_TEST

START_TEST(what_is_wrong_is_said_and_nothing_is_written)
{
    static const struct {
        const char *arguments;
        int code;
        const char *words;
    } rows[] = {
        {"", 2, "consolidate DIR OUT.safetensors"},
        {"s", 2, "consolidate DIR OUT.safetensors"},
        {"s a b", 2, "consolidate DIR OUT.safetensors"},
        {"--new s a", 2, "unknown flag --new"},
        {"nowhere a", 1, "no checkpoint in nowhere"},
        {"s no/such/a", 1, "no/such/a"},
        {"cut a", 1, "cut/update-00000002/rank-1.safetensors is damaged"},
    };
    struct folder folder;
    struct program program;
    char command[ARGUMENTS_BYTES];
    folder_open(&folder);
    lesson_ok(&folder, (struct lesson){4, 2}, "--hidden 9 --no-verify --steps 2 --save s");
    program_run(
        &program, folder.path,
        "cp -r s cut; f=cut/update-00000002/rank-1.safetensors; head -c 900 $f > x; mv x $f");
    program_close(&program);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(command, sizeof command, "exec \"${LAUNCH%%/*}/consolidate\" %s",
                 rows[i].arguments);
        program_run(&program, folder.path, command);
        ck_assert_msg(program.code == rows[i].code && strstr(program.err, rows[i].words),
                      "consolidate %s: %d: %s", rows[i].arguments, program.code, program.err);
        program_close(&program);
    }
    program_run(&program, folder.path, "ls");
    ck_assert_str_eq(program.out, "cut\ns\n");
    program_close(&program);
    folder_close(&folder);
}
END_TEST

Suite *consolidate_suite(void)
{
    Suite *suite = suite_create("consolidate");
    TCase *tcase = tcase_create("consolidate");
    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, what_four_shards_saved_is_what_lesson_3_saved_byte_for_byte, 0, 4);
    tcase_add_test(tcase, every_tensor_of_every_kind_is_there_whole);
    tcase_add_test(tcase, a_run_begins_with_its_parameters);
    tcase_add_test(tcase, what_is_wrong_is_said_and_nothing_is_written);
    suite_add_tcase(suite, tcase);
    return suite;
}
