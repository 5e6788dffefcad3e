/* Of ranks that hung, told from their records and from what they waited for. */
#include "tests/folder.h"
#include "tests/lessons.h"
#include "tests/patient.h"
#include "tests/suites.h"

#include <check.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct options plain = {.seed = 1, .shuffle = true};

/* All waited in a ring, in the same call; the rank that is gone has waited longest. */
static void write_now(const struct folder *folder, size_t rank, size_t gone)
{
    char name[32], text[128];
    snprintf(name, sizeof name, "rank-%zu.now", rank);
    snprintf(text, sizeof text, "{\"text\":\"call 7\",\"awaits\":[%zu],\"clock\":%d}",
             (rank + PATIENT_WORLD - 1) % PATIENT_WORLD, rank == gone ? 5 : 6);
    lesson_write(folder, name, text);
}

START_TEST(a_rank_that_was_killed_while_it_waited_is_told)
{
    static const size_t no_process = (size_t)1 << 40;
    struct patient patient;
    struct folder folder;
    char words[64];
    folder_open(&folder);
    patient_make(&patient, &plain);
    patient.book.folder = folder.path;
    for (size_t rank = 0; rank < PATIENT_WORLD; rank++) {
        write_now(&folder, rank, (size_t)_i);
        patient.starts[rank][0].pid = no_process;
        patient.ranks[rank].ended = rank == 2; // the others were killed, one first
        patient.ranks[rank].exit_code = 1;
    }
    patient_has(&patient, NULL, "hang");
    snprintf(words, sizeof words, "rank %d is gone, without an end, in step 7; it waited for", _i);
    ck_assert_msg(strncmp(patient.diagnosis.findings[0].deciding, words, strlen(words)) == 0, "%s",
                  patient.diagnosis.findings[0].deciding);
    folder_close(&folder);
}
END_TEST

/* A pipe in the place of a .now: nobody ever writes to it. */
START_TEST(a_pipe_that_nobody_writes_to_is_not_waited_for)
{
    struct patient patient;
    struct folder folder;
    char path[512];
    folder_open(&folder);
    patient_make(&patient, &plain);
    patient.book.folder = folder.path;
    patient.ranks[1].exit_code = 1;
    snprintf(path, sizeof path, "%s/rank-1.now", folder.path);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    patient_has(&patient, NULL, "");
    ck_assert_int_eq(unlink(path), 0);
    folder_close(&folder);
}
END_TEST

Suite *waiting_suite(void)
{
    Suite *suite = suite_create("waiting");
    TCase *tcase = tcase_create("waiting");
    tcase_add_loop_test(tcase, a_rank_that_was_killed_while_it_waited_is_told, 0, 2);
    tcase_add_test(tcase, a_pipe_that_nobody_writes_to_is_not_waited_for);
    suite_add_tcase(suite, tcase);
    return suite;
}
