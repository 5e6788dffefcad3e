/* The drawn ring: small worlds against pictures checked by hand, and every drawing replayed. */
#include "common/slice.h"
#include "lesson02_allreduce/explain.h"
#include "tests/lessons.h"
#include "tests/suites.h"

#include <check.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static char *drawing_of(int world, size_t count)
{
    char *text = NULL;
    size_t size_bytes = 0;
    FILE *out = open_memstream(&text, &size_bytes);
    ck_assert_ptr_nonnull(out);
    ck_assert_int_eq(explain_ring(out, world, count), 0);
    fclose(out);
    return text;
}

/* --- pictures -------------------------------------------------------------------------------- */

/* Looked over against ring.c's rule. World 3 begins as the picture on top of that
 * file. */
static const struct {
    int world;
    size_t count;
    const char *text;
} pictures[] = {
    {1, 10,
     "ring all-reduce of 10 floats over 1 rank (g0: rank 0's part)\n"
     "nothing is sent: the part of the only rank is the sum\n"},
    {3, 0,
     "ring all-reduce of 0 floats over 3 ranks (g0: rank 0's part)\n"
     "nothing is sent: there is nothing to add\n"},
    {2, 5,
     "ring all-reduce of 5 floats over 2 ranks (g0: rank 0's part)\n"
     "    chunk 0: floats 0 to 2, 12 bytes\n"
     "    chunk 1: floats 3 to 4, 8 bytes\n"
     "                     rank 0        rank 1\n"
     "    round 0   sends  1             0\n"
     "              owns   0: g1+g0      1: g0+g1      <- reduce-scatter ends\n"
     "    round 1   sends  0             1\n"
     "              has    1: g0+g1      0: g1+g0      <- all-gather ends\n"
     "    bytes sent       20            20\n"
     "every rank now has every chunk, the sum of all 2 parts; it sent about 2 x 1/2 of 20 bytes: "
     "20\n"},
    {3, 10,
     "ring all-reduce of 10 floats over 3 ranks (g0: rank 0's part)\n"
     "    chunk 0: floats 0 to 3, 16 bytes\n"
     "    chunk 1: floats 4 to 6, 12 bytes\n"
     "    chunk 2: floats 7 to 9, 12 bytes\n"
     "                     rank 0         rank 1         rank 2\n"
     "    round 0   sends  2              0              1\n"
     "              has    1: g2+g0       2: g0+g1       0: g1+g2\n"
     "    round 1   sends  1              2              0\n"
     "              owns   0: g1+g2+g0    1: g2+g0+g1    2: g0+g1+g2    <- reduce-scatter ends\n"
     "    round 2   sends  0              1              2\n"
     "              has    2: g0+g1+g2    0: g1+g2+g0    1: g2+g0+g1\n"
     "    round 3   sends  2              0              1\n"
     "              has    1: g2+g0+g1    2: g0+g1+g2    0: g1+g2+g0    <- all-gather ends\n"
     "    bytes sent       52             56             52\n"
     "every rank now has every chunk, the sum of all 3 parts; it sent about 2 x 2/3 of 40 bytes: "
     "53\n"},
    {4, 3,
     "ring all-reduce of 3 floats over 4 ranks (g0: rank 0's part)\n"
     "    chunk 0: floats 0 to 0, 4 bytes\n"
     "    chunk 1: floats 1 to 1, 4 bytes\n"
     "    chunk 2: floats 2 to 2, 4 bytes\n"
     "    chunk 3: empty\n"
     "                     rank 0          rank 1          rank 2          rank 3\n"
     "    round 0   sends  3               0               1               2\n"
     "              has    2: g3+g0        3: g0+g1        0: g1+g2        1: g2+g3\n"
     "    round 1   sends  2               3               0               1\n"
     "              has    1: g2+g3+g0     2: g3+g0+g1     3: g0+g1+g2     0: g1+g2+g3\n"
     "    round 2   sends  1               2               3               0\n"
     "              owns   0: g1+g2+g3+g0  1: g2+g3+g0+g1  2: g3+g0+g1+g2  3: g0+g1+g2+g3  <- "
     "reduce-scatter ends\n"
     "    round 3   sends  0               1               2               3\n"
     "              has    3: g0+g1+g2+g3  0: g1+g2+g3+g0  1: g2+g3+g0+g1  2: g3+g0+g1+g2\n"
     "    round 4   sends  3               0               1               2\n"
     "              has    2: g3+g0+g1+g2  3: g0+g1+g2+g3  0: g1+g2+g3+g0  1: g2+g3+g0+g1\n"
     "    round 5   sends  2               3               0               1\n"
     "              has    1: g2+g3+g0+g1  2: g3+g0+g1+g2  3: g0+g1+g2+g3  0: g1+g2+g3+g0  <- "
     "all-gather ends\n"
     "    bytes sent       16              16              20              20\n"
     "every rank now has every chunk, the sum of all 4 parts; it sent about 2 x 3/4 of 12 bytes: "
     "18\n"},
    {5, 12,
     "ring all-reduce of 12 floats over 5 ranks (g0: rank 0's part)\n"
     "    chunk 0: floats 0 to 2, 12 bytes\n"
     "    chunk 1: floats 3 to 5, 12 bytes\n"
     "    chunk 2: floats 6 to 7, 8 bytes\n"
     "    chunk 3: floats 8 to 9, 8 bytes\n"
     "    chunk 4: floats 10 to 11, 8 bytes\n"
     "                     rank 0     rank 1     rank 2     rank 3     rank 4\n"
     "    round 0   sends  4          0          1          2          3\n"
     "              has    3: g4+g0   4: g0+g1   0: g1+g2   1: g2+g3   2: g3+g4\n"
     "    round 1   sends  3          4          0          1          2\n"
     "              has    2: g3..g0  3: g4..g1  4: g0..g2  0: g1..g3  1: g2..g4\n"
     "    round 2   sends  2          3          4          0          1\n"
     "              has    1: g2..g0  2: g3..g1  3: g4..g2  4: g0..g3  0: g1..g4\n"
     "    round 3   sends  1          2          3          4          0\n"
     "              owns   0: g1..g0  1: g2..g1  2: g3..g2  3: g4..g3  4: g0..g4  <- "
     "reduce-scatter ends\n"
     "    round 4   sends  0          1          2          3          4\n"
     "              has    4: g0..g4  0: g1..g0  1: g2..g1  2: g3..g2  3: g4..g3\n"
     "    round 5   sends  4          0          1          2          3\n"
     "              has    3: g4..g3  4: g0..g4  0: g1..g0  1: g2..g1  2: g3..g2\n"
     "    round 6   sends  3          4          0          1          2\n"
     "              has    2: g3..g2  3: g4..g3  4: g0..g4  0: g1..g0  1: g2..g1\n"
     "    round 7   sends  2          3          4          0          1\n"
     "              has    1: g2..g1  2: g3..g2  3: g4..g3  4: g0..g4  0: g1..g0  <- all-gather "
     "ends\n"
     "    bytes sent       72         76         80         80         76\n"
     "every rank now has every chunk, the sum of all 5 parts; it sent about 2 x 4/5 of 48 bytes: "
     "77\n"},
};
enum { PICTURES = sizeof pictures / sizeof *pictures };

