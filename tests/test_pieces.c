/* What any number of ranks has saved, any other loads, element by element; and nothing that is damaged. */
#include "common/shelf.h"
#include "lesson02_allreduce/gather.h"
#include "tests/holder.h"
#include "tests/ranks.h"
#include "tests/suites.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const enum optimizer_kind kinds[] = {OPTIMIZER_SGD, OPTIMIZER_ADAM};
static const int worlds[] = {1, 2, 3, 4, 5, 7}; // of 7 ranks four own nothing of the last bucket
enum { KINDS = 2, WORLDS = sizeof worlds / sizeof *worlds };

struct plan {
    const struct folder *folder;
    enum optimizer_kind kind;
};

static int save_body(struct ranks_self *self)
{
    const struct plan *plan = self->context;
    struct holder holder;
    struct checkpoint checkpoint;
    holder_open(&holder, plan->folder, "s", plan->kind, self->world, self->rank);
    holder_fill(&holder);
    holder_checkpoint(&holder, false, self->world, self->rank, &checkpoint);
    checkpoint.gather = gather_numbers;
    checkpoint.context = self->comm;
    int error = checkpoint_save(&checkpoint, &self->fail);
    holder_close(&holder);
    return error != 0;
}

static void save(const struct folder *folder, enum optimizer_kind kind, int world)
{
    struct ranks_result result;
    struct plan plan = {folder, kind};
    char path[512];
    mkdir(folder_path(folder, "s", path), 0777);
    ranks_run(world, save_body, &plan, &result);
    ranks_assert_ok(&result);
}

/* As rank `rank` of `world`; the sentence of a refusal, or NULL. */
static const char *load(const struct plan *plan, bool all, int world, int rank)
{
    static struct fail fail;
    struct holder holder;
    struct checkpoint checkpoint;
    struct checkpoint_source source;
    fail = (struct fail){0};
    holder_open(&holder, plan->folder, "s", plan->kind, world, rank);
    holder.optimizer.updates = 0;
    holder_checkpoint(&holder, all, world, rank, &checkpoint);
    int error = checkpoint_load(&checkpoint, holder.save, &source, &fail);
    const char *differs = error ? NULL : holder_differs(&holder, all);
    ck_assert_msg(!differs, "loaded as rank %d of %d: %s", rank, world, differs);
    ck_assert(error || holder.optimizer.updates == 7);
    holder_close(&holder);
    return error ? fail.text : NULL;
}

START_TEST(what_any_world_saved_any_other_loads_element_by_element)
{
    struct folder folder;
    struct plan plan = {&folder, kinds[_i / WORLDS]};
    folder_open(&folder);
    save(&folder, plan.kind, worlds[_i % WORLDS]);
    for (size_t i = 0; i < WORLDS; i++)
        for (int rank = 0; rank < worlds[i]; rank++)
            for (int all = 0; all < 2; all++) {
                const char *refused = load(&plan, all, worlds[i], rank);
                ck_assert_msg(!refused, "%s", refused);
            }
    folder_close(&folder);
}
END_TEST

/* --- states in a store ----------------------------------------------------------------------- */

static int store_read(void *context, size_t state, struct slice part, float *values,
                      struct fail *fail)
{
    const struct holder *holder = context;
    (void)fail;
    memcpy(values, holder->optimizer.state[state] + part.begin, part.count * sizeof *values);
    return 0;
}

static int store_write(void *context, size_t state, struct slice part, const float *values,
                       struct fail *fail)
{
    const struct holder *holder = context;
    (void)fail;
    memcpy(holder->optimizer.state[state] + part.begin, values, part.count * sizeof *values);
    return 0;
}

/* The arrays are hidden behind a store, as --offload keeps them. */
static void hide_states(struct checkpoint *checkpoint, const struct optimizer_store *store)
{
    for (size_t i = 0; i < checkpoint->pieces.count; i++) {
        struct piece *piece = &checkpoint->pieces.items[i];
        if (piece->kind == 0)
            continue;
        piece->values = NULL;
        piece->store = store;
    }
}

START_TEST(states_in_a_store_are_saved_and_loaded_through_it)
{
    struct folder folder;
    struct holder holder;
    struct checkpoint checkpoint;
    struct checkpoint_source source;
    struct fail fail = {0};
    struct plan plan = {&folder, OPTIMIZER_ADAM};
    char path[512];
    folder_open(&folder);
    mkdir(folder_path(&folder, "s", path), 0777);
    holder_open(&holder, &folder, "s", plan.kind, 1, 0);
    struct optimizer_store store = {store_read, store_write, &holder};
    holder_fill(&holder);
    holder_checkpoint(&holder, false, 1, 0, &checkpoint);
    hide_states(&checkpoint, &store);
    ck_assert_msg(checkpoint_save(&checkpoint, &fail) == 0, "%s", fail.text);
    ck_assert_ptr_null(load(&plan, true, 1, 0));
    memset(holder.param, 0, holder.model.count * sizeof *holder.param);
    for (size_t i = 0; i < 2; i++)
        memset(holder.optimizer.state[i], 0, holder.optimizer.count * sizeof(float));
    ck_assert_msg(checkpoint_load(&checkpoint, holder.save, &source, &fail) == 0, "%s", fail.text);
    const char *differs = holder_differs(&holder, true);
    ck_assert_msg(!differs, "%s", differs);
    holder_close(&holder);
    folder_close(&folder);
}
END_TEST

