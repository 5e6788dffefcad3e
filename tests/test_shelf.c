/* A folder of saved updates: which one counts, which ones stay, and what is swept away. */
#include "common/shelf.h"
#include "tests/folder.h"
#include "tests/suites.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NAMES_BYTES = 1024 };

/* An update's folder with a file that says what it is. */
static void make(const struct folder *folder, const char *name, const char *file)
{
    char path[512], inner[64];
    ck_assert_int_eq(mkdir(folder_path(folder, name, path), 0777), 0);
    snprintf(inner, sizeof inner, "%s/%s", name, file);
    folder_write(folder, inner, name, strlen(name), false, path);
}

static void publish(const struct folder *folder, size_t update, size_t keep)
{
    char aside[SHELF_PATH_BYTES], name[SHELF_PATH_BYTES + 32];
    struct fail fail = {0};
    ck_assert_msg(shelf_begin(folder->path, update, &fail) == 0, "%s", fail.text);
    shelf_aside(aside, folder->path, update, (long)getpid());
    snprintf(name, sizeof name, "%s/%s", aside, SHELF_MANIFEST);
    FILE *file = fopen(name, "wb");
    ck_assert_ptr_nonnull(file);
    fclose(file);
    ck_assert_msg(shelf_publish(folder->path, update, keep, &fail) == 0, "%s", fail.text);
}

static int by_name(const struct dirent **left, const struct dirent **right)
{
    return strcmp((*left)->d_name, (*right)->d_name);
}

