/*
 * page_memory: the bytes that the page shows are those of memory_plan.h, for the lessons' networks, every
 * optimizer, stage and rank; and its table is the one that --plan prints.
 */
#include "lesson04_zero/memory_plan.h"
#include "tests/browser/page.h"
#include "tests/browser/page_suites.h"
#include "tests/inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The flags, and what the page is asked for. */
static const struct {
    const char *hidden, *model;
} networks[] = {
    {"64", "64-64-10"},
    {"none", "64-10"},
    {"9", "64-9-10"},
    {"33,7,250", "64-33-7-250-10"},
    {"512,512,512,512,512,512,512,512", "64-512-512-512-512-512-512-512-512-10"},
};
static const struct {
    const char *flags, *name;
} optimizers[] = {
    {"--momentum 0", "sgd"}, {"--optimizer sgd", "momentum"}, {"--optimizer adamw", "adam"}};
static const int worlds[] = {1, 2, 3, 4, 5, 7, 8};
enum {
    NETWORKS = sizeof networks / sizeof *networks,
    OPTIMIZERS = sizeof optimizers / sizeof *optimizers,
    WORLDS = sizeof worlds / sizeof *worlds,
};

static void print_row(const struct memory_plan *plan, FILE *out)
{
    static const enum memory_use uses[] = {MEMORY_PARAMETERS, MEMORY_GRADIENTS, MEMORY_OPTIMIZER};
    size_t sum = 0;
    for (size_t i = 0; i < 3; i++) {
        fprintf(out, "%zu ", plan->bytes[uses[i]]);
        sum += plan->bytes[uses[i]];
    }
    fprintf(out, "%zu\n", sum);
}

/* Rank 0 at every stage, then every rank at this stage. */
static char *expected(const struct memory_case *given, int world, int stage)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    struct memory_case of = *given;
    of.world = world;
    for (of.stage = STAGE_DDP; of.stage <= STAGE_MOST; of.stage++) {
        struct memory_plan plan = memory_plan_of(&of, 0);
        print_row(&plan, out);
    }
    of.stage = stage;
    for (int rank = 0; rank < world; rank++) {
        struct memory_plan plan = memory_plan_of(&of, (size_t)rank);
        print_row(&plan, out);
    }
    fclose(out);
    return text;
}

static const char tables[] =
    "[...document.querySelectorAll('#stage-table tbody tr, #rank-table tbody tr')].map(tr =>"
    " [...tr.querySelectorAll('data')].map(data => data.value).join(' ') + '\\n').join('')";

static void compare_case(const struct memory_case *of, const char *model, const char *optimizer,
                         int i)
{
    char fragment[256];
    int world = worlds[i / (STAGE_MOST + 1)], stage = i % (STAGE_MOST + 1);
    snprintf(fragment, sizeof fragment, "#model=%s&optimizer=%s&ranks=%d&stage=%d", model,
             optimizer, world, stage);
    char *shown = page_at(fragment, tables), *should = expected(of, world, stage);
    ck_assert_msg(strcmp(shown, should) == 0, "%s: is\n%sand should be\n%s", fragment, shown,
                  should);
    free(shown);
    free(should);
}

START_TEST(what_a_rank_keeps_is_what_memory_plan_says)
{
    static struct inside inside;
    char arguments[128];
    const char *model = networks[_i % NETWORKS].model, *optimizer = optimizers[_i / NETWORKS].name;
    snprintf(arguments, sizeof arguments, "--hidden %s %s", networks[_i % NETWORKS].hidden,
             optimizers[_i / NETWORKS].flags);
    ck_assert_int_eq(inside_prepare(&inside, 4, 1, arguments), 0);
    struct memory_case of = memory_case_of(&inside.run);
    page_open("", PAGE_DESK);
    for (int i = 0; i < WORLDS * (STAGE_MOST + 1); i++)
        compare_case(&of, model, optimizer, i);
    inside_close(&inside);
}
END_TEST

/* "DDP  7.2 MiB  7.2 MiB  14.3 MiB ..." -> "7.2 MiB|7.2 MiB|14.3 MiB\n", into text. */
static bool read_row(const char *line, char *text, size_t bytes)
{
    static const char *const names[] = {"DDP ", "ZeRO 1 ", "ZeRO 2 ", "ZeRO 3 "};
    char value[3][16], unit[3][8];
    for (size_t i = 0; i < 4; i++) {
        size_t length = strlen(names[i]);
        if (strncmp(line, names[i], length) == 0 &&
            sscanf(line + length, "%15s %7s %15s %7s %15s %7s", value[0], unit[0], value[1],
                   unit[1], value[2], unit[2]) == 6) {
            snprintf(text, bytes, "%s %s|%s %s|%s %s\n", value[0], unit[0], value[1], unit[1],
                     value[2], unit[2]);
            return true;
        }
    }
    return false;
}

/* The command that the page shows, of this build. */
static void run_plan(const char *command, char *rows, size_t bytes)
{
    char whole[512], line[512];
    ck_assert_int_eq(strncmp(command, "build/", 6), 0);
    snprintf(whole, sizeof whole, "%s/%s", getenv("CHECK_PAGE_BUILD"), command + 6);
    FILE *out = popen(whole, "r");
    ck_assert_ptr_nonnull(out);
    rows[0] = 0;
    while (fgets(line, sizeof line, out)) {
        size_t length = strlen(rows);
        read_row(line, rows + length, bytes - length);
    }
    ck_assert_int_eq(pclose(out), 0);
}

static const char *const shown_plans[] = {
    "#model=64-512-512-512-512-512-512-512-512-10&ranks=4&optimizer=adam",
    "#model=64-64-10&ranks=3&optimizer=momentum",
    "#model=64-10&ranks=16&optimizer=sgd",
};

START_TEST(its_table_is_that_of_the_command_it_shows)
{
    char rows[1024];
    page_open(shown_plans[_i], PAGE_DESK);
    char *command =
        browser_evaluate(page_browser(), "document.getElementById('plan-command').textContent");
    run_plan(command, rows, sizeof rows);
    ck_assert_str_ne(rows, "");
    page_says("[...document.querySelectorAll('#stage-table tbody tr')].map(tr =>"
              " [...tr.querySelectorAll('td')].slice(0, 3).map(td => td.textContent).join('|') + "
              "'\\n').join('')",
              rows);
    free(command);
}
END_TEST

Suite *page_memory_suite(void)
{
    Suite *suite = suite_create("page_memory");
    TCase *bytes = tcase_create("bytes");
    tcase_set_timeout(bytes, 0); // the browser has its own
    tcase_add_loop_test(bytes, what_a_rank_keeps_is_what_memory_plan_says, 0,
                        NETWORKS * OPTIMIZERS);
    tcase_add_loop_test(bytes, its_table_is_that_of_the_command_it_shows, 0, 3);
    suite_add_tcase(suite, bytes);
    return suite;
}
