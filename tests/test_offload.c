/* Training with the optimizer's state in a file is training, bit for bit, and what becomes of the file
 * is known to all ranks. */
#include "lesson04_zero/offload.h"
#include "lesson04_zero/zero.h"
#include "tests/inside.h"
#include "tests/lessons.h"
#include "tests/mutants.h"
#include "tests/suites.h"
#include "tests/watched.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ARGUMENTS_BYTES = 512, WORLDS = 4 };

/* --- the same bits --------------------------------------------------------------------------- */

static const char *const rules[] = {
    "--hidden 13 --momentum 0.9 --weight-decay 0.01 --bucket-kb 1",
    "--hidden 9,6 --optimizer adam --clip 0.7 --accumulate 2 --stage 2 --bucket-kb 1",
    "--hidden 9,6 --optimizer adamw --weight-decay 0.1 --stage 3 --bucket-kb 1",
    "--hidden 9,6 --optimizer sgd --momentum 0 --stage 3 --persist-kb 0 --bucket-kb 0.2",
    "--hidden 13 --optimizer adamw --weight-decay 0.1 --bucket-kb 0.3 --compress bf16",
    "--hidden 14,14 --freeze fc1 --optimizer adam --precision fp16 --stage 3", // steps are skipped
    "--data line.csv --task regress --hidden none --batch 2", // 3 parameters: some own none
};
enum { RULES = sizeof rules / sizeof *rules };
static const char *const tiles[] = {"0.005", "0.03", "1", "1024"}; // one float, 7, 256, all

static void open_folder(struct folder *folder)
{
    folder_open(folder);
    lesson_write(folder, "line.csv", "1,2,3\n2,1,1\n0,1,2\n1,1,0\n3,1,1\n2,2,2\n1,0,1\n0,2,2\n");
}

static void must_be_equal(const struct folder *folder, const char *one, const char *other)
{
    char command[ARGUMENTS_BYTES];
    struct program program;
    snprintf(command, sizeof command, "diff -r %s %s", one, other);
    program_run(&program, folder->path, command);
    ck_assert_msg(program.code == 0, "%s%s", program.out, program.err);
    program_close(&program);
}

START_TEST(a_file_in_tiles_trains_as_memory_does_bit_for_bit)
{
    struct lesson lesson = {4, 1 + _i % WORLDS};
    char arguments[ARGUMENTS_BYTES];
    const char *flags = rules[_i / WORLDS];
    struct folder folder;
    open_folder(&folder);
    snprintf(arguments, sizeof arguments,
             "%s --steps 8 --no-verify --save memory --dump memory/dump --dump-steps 8", flags);
    lesson_ok(&folder, lesson, arguments);
    for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++) {
        snprintf(arguments, sizeof arguments,
                 "%s --steps 8 --verify 8 --save file --dump file/dump --dump-steps 8 --offload d "
                 "--offload-tile-kb %s",
                 flags, tiles[i]);
        ck_assert_uint_gt(lesson_ok(&folder, lesson, arguments), 8);
        must_be_equal(&folder, "memory", "file");
    }
    folder_close(&folder);
}
END_TEST

/* In the middle, out of memory into a file and back; the file of tiles is another's by then. */
START_TEST(a_run_goes_on_from_file_to_memory_and_back)
{
    static const char *const ways[3][2] = {
        {"", "--offload d --offload-tile-kb 0.1"},
        {"--offload d --offload-tile-kb 0.3", ""},
        {"--offload d --offload-tile-kb 0.3", "--offload d --offload-tile-kb 0.1"},
    };
    const char *flags = rules[_i / 3], *const *way = ways[_i % 3];
    char arguments[ARGUMENTS_BYTES];
    struct lesson lesson = {4, 3};
    struct folder folder;
    open_folder(&folder);
    snprintf(arguments, sizeof arguments, "%s --steps 7 --no-verify --save whole", flags);
    lesson_ok(&folder, lesson, arguments);
    snprintf(arguments, sizeof arguments, "%s --steps 4 --no-verify --save half %s", flags, way[0]);
    lesson_ok(&folder, lesson, arguments);
    snprintf(arguments, sizeof arguments, "%s --steps 7 --resume half --save half %s", flags,
             way[1]);
    lesson_ok(&folder, lesson, arguments);
    must_be_equal(&folder, "whole", "half");
    folder_close(&folder);
}
END_TEST

