/* What docs/odd-curves.md says of each mistake is what the table says, and its pictures are there. */
#include "common/zoo.h"
#include "tests/folder.h"
#include "tests/program.h"
#include "tests/suites.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

enum { COMMAND_BYTES = 1024 };

static const char document[] = SOURCE_DIR "/docs/odd-curves.md";

/* The exit code of a shell command, in which %s is the handbook; what it says on standard error holds `said`. */
static void expect(const char *command, int code, const char *said)
{
    char whole[COMMAND_BYTES];
    struct program program;
    struct folder folder;
    snprintf(whole, sizeof whole, "handbook=\"$(dirname \"$LAUNCH\")/handbook\"; document='%s'; %s",
             document, command);
    folder_open(&folder);
    program_run(&program, folder.path, whole);
    ck_assert_msg(program.code == code, "%s\nleft with %d: %s%s", command, program.code,
                  program.out, program.err);
    ck_assert_msg(strstr(program.err, said) != NULL, "%s", program.err);
    program_close(&program);
    folder_close(&folder);
}

/* `make handbook` mends it. */
START_TEST(the_handbook_says_what_the_table_says)
{
    expect("\"$handbook\" \"$document\" | diff \"$document\" - >&2", 0, "");
}
END_TEST

START_TEST(a_changed_word_is_noticed)
{
    expect("sed 's/Cure:/Care:/' \"$document\" >d; \"$handbook\" d | cmp -s d -", 1, "");
}
END_TEST

START_TEST(a_member_without_a_section_is_named)
{
    expect("sed '/^<!-- same-shard: /d' \"$document\" >d; \"$handbook\" d >e", 1,
           "has no place for same-shard");
}
END_TEST

START_TEST(a_section_without_an_end_is_refused)
{
    expect("sed '/^<!-- end/d' \"$document\" >d; \"$handbook\" d >e", 1, "no line that ends it");
}
END_TEST

/* The doctor and --inject help send people to docs/odd-curves.md#NAME. */
START_TEST(every_mistake_has_a_heading_and_a_small_picture)
{
    char command[COMMAND_BYTES];
    const char *name = zoo_table[_i].name;
    snprintf(
        command, sizeof command,
        "grep -qx '### %s' \"$document\" && test \"$(wc -c <'%s/docs/pictures/%s.svg')\" -le 15360",
        name, SOURCE_DIR, name);
    expect(command, 0, "");
}
END_TEST

Suite *handbook_suite(void)
{
    Suite *suite = suite_create("handbook");
    TCase *tcase = tcase_create("handbook");
    tcase_add_test(tcase, the_handbook_says_what_the_table_says);
    tcase_add_test(tcase, a_changed_word_is_noticed);
    tcase_add_test(tcase, a_member_without_a_section_is_named);
    tcase_add_test(tcase, a_section_without_an_end_is_refused);
    tcase_add_loop_test(tcase, every_mistake_has_a_heading_and_a_small_picture, 0, ZOO_MEMBERS);
    suite_add_tcase(suite, tcase);
    return suite;
}
