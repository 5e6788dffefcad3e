/* Every file of the corpora keeps its reader's promises: what fuzzing has found once stays found,
 * also where there is no clang to fuzz with. */
#include "tests/fuzz/target.h"
#include "tests/suites.h"

#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEED_BYTES_MOST = 2048, SEEDS_LEAST = 8 };

static const char CORPUS[] = SOURCE_DIR "/tests/fuzz/corpus";

/* The bytes in a block of just their size, so that a memory checker sees a step past the end. */
static uint8_t *read_seed(const char *path, size_t *size)
{
    uint8_t bytes[SEED_BYTES_MOST + 1];
    FILE *file = fopen(path, "rbe");
    ck_assert_msg(file != NULL, "%s cannot be opened", path);
    *size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    ck_assert_msg(*size <= SEED_BYTES_MOST, "%s: a seed is small", path);
    uint8_t *seed = malloc(*size > 0 ? *size : 1);
    ck_assert_ptr_nonnull(seed);
    memcpy(seed, bytes, *size);
    return seed;
}

static bool judge_seed(int target, const char *folder, const char *name)
{
    char path[1024];
    size_t size;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    uint8_t *seed = read_seed(path, &size);
    struct verdict verdict = targets[target].judge(seed, size);
    free(seed);
    ck_assert_msg(!verdict.broken, "%s: a promise was broken: %s", path, verdict.broken);
    return verdict.accepted;
}

START_TEST(every_seed_keeps_the_promises_and_some_are_accepted)
{
    char folder[512];
    size_t accepted = 0, refused = 0;
    snprintf(folder, sizeof folder, "%s/%s", CORPUS, targets[_i].name);
    DIR *directory = opendir(folder);
    ck_assert_msg(directory != NULL, "%s cannot be opened", folder);
    for (struct dirent *entry = readdir(directory); entry; entry = readdir(directory)) {
        if (entry->d_name[0] == '.')
            continue;
        if (judge_seed(_i, folder, entry->d_name))
            accepted++;
        else
            refused++;
    }
    closedir(directory);
    ck_assert_uint_ge(accepted + refused, SEEDS_LEAST);
    ck_assert_uint_ge(accepted, 2);
    ck_assert_uint_ge(refused, 2);
}
END_TEST

/* Cuts what a target may be given to every length: the empty one, and the middle of every field. */
START_TEST(every_beginning_of_a_seed_keeps_the_promises)
{
    char path[1024];
    size_t size;
    snprintf(path, sizeof path, "%s/%s/valid", CORPUS, targets[_i].name);
    uint8_t *seed = read_seed(path, &size);
    for (size_t length = 0; length <= size; length++) {
        struct verdict verdict = targets[_i].judge(seed, length);
        ck_assert_msg(!verdict.broken, "%s, cut to %zu bytes: %s", path, length, verdict.broken);
    }
    free(seed);
}
END_TEST

static bool has_target(const char *name)
{
    for (size_t i = 0; i < TARGETS; i++)
        if (strcmp(targets[i].name, name) == 0)
            return true;
    return false;
}

START_TEST(every_corpus_has_its_target)
{
    DIR *directory = opendir(CORPUS);
    size_t corpora = 0;
    ck_assert_ptr_nonnull(directory);
    for (struct dirent *entry = readdir(directory); entry; entry = readdir(directory)) {
        if (entry->d_name[0] == '.')
            continue;
        ck_assert_msg(has_target(entry->d_name), "nothing reads %s/%s", CORPUS, entry->d_name);
        corpora++;
    }
    closedir(directory);
    ck_assert_uint_eq(corpora, TARGETS);
}
END_TEST

Suite *corpus_suite(void)
{
    Suite *suite = suite_create("corpus");
    TCase *tcase = tcase_create("corpus");
    tcase_add_loop_test(tcase, every_seed_keeps_the_promises_and_some_are_accepted, 0, TARGETS);
    tcase_add_loop_test(tcase, every_beginning_of_a_seed_keeps_the_promises, 0, TARGETS);
    tcase_add_test(tcase, every_corpus_has_its_target);
    suite_add_tcase(suite, tcase);
    return suite;
}