/* --- what it costs --------------------------------------------------------------------------- */

START_TEST(every_update_reads_and_writes_the_state_once_and_a_skipped_one_nothing)
{
    struct folder folder;
    double read[8], written[8], seconds[8], skipped[8];
    folder_open(&folder);
    lesson_ok(&folder, (struct lesson){4, 2},
              "--hidden 9 --optimizer adam --steps 8 --precision fp16 --loss-scale dynamic "
              "--offload d --offload-tile-kb 0.1 --metrics m.jsonl --no-verify");
    ck_assert_uint_eq(lesson_values(&folder, "m.rank-1.jsonl", "offload_read_bytes", read, 8), 8);
    ck_assert_uint_eq(lesson_values(&folder, "m.rank-1.jsonl", "offload_written_bytes", written, 8),
                      8);
    ck_assert_uint_eq(lesson_values(&folder, "m.rank-1.jsonl", "update_seconds", seconds, 8), 8);
    ck_assert_uint_eq(lesson_values(&folder, "m.rank-1.jsonl", "skipped", skipped, 8), 8);
    size_t skips = 0;
    for (size_t i = 0; i < 8; i++) { // of 64 x 9 + 9 + 9 x 10 + 10 parameters, the second half
        bool skip = skipped[i] > (i > 0 ? skipped[i - 1] : 0);
        double bytes = skip ? 0 : 2 * sizeof(float) * (double)slice_of(685, 2, 1).count;
        ck_assert_msg(read[i] == bytes && written[i] == bytes, "update %zu: %g and %g, not %g", i,
                      read[i], written[i], bytes);
        ck_assert(seconds[i] > 0);
        skips += skip;
    }
    ck_assert_uint_lt(skips, 8);
    folder_close(&folder);
}
END_TEST

/* --- places ---------------------------------------------------------------------------------- */

/* The shell says why it cannot try, or runs the program in a folder `d` that is as it should be. */
static const struct {
    const char *shell, *words;
} places[] = {
    {"trap '' XFSZ; ulimit -f 4; exec", "File too large"}, // in blocks of 512 or 1024 bytes
    {"touch d; exec", "cannot make a file in d: Not a directory"},
    {"[ $(id -u) != 0 ] || { echo root may write everywhere; exit; }; mkdir -m 555 d; exec",
     "cannot make a file in d: Permission denied"},
    {"unshare -m true || { echo no namespaces; exit; }; mkdir d; exec unshare -m sh -c 'mount -t "
     "tmpfs -o size=16k t d || { echo no mount; exit; }; exec \"$@\"' sh",
     "No space left on device"},
    {"unshare -m true || { echo no namespaces; exit; }; mkdir d; exec unshare -m sh -c 'mount -t "
     "tmpfs -o ro t d || { echo no mount; exit; }; exec \"$@\"' sh",
     "cannot make a file in d: Read-only file system"},
};
enum { PLACES = sizeof places / sizeof *places };

START_TEST(a_place_with_no_room_is_an_error_before_the_first_step)
{
    char command[1024];
    struct folder folder;
    struct program program;
    folder_open(&folder);
    snprintf(
        command, sizeof command,
        "%s \"$LAUNCH\" -n 2 \"${LAUNCH%%/*}/lesson04_zero\" --hidden 64 --steps 3 --optimizer "
        "adam --offload d --metrics m.jsonl",
        places[_i].shell);
    program_run(&program, folder.path, command);
    if (program.code == 0 && !strstr(program.out, "result")) {
        printf("offload: skipped: %s", program.out);
    } else {
        ck_assert_msg(program.code == 1 && strstr(program.err, places[_i].words) &&
                          strstr(program.err, "--offload: "),
                      "%d: %s%s", program.code, program.out, program.err);
        ck_assert_ptr_null(strstr(program.out, "verify step"));
    }
    program_close(&program);
    folder_close(&folder);
}
END_TEST