START_TEST(a_small_world_looks_like_its_picture)
{
    char *text = drawing_of(pictures[_i].world, pictures[_i].count);
    ck_assert_str_eq(text, pictures[_i].text);
    free(text);
}
END_TEST

/* --- replay ---------------------------------------------------------------------------------- */

/* What ranks hold while a drawing is followed: a bit for every rank whose part is in the sum. */
struct replay {
    int world;
    uint32_t sums[EXPLAIN_WHOLE_MOST][EXPLAIN_WHOLE_MOST]; // (rank, chunk)
    size_t sent_bytes[EXPLAIN_WHOLE_MOST];
};

/* Sends what the row says, from every rank to its right neighbour. A sum must not count a part
 * twice. */
static void follow_row(struct replay *replay, const char *row, bool adds, size_t count)
{
    struct replay before = *replay;
    for (int rank = 0; rank < replay->world; rank++) {
        char *end;
        long chunk = strtol(row, &end, 10);
        ck_assert(end != row && chunk >= 0 && chunk < replay->world);
        row = end;
        replay->sent_bytes[rank] += 4 * slice_of(count, (size_t)replay->world, (size_t)chunk).count;
        uint32_t heard = before.sums[rank][chunk];
        uint32_t *sum = &replay->sums[(rank + 1) % replay->world][chunk];
        ck_assert(!adds || (*sum & heard) == 0);
        *sum = adds ? *sum | heard : heard;
    }
}

static void check_bytes(const struct replay *replay, const char *text)
{
    const char *row = strstr(text, "bytes sent ");
    ck_assert_ptr_nonnull(row);
    row += strlen("bytes sent ");
    for (int rank = 0; rank < replay->world; rank++) {
        char *end;
        ck_assert_uint_eq(strtoull(row, &end, 10), replay->sent_bytes[rank]);
        row = end;
    }
}