/* --- damage ---------------------------------------------------------------------------------- */

static const char update[] = "s/update-00000007";
static const char *const files[] = {"manifest.json", "rank-0.safetensors", "rank-1.safetensors"};
enum { FILES = 3, FILE_BYTES_MOST = 1 << 14 };

static size_t read_whole(const char *path, char *bytes)
{
    FILE *file = fopen(path, "rb");
    ck_assert_msg(file != NULL, "%s", path);
    size_t size = fread(bytes, 1, FILE_BYTES_MOST, file);
    fclose(file);
    ck_assert(size > 0 && size < FILE_BYTES_MOST);
    return size;
}

static void write_whole(const char *path, const char *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

static void must_refuse(const struct plan *plan, const char *file, const char *what, size_t at)
{
    const char *refused = load(plan, true, 1, 0);
    ck_assert_msg(refused != NULL, "%s, %s at byte %zu: loaded", file, what, at);
    ck_assert_msg(strstr(refused, file) != NULL, "%s, %s at byte %zu: %s", file, what, at, refused);
}

START_TEST(one_flipped_bit_anywhere_is_refused_by_the_file_s_name)
{
    struct folder folder;
    struct plan plan = {&folder, OPTIMIZER_SGD};
    char name[64], path[512], bytes[FILE_BYTES_MOST];
    folder_open(&folder);
    save(&folder, plan.kind, 2);
    snprintf(name, sizeof name, "%s/%s", update, files[_i]);
    folder_path(&folder, name, path);
    size_t size = read_whole(path, bytes);
    for (size_t at = 0; at < size; at++) {
        char bit = (char)(1 << (at % 8));
        bytes[at] = (char)(bytes[at] ^ bit);
        write_whole(path, bytes, size);
        must_refuse(&plan, files[_i], "a flipped bit", at);
        bytes[at] = (char)(bytes[at] ^ bit);
    }
    write_whole(path, bytes, size);
    ck_assert_ptr_null(load(&plan, true, 1, 0));
    folder_close(&folder);
}
END_TEST

/* A manifest that lacks its last newline lacks nothing. */
START_TEST(a_file_that_is_cut_or_longer_is_refused_by_its_name)
{
    struct folder folder;
    struct plan plan = {&folder, OPTIMIZER_SGD};
    char name[64], path[512], bytes[FILE_BYTES_MOST];
    folder_open(&folder);
    save(&folder, plan.kind, 2);
    snprintf(name, sizeof name, "%s/%s", update, files[_i]);
    folder_path(&folder, name, path);
    size_t size = read_whole(path, bytes);
    bytes[size] = 'x';
    write_whole(path, bytes, size + 1);
    must_refuse(&plan, files[_i], "one more", size);
    for (size_t cut = 0; cut + 1 < size; cut += 1 + size / 200) {
        write_whole(path, bytes, cut);
        must_refuse(&plan, files[_i], "cut", cut);
    }
    if (_i > 0) {
        ck_assert_int_eq(unlink(path), 0);
        must_refuse(&plan, files[_i], "removed", 0);
        ck_assert_int_eq(mkfifo(path, 0666), 0); // nobody writes to it: to wait would be for ever
        must_refuse(&plan, files[_i], "a pipe", 0);
    }
    folder_close(&folder);
}
END_TEST

START_TEST(a_file_of_another_update_is_refused)
{
    struct folder folder, other;
    struct plan plan = {&folder, OPTIMIZER_SGD};
    char name[64], from[512], to[512], bytes[FILE_BYTES_MOST];
    folder_open(&folder);
    folder_open(&other);
    save(&folder, plan.kind, 2);
    save(&other, plan.kind, 3);
    for (int i = 0; i < FILES; i++) {
        char kept[FILE_BYTES_MOST];
        snprintf(name, sizeof name, "%s/%s", update, files[i]);
        folder_path(&other, name, from);
        folder_path(&folder, name, to);
        size_t size = read_whole(to, kept);
        write_whole(to, bytes, read_whole(from, bytes));
        const char *refused = load(&plan, true, 1, 0);
        ck_assert_msg(refused != NULL, "%s of another save was taken", files[i]);
        write_whole(to, kept, size);
    }
    ck_assert_ptr_null(load(&plan, true, 1, 0));
    folder_close(&folder);
    folder_close(&other);
}
END_TEST

/* --- all or none ----------------------------------------------------------------------------- */

/* A rank that owns what no file can hold: its values are nowhere to be had. */
static int no_values(void *context, size_t state, struct slice part, float *values,
                     struct fail *fail)
{
    (void)context, (void)state, (void)part, (void)values;
    return fail_set(fail, -EIO, "the store is gone");
}

static int failing_body(struct ranks_self *self)
{
    static const struct optimizer_store gone = {.read = no_values};
    const struct plan *plan = self->context;
    struct holder holder;
    struct checkpoint checkpoint;
    holder_open(&holder, plan->folder, "s", plan->kind, self->world, self->rank);
    holder_fill(&holder);
    holder.optimizer.updates = 8;
    holder_checkpoint(&holder, false, self->world, self->rank, &checkpoint);
    checkpoint.gather = gather_numbers;
    checkpoint.context = self->comm;
    if (self->rank == 2)
        hide_states(&checkpoint, &gone);
    struct fail fail = {0};
    int error = checkpoint_save(&checkpoint, &fail);
    const char *words = self->rank == 2 ? "the store is gone" : "rank 2 could not save update 8";
    int wrong =
        ranks_expect(self, error != 0 && strstr(fail.text, words), "%d: %s", error, fail.text);
    holder_close(&holder);
    return wrong;
}

START_TEST(one_rank_that_fails_fails_all_and_the_one_before_stays)
{
    struct folder folder;
    struct ranks_result result;
    struct plan plan = {&folder, OPTIMIZER_SGD};
    char path[512];
    size_t entries = 0;
    folder_open(&folder);
    save(&folder, plan.kind, 3);
    ranks_run(4, failing_body, &plan, &result);
    ranks_assert_ok(&result);
    ck_assert_ptr_null(load(&plan, true, 1, 0));
    DIR *directory = opendir(folder_path(&folder, "s", path));
    while (readdir(directory))
        entries++;
    closedir(directory);
    ck_assert_uint_eq(entries, 3); // "." and "..", and the one of before: nothing aside
    folder_close(&folder);
}
END_TEST

static int folderless_body(struct ranks_self *self)
{
    const struct plan *plan = self->context;
    struct holder holder;
    struct checkpoint checkpoint;
    struct fail fail = {0};
    holder_open(&holder, plan->folder, "none", plan->kind, self->world, self->rank);
    holder_checkpoint(&holder, false, self->world, self->rank, &checkpoint);
    checkpoint.gather = gather_numbers;
    checkpoint.context = self->comm;
    int error = checkpoint_save(&checkpoint, &fail);
    const char *words =
        self->rank == 0 ? "cannot make the folder" : "rank 0 could not save update 7";
    int wrong =
        ranks_expect(self, error != 0 && strstr(fail.text, words), "%d: %s", error, fail.text);
    holder_close(&holder);
    return wrong;
}

/* As one that became read-only in the middle of a run. */
START_TEST(a_folder_that_cannot_be_made_fails_all)
{
    struct folder folder;
    struct ranks_result result;
    struct plan plan = {&folder, OPTIMIZER_SGD};
    folder_open(&folder);
    ranks_run(3, folderless_body, &plan, &result);
    ranks_assert_ok(&result);
    folder_close(&folder);
}
END_TEST

/* Case 21: a save that some rank's part is missing from is none. */
START_TEST(a_save_without_some_rank_s_part_is_refused)
{
    struct folder folder;
    struct holder holder;
    struct checkpoint checkpoint;
    struct fail fail = {0};
    char path[512], latest[SHELF_PATH_BYTES];
    folder_open(&folder);
    mkdir(folder_path(&folder, "s", path), 0777);
    holder_open(&holder, &folder, "s", OPTIMIZER_SGD, 4, 0); // a quarter, saved as if it were all
    holder_fill(&holder);
    holder_checkpoint(&holder, true, 1, 0, &checkpoint);
    ck_assert_int_ne(checkpoint_save(&checkpoint, &fail), 0);
    ck_assert_msg(strstr(fail.text, "momentum.fc1.weight") != NULL, "%s", fail.text);
    ck_assert_int_eq(shelf_latest(latest, holder.save, &fail), -ENOENT);
    holder_close(&holder);
    folder_close(&folder);
}
END_TEST

Suite *pieces_suite(void)
{
    Suite *suite = suite_create("pieces");
    TCase *tcase = tcase_create("pieces");
    tcase_set_timeout(tcase, 300);
    tcase_add_loop_test(tcase, what_any_world_saved_any_other_loads_element_by_element, 0,
                        KINDS * WORLDS);
    tcase_add_test(tcase, states_in_a_store_are_saved_and_loaded_through_it);
    tcase_add_loop_test(tcase, one_flipped_bit_anywhere_is_refused_by_the_file_s_name, 0, FILES);
    tcase_add_loop_test(tcase, a_file_that_is_cut_or_longer_is_refused_by_its_name, 0, FILES);
    tcase_add_test(tcase, a_file_of_another_update_is_refused);
    tcase_add_test(tcase, one_rank_that_fails_fails_all_and_the_one_before_stays);
    tcase_add_test(tcase, a_folder_that_cannot_be_made_fails_all);
    tcase_add_test(tcase, a_save_without_some_rank_s_part_is_refused);
    suite_add_tcase(suite, tcase);
    return suite;
}