START_TEST(two_runs_in_one_folder_do_not_meet)
{
    static const char run[] = "\"$LAUNCH\" -n 2 \"${LAUNCH%/*}/lesson04_zero\" --hidden 9 "
                              "--steps 40 --verify 40 --optimizer adam --offload d";
    char command[1024];
    struct folder folder;
    struct program program;
    folder_open(&folder);
    snprintf(command, sizeof command, "%s --seed 1 & one=$!; %s --seed 2 && wait $one && rmdir d",
             run, run);
    program_run(&program, folder.path, command);
    ck_assert_msg(program.code == 0, "%d: %s%s", program.code, program.out, program.err);
    program_close(&program);
    folder_close(&folder);
}
END_TEST

START_TEST(a_killed_run_leaves_nothing_behind)
{
    struct folder folder;
    struct program program;
    folder_open(&folder);
    program_run(&program, folder.path,
                "\"$LAUNCH\" -n 2 sh -c 'exec \"${LAUNCH%/*}/lesson04_zero\" --hidden 9 --epochs "
                "100000 --no-verify --optimizer adam --offload d --metrics m.jsonl' & run=$!\n"
                "until [ -s m.rank-0.jsonl ] && [ -s m.rank-1.jsonl ]; do sleep 0.01; done\n"
                "kill -9 $run; wait $run; rmdir d");
    ck_assert_msg(program.code == 0, "%d: %s%s", program.code, program.out, program.err);
    ck_assert(program_gone(&program));
    program_close(&program);
    lesson_ok(&folder, (struct lesson){4, 2}, "--hidden 9 --steps 2 --optimizer adam --offload d");
    folder_close(&folder);
}
END_TEST

/* --- a file that fails while training ------------------------------------------------------- */

struct bench {
    struct inside inside;
    struct zero zero;
};

static int bench_open(struct bench *bench, struct ranks_self *self)
{
    *bench = (struct bench){0};
    struct run *run = &bench->inside.run;
    int wrong = inside_open(&bench->inside, self, 4, self->context);
    if (!wrong)
        wrong = zero_init(&bench->zero, run, self->comm) ||
                run_start(run, bench->zero.shard.owned, bench->zero.shard.owned_count);
    return inside_told(self, &bench->inside, wrong);
}

static void bench_close(struct bench *bench)
{
    zero_stop(&bench->zero);
    inside_close(&bench->inside);
}

static int train_once(struct bench *bench, size_t index)
{
    struct run *run = &bench->inside.run;
    struct step step = sampler_step(&run->sampler, index);
    zero_begin(&bench->zero);
    trainer_gradient(&run->trainer, &step);
    int error = zero_wait(&bench->zero);
    if (!error)
        error = offload_step(&bench->zero.offload, run, (struct rate){.lr = 0.01f, .clip = 1});
    return error ? error : zero_share(&bench->zero);
}

/* Every rank fails in the step in which one could not read, with what that one said. */
static int cut_body(struct ranks_self *self)
{
    struct bench bench;
    int wrong = bench_open(&bench, self), error = 0;
    for (size_t i = 0; i < 6 && !wrong && !error; i++) {
        if (i == 3 && self->rank == self->world - 1)
            wrong = ftruncate(bench.zero.offload.tiles.file.file.file, 50) != 0;
        error = train_once(&bench, i);
        wrong = wrong || ranks_expect(self, (error != 0) == (i == 3), "step %zu: %d", i, error);
    }
    const char *text =
        bench.inside.run.fail.code ? bench.inside.run.fail.text : comm_fail(self->comm)->text;
    char words[64];
    snprintf(words, sizeof words, "rank %d's state in ", self->world - 1);
    wrong =
        wrong || ranks_expect(self, strstr(text, words) && strstr(text, "cut it off"), "%s", text);
    bench_close(&bench);
    return wrong ? 1 : 0;
}

START_TEST(a_file_cut_off_on_one_rank_stops_all_ranks_with_its_sentence)
{
    struct folder folder;
    struct ranks_result result;
    char arguments[ARGUMENTS_BYTES], path[512];
    folder_open(&folder);
    snprintf(
        arguments, sizeof arguments,
        "--hidden 9 --steps 6 --optimizer adam --bucket-kb 1 --offload-tile-kb 0.1 --offload %s",
        folder_path(&folder, "d", path));
    ranks_run(1 + _i % WORLDS, cut_body, arguments, &result);
    folder_close(&folder);
    ranks_assert_ok(&result);
}
END_TEST

/* --- mistakes that the proof must find ------------------------------------------------------- */

static const char offloaded[] =
    "--steps 3 --verify 3 --optimizer adam --offload d --offload-tile-kb 1";