/* Only the rows of what is sent are read; what they lead to is worked out here once more. */
START_TEST(following_the_drawn_rounds_makes_every_chunk_whole)
{
    static const size_t counts[] = {1, 3, 19, 1000003};
    int world = _i;
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        struct replay replay = {.world = world};
        char *text = drawing_of(world, counts[c]), *row = text;
        int rounds = 0;
        for (int rank = 0; rank < world; rank++)
            for (int chunk = 0; chunk < world; chunk++)
                replay.sums[rank][chunk] = 1u << rank;
        for (; (row = strstr(row, " sends ")) != NULL; rounds++) {
            row += strlen(" sends ");
            follow_row(&replay, row, rounds < world - 1, counts[c]);
            for (int rank = 0; rank < world && rounds == world - 2; rank++)
                ck_assert_uint_eq(replay.sums[rank][rank], (1u << world) - 1);
        }
        ck_assert_int_eq(rounds, 2 * (world - 1));
        for (int rank = 0; rank < world; rank++)
            for (int chunk = 0; chunk < world; chunk++)
                ck_assert_uint_eq(replay.sums[rank][chunk], (1u << world) - 1);
        check_bytes(&replay, text);
        free(text);
    }
}
END_TEST

/* --- large worlds, and the program ----------------------------------------------------------- */

START_TEST(a_large_world_is_abridged_and_says_so)
{
    static const int worlds[] = {9, 100, 1024};
    char *text = drawing_of(worlds[_i], 269322);
    ck_assert_ptr_nonnull(strstr(text, "abridged: "));
    ck_assert_ptr_nonnull(strstr(text, "<- reduce-scatter ends\n"));
    ck_assert_ptr_nonnull(strstr(text, "<- all-gather ends\n"));
    size_t lines = 0;
    for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
        ck_assert_uint_le(strcspn(line, "\n"), 120);
        lines++;
    }
    ck_assert_uint_eq(lines, 2 + 4 + 1 + 2 * (3 * 2 + 1) + 2);
    free(text);
}
END_TEST

START_TEST(no_world_is_refused)
{
    ck_assert_int_eq(explain_ring(stdout, 0, 10), -EINVAL);
    ck_assert_int_eq(explain_ring(stdout, -1, 10), -EINVAL);
}
END_TEST

/* Rank 0 of 3, and nobody else: were it to wait for the others, it would not end in time. */
START_TEST(rank_0_draws_without_meeting_anyone)
{
    struct folder folder;
    struct program program;
    folder_open(&folder);
    program_run(&program, folder.path,
                "export RANK=0 WORLD_SIZE=3 MASTER_ADDR=127.0.0.1 MASTER_PORT=29517; "
                "exec \"${LAUNCH%/*}/lesson02_allreduce\" --explain");
    ck_assert_int_eq(program.code, 0);
    ck_assert_ptr_nonnull(strstr(program.out, "ring all-reduce of 4810 floats over 3 ranks"));
    ck_assert_ptr_nonnull(strstr(program.out, "owns   0: g1+g2+g0    1: g2+g0+g1"));
    ck_assert_ptr_null(strstr(program.out, "verify"));
    program_close(&program);
    folder_close(&folder);
}
END_TEST

START_TEST(a_launched_job_draws_once_and_succeeds)
{
    struct folder folder;
    struct program program;
    folder_open(&folder);
    lesson_run(&program, &folder, (struct lesson){2, 3}, "--explain");
    ck_assert_int_eq(program.code, 0);
    const char *drawn = strstr(program.out, "ring all-reduce of ");
    ck_assert_ptr_nonnull(drawn);
    ck_assert_ptr_null(strstr(drawn + 1, "ring all-reduce of "));
    program_close(&program);
    folder_close(&folder);
}
END_TEST

/* auto: what it takes among so many ranks, of the digits' network of 19 KiB, and of one of 300 KiB. */
START_TEST(the_algorithm_asked_for_is_drawn)
{
    static const struct {
        int world;
        const char *arguments, *title;
    } asked[] = {{3, "--explain --algorithm tree", "tree all-reduce of "},
                 {3, "--explain --algorithm auto", "root all-reduce of "},
                 {2, "--explain --algorithm auto --hidden 1024", "ring all-reduce of "}};
    struct folder folder;
    struct program program;
    folder_open(&folder);
    lesson_run(&program, &folder, (struct lesson){2, asked[_i].world}, asked[_i].arguments);
    ck_assert_int_eq(program.code, 0);
    ck_assert_ptr_nonnull(strstr(program.out, asked[_i].title));
    program_close(&program);
    folder_close(&folder);
}
END_TEST