/* All that is there, in order, divided by blanks. */
static void must_hold(const struct folder *folder, const char *expected)
{
    struct dirent **entries;
    char names[NAMES_BYTES] = "";
    int count = scandir(folder->path, &entries, NULL, by_name);
    for (int i = 0; i < count; i++) {
        size_t length = strlen(names);
        if (entries[i]->d_name[0] != '.')
            snprintf(names + length, sizeof names - length, "%s%s", length ? " " : "",
                     entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    ck_assert_str_eq(names, expected);
}

static void latest_must_be(const struct folder *folder, const char *name)
{
    char path[SHELF_PATH_BYTES], expected[512];
    struct fail fail = {0};
    int error = shelf_latest(path, folder->path, &fail);
    ck_assert_msg(error == 0, "%d: %s", error, fail.text);
    ck_assert_str_eq(path, folder_path(folder, name, expected));
}

START_TEST(as_many_stay_as_are_to_be_kept_and_the_last_one_counts)
{
    static const char *const left[] = {"update-00000012", "update-00000009 update-00000012",
                                       "update-00000006 update-00000009 update-00000012",
                                       ("update-00000003 update-00000006 update-00000009 "
                                        "update-00000012")};
    struct folder folder;
    folder_open(&folder);
    for (size_t update = 3; update <= 12; update += 3)
        publish(&folder, update, (size_t)_i + 1);
    must_hold(&folder, left[_i]);
    latest_must_be(&folder, "update-00000012");
    folder_close(&folder);
}
END_TEST

/* 1234567890 has more digits than names are padded to; it is still the larger number. */
START_TEST(later_is_a_number_and_not_a_word)
{
    struct folder folder;
    folder_open(&folder);
    publish(&folder, 99999999, 3);
    publish(&folder, 1234567890, 3);
    latest_must_be(&folder, "update-1234567890");
    folder_close(&folder);
}
END_TEST

START_TEST(a_run_that_began_anew_replaces_its_predecessor_s)
{
    struct folder folder;
    folder_open(&folder);
    publish(&folder, 4, 2);
    publish(&folder, 8, 2);
    publish(&folder, 8, 2);
    must_hold(&folder, "update-00000004 update-00000008");
    publish(&folder, 4, 2);
    must_hold(&folder, "update-00000004");
    folder_close(&folder);
}
END_TEST

/* Killed between the two renames of an update that is saved again. */
START_TEST(a_replaced_one_counts_while_there_is_no_other)
{
    struct folder folder;
    folder_open(&folder);
    make(&folder, "update-00000004", SHELF_MANIFEST);
    make(&folder, "update-00000008.replaced", SHELF_MANIFEST);
    latest_must_be(&folder, "update-00000008.replaced");
    make(&folder, "update-00000008", SHELF_MANIFEST);
    latest_must_be(&folder, "update-00000008");
    publish(&folder, 12, 9);
    must_hold(&folder, "update-00000004 update-00000008 update-00000012");
    folder_close(&folder);
}
END_TEST

START_TEST(half_a_save_does_not_count)
{
    struct folder folder;
    char path[SHELF_PATH_BYTES];
    struct fail fail = {0};
    folder_open(&folder);
    make(&folder, "update-00000008", "rank-0.safetensors"); // copied by hand, half of it
    make(&folder, "update-00000012.tmp-1", SHELF_MANIFEST);
    make(&folder, "update-7", SHELF_MANIFEST); // no name of ours
    ck_assert_int_eq(shelf_latest(path, folder.path, &fail), -ENOENT);
    make(&folder, "update-00000004", SHELF_MANIFEST);
    latest_must_be(&folder, "update-00000004");
    folder_close(&folder);
}
END_TEST

START_TEST(an_update_s_own_folder_is_one_too)
{
    struct folder folder;
    char path[SHELF_PATH_BYTES], inner[512];
    struct fail fail = {0};
    folder_open(&folder);
    make(&folder, "update-00000004", SHELF_MANIFEST);
    make(&folder, "update-00000008", SHELF_MANIFEST);
    folder_path(&folder, "update-00000004", inner);
    ck_assert_int_eq(shelf_latest(path, inner, &fail), 0);
    ck_assert_str_eq(path, inner);
    folder_close(&folder);
}
END_TEST

/* A disk that is not mounted holds something, we do not know what. */
START_TEST(what_cannot_be_looked_at_is_not_nothing)
{
    struct folder folder;
    char path[SHELF_PATH_BYTES], link[512];
    struct fail fail = {0};
    folder_open(&folder);
    make(&folder, "update-00000004", SHELF_MANIFEST);
    ck_assert_int_eq(symlink("/none/at/all", folder_path(&folder, "update-00000008", link)), 0);
    int error = shelf_latest(path, folder.path, &fail);
    ck_assert_int_ne(error, 0);
    ck_assert_msg(strstr(fail.text, "update-00000008") != NULL, "%s", fail.text);
    folder_close(&folder);
}
END_TEST

/* The number of a process that is surely no more. */
static long dead(void)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    return (long)pid;
}

START_TEST(what_dead_writers_left_is_swept_and_what_living_ones_write_is_not)
{
    struct folder folder;
    char gone[64], mine[64], living[64], expected[256];
    folder_open(&folder);
    snprintf(gone, sizeof gone, "update-00000004.tmp-%ld", dead());
    snprintf(mine, sizeof mine, "update-00000012.tmp-%ld", (long)getpid());
    snprintf(living, sizeof living, "update-00000008.tmp-%ld", (long)getppid());
    make(&folder, gone, "rank-0.safetensors");
    make(&folder, mine, "rank-0.safetensors"); // of a process that had this one's number
    make(&folder, living, "rank-0.safetensors");
    make(&folder, "notes", "mine"); // not ours to remove
    publish(&folder, 12, 1);
    snprintf(expected, sizeof expected, "notes %s update-00000012", living);
    must_hold(&folder, expected);
    folder_close(&folder);
}
END_TEST

START_TEST(what_was_begun_can_be_abandoned)
{
    struct folder folder;
    struct fail fail = {0};
    folder_open(&folder);
    publish(&folder, 4, 1);
    ck_assert_int_eq(shelf_begin(folder.path, 8, &fail), 0);
    shelf_abandon(folder.path, 8);
    must_hold(&folder, "update-00000004");
    folder_close(&folder);
}
END_TEST

Suite *shelf_suite(void)
{
    Suite *suite = suite_create("shelf");
    TCase *tcase = tcase_create("shelf");
    tcase_add_loop_test(tcase, as_many_stay_as_are_to_be_kept_and_the_last_one_counts, 0, 4);
    tcase_add_test(tcase, later_is_a_number_and_not_a_word);
    tcase_add_test(tcase, a_run_that_began_anew_replaces_its_predecessor_s);
    tcase_add_test(tcase, a_replaced_one_counts_while_there_is_no_other);
    tcase_add_test(tcase, half_a_save_does_not_count);
    tcase_add_test(tcase, an_update_s_own_folder_is_one_too);
    tcase_add_test(tcase, what_cannot_be_looked_at_is_not_nothing);
    tcase_add_test(tcase, what_dead_writers_left_is_swept_and_what_living_ones_write_is_not);
    tcase_add_test(tcase, what_was_begun_can_be_abandoned);
    suite_add_tcase(suite, tcase);
    return suite;
}