START_TEST(a_tile_written_to_anothers_place_is_found_by_lesson_4)
{
    static const struct mutant mutant = {
        .file = "lesson04_zero/tiles.c",
        .text =
            "tilefile_write(&tiles->file, index, array, values, fail);\n    }\n    return error;\n}"
            "\n\nstatic void walk(",
        .mistake =
            "tilefile_write(&tiles->file, index ^ (index < 2), array, values, fail);\n    }\n"
            "    return error;\n}\n\nstatic void walk(",
        .lesson = {4, 2},
        .arguments = offloaded,
        .proof = "owned adam_m = that part of lesson 3's",
        .place = "first at fc",
    };
    mutant_must_be_caught(&mutant);
}
END_TEST

#ifndef __SANITIZE_THREAD__ // which finds it first
START_TEST(a_tile_computed_before_it_was_read_is_found_by_lesson_4)
{
    static const struct mutant mutant = {
        .file = "lesson04_zero/tiles.c",
        .text = "        uv_mutex_unlock(&tiles->lock);\n"
                "        move_bytes(tiles, stage, index, &fail);\n"
                "        uv_mutex_lock(&tiles->lock);\n",
        .mistake = "        if (stage == TILES_READER)\n"
                   "            give(tiles, stage);\n"
                   "        uv_mutex_unlock(&tiles->lock);\n"
                   "        if (stage == TILES_READER)\n"
                   "            usleep(20000);\n"
                   "        move_bytes(tiles, stage, index, &fail);\n"
                   "        uv_mutex_lock(&tiles->lock);\n"
                   "        if (stage == TILES_READER)\n"
                   "            continue;\n",
        .lesson = {4, 2},
        .arguments = offloaded,
        .proof = "owned adam_m = that part of lesson 3's",
        .place = "first at fc",
    };
    mutant_must_be_caught(&mutant);
}
END_TEST
#endif

/* --- the command line ------------------------------------------------------------------------ */

START_TEST(what_cannot_be_offloaded_is_refused)
{
    static const struct {
        int lesson;
        const char *arguments, *words;
    } rows[] = {
        {4, "--offload d --momentum 0",
         "keeps no state, so below --stage 3 there is nothing to offload"},
        {3, "--offload d", "--offload exists from lesson 4 on"},
        {4, "--offload", "--offload: expected DIR, found no value"},
        {4, "--offload-tile-kb 4", "--offload-tile-kb means nothing without --offload"},
        {4, "--offload d --offload-tile-kb 0", "--offload-tile-kb: expected "},
        {4, "--offload d --explain", "--explain and --offload exclude each other"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct folder folder;
        folder_open(&folder);
        lesson_fails(&folder, (struct lesson){rows[i].lesson, 2}, rows[i].arguments, 2,
                     rows[i].words);
        folder_close(&folder);
    }
}
END_TEST

Suite *offload_suite(void)
{
    Suite *suite = suite_create("offload");
    TCase *tcase = tcase_create("offload");
    tcase_set_timeout(tcase, 120);
    watched_add_rows(tcase, a_file_in_tiles_trains_as_memory_does_bit_for_bit, RULES * WORLDS);
    watched_add_rows(tcase, a_run_goes_on_from_file_to_memory_and_back, RULES * 3);
    tcase_add_test(tcase, every_update_reads_and_writes_the_state_once_and_a_skipped_one_nothing);
    tcase_add_loop_test(tcase, a_place_with_no_room_is_an_error_before_the_first_step, 0, PLACES);
    tcase_add_test(tcase, two_runs_in_one_folder_do_not_meet);
    tcase_add_test(tcase, a_killed_run_leaves_nothing_behind);
    tcase_add_loop_test(tcase, a_file_cut_off_on_one_rank_stops_all_ranks_with_its_sentence, 0,
                        3 * WORLDS);
    tcase_add_test(tcase, a_tile_written_to_anothers_place_is_found_by_lesson_4);
#ifndef __SANITIZE_THREAD__
    tcase_add_test(tcase, a_tile_computed_before_it_was_read_is_found_by_lesson_4);
#endif
    tcase_add_test(tcase, what_cannot_be_offloaded_is_refused);
    suite_add_tcase(suite, tcase);
    return suite;
}