START_TEST(auto_is_drawn_by_the_tuning_file_that_is_given)
{
    struct folder folder;
    struct program program;
    folder_open(&folder);
    lesson_write(&folder, "t", "staircase tuning 1, world 3, transport tcp\nany tree\n");
    lesson_run(&program, &folder, (struct lesson){2, 3}, "--explain --algorithm auto --tuning t");
    ck_assert_int_eq(program.code, 0);
    ck_assert_ptr_nonnull(strstr(program.out, "tree all-reduce of "));
    program_close(&program);
    lesson_fails(&folder, (struct lesson){2, 3}, "--explain --algorithm auto --tuning u", 2, "u");
    folder_close(&folder);
}
END_TEST

/* 5 ranks, worked by hand: 0 gives its vector to 1 and stands by, the others halve. */
static const struct {
    enum algorithm algorithm;
    int world;
    const char *text;
} lists[] = {
    {ALGORITHM_HALVING, 5,
     "halving all-reduce of 10 floats over 5 ranks (from -> to: which floats)\n"
     "    step 0   add    1 -> 0: all\n"
     "    step 1   add    0 -> 2: 5 to 9, 2 -> 0: 0 to 4, 3 -> 4: 5 to 9, 4 -> 3: 0 to 4\n"
     "    step 2   add    0 -> 3: 3 to 4, 2 -> 4: 8 to 9, 3 -> 0: 0 to 2, 4 -> 2: 5 to 7\n"
     "    step 3   store  0 -> 3: 0 to 2, 2 -> 4: 5 to 7, 3 -> 0: 3 to 4, 4 -> 2: 8 to 9\n"
     "    step 4   store  0 -> 2: 0 to 4, 2 -> 0: 5 to 9, 3 -> 4: 0 to 4, 4 -> 3: 5 to 9\n"
     "    step 5   store  0 -> 1: all\n"
     "steps: 6; every rank now has the sum; bytes sent by a rank: 40 to 100\n"},
    {ALGORITHM_DIRECT, 3,
     "direct all-reduce of 10 floats over 3 ranks (from -> to: which floats)\n"
     "    step 0   add    0 -> 1: all, 0 -> 2: all, 1 -> 0: all, 1 -> 2: all,\n"
     "                    2 -> 0: all, 2 -> 1: all\n"
     "steps: 1; every rank now has the sum; bytes sent by a rank: 80 to 80\n"},
    {ALGORITHM_ROOT, 9,
     "root all-reduce of 10 floats over 9 ranks (from -> to: which floats)\n"
     "    step 0   add    1 -> 0: all, 2 -> 0: all, 3 -> 0: all, 4 -> 0: all, ... 8 messages in "
     "all\n"
     "    step 1   store  0 -> 1: all, 0 -> 2: all, 0 -> 3: all, 0 -> 4: all, ... 8 messages in "
     "all\n"
     "steps: 2; every rank now has the sum; bytes sent by a rank: 40 to 320\n"},
    {ALGORITHM_TREE, 1,
     "tree all-reduce of 10 floats over 1 rank (from -> to: which floats)\n"
     "nothing is sent\n"},
};
enum { LISTS = sizeof lists / sizeof *lists };

START_TEST(other_algorithms_are_listed_step_by_step)
{
    char *text = NULL;
    size_t size_bytes = 0;
    FILE *out = open_memstream(&text, &size_bytes);
    ck_assert_ptr_nonnull(out);
    ck_assert_int_eq(explain_algorithm(out, lists[_i].algorithm, lists[_i].world, 10), 0);
    ck_assert_int_eq(explain_algorithm(out, ALGORITHM_AUTO, 3, 10), -EINVAL);
    fclose(out);
    ck_assert_str_eq(text, lists[_i].text);
    free(text);
}
END_TEST

Suite *explain_suite(void)
{
    Suite *suite = suite_create("explain");
    TCase *tcase = tcase_create("explain");
    tcase_add_loop_test(tcase, a_small_world_looks_like_its_picture, 0, PICTURES);
    tcase_add_loop_test(tcase, following_the_drawn_rounds_makes_every_chunk_whole, 2,
                        EXPLAIN_WHOLE_MOST + 1);
    tcase_add_loop_test(tcase, a_large_world_is_abridged_and_says_so, 0, 3);
    tcase_add_loop_test(tcase, other_algorithms_are_listed_step_by_step, 0, LISTS);
    tcase_add_test(tcase, no_world_is_refused);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, rank_0_draws_without_meeting_anyone);
    tcase_add_test(tcase, a_launched_job_draws_once_and_succeeds);
    tcase_add_loop_test(tcase, the_algorithm_asked_for_is_drawn, 0, 3);
    tcase_add_test(tcase, auto_is_drawn_by_the_tuning_file_that_is_given);
    suite_add_tcase(suite, tcase);
    return suite;
}
