/* Which cores the ranks are bound to, as /proc tells each of them. */
#include "tests/folder.h"
#include "tests/program.h"
#include "tests/suites.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CORES_MOST = 1024, RANKS_MOST_HERE = 8, COMMAND_BYTES = 256 };

struct cores {
    bool has[CORES_MOST];
    int count;
};

#define TELL "grep Cpus_allowed_list /proc/self/status"

static bool can_tell(void)
{
    bool can = access("/proc/self/status", R_OK) == 0;
    if (!can)
        printf("launch_cores: skipped: ranks are bound on Linux only\n");
    return can;
}

/* "Cpus_allowed_list:\t0-2,5" */
static struct cores parse(const char *text)
{
    struct cores cores = {.count = 0};
    const char *next = strstr(text, "list:");
    ck_assert_ptr_nonnull(next);
    next += strlen("list:");
    for (bool more = true; more;) {
        char *end;
        long first = strtol(next, &end, 10), last = first;
        if (*end == '-')
            last = strtol(end + 1, &end, 10);
        ck_assert(first >= 0 && last < CORES_MOST);
        for (long i = first; i <= last; i++)
            cores.has[i] = true;
        cores.count += (int)(last - first) + 1;
        more = *end == ',';
        next = end + 1;
    }
    return cores;
}

/* Runs `prefix` TELL; cores[i] becomes what the line marked [i] says, or the only line. */
static void ask(const char *prefix, int ranks, struct cores *cores)
{
    char command[COMMAND_BYTES], mark[16];
    struct folder folder;
    struct program program;
    folder_open(&folder);
    snprintf(command, sizeof command, "%s " TELL, prefix);
    program_run(&program, folder.path, command);
    ck_assert_msg(program.code == 0, "%s: %s", command, program.err);
    for (int i = 0; i < ranks; i++) {
        snprintf(mark, sizeof mark, "[%d] ", i);
        const char *line = program.out[0] == '[' ? strstr(program.out, mark) : program.out;
        ck_assert_msg(line != NULL, "%s: %s", command, program.out);
        cores[i] = parse(line);
    }
    program_close(&program);
    folder_close(&folder);
}

/* Shares of `each` cores, all of them among `allowed`; disjoint when `own`. */
static void check_shares(const struct cores *allowed, const struct cores *shares, int ranks,
                         int each, bool own)
{
    int holders[CORES_MOST] = {0};
    for (int rank = 0; rank < ranks; rank++) {
        ck_assert_int_eq(shares[rank].count, each);
        for (int i = 0; i < CORES_MOST; i++) {
            ck_assert_msg(!shares[rank].has[i] || allowed->has[i], "rank %d has core %d", rank, i);
            holders[i] += shares[rank].has[i];
            ck_assert_msg(!own || holders[i] <= 1, "core %d is given away twice", i);
        }
    }
}

START_TEST(each_rank_gets_cores_of_its_own_when_there_are_enough)
{
    struct cores allowed, shares[RANKS_MOST_HERE];
    if (!can_tell())
        return;
    ask("", 1, &allowed);
    for (int ranks = 1; ranks <= allowed.count && ranks <= RANKS_MOST_HERE; ranks++) {
        char prefix[COMMAND_BYTES];
        snprintf(prefix, sizeof prefix, "exec $LAUNCH -n %d%s", ranks, _i ? " --bind auto" : "");
        ask(prefix, ranks, shares);
        check_shares(&allowed, shares, ranks, allowed.count / ranks, true);
    }
}
END_TEST

START_TEST(more_ranks_than_cores_or_none_are_not_bound)
{
    struct cores allowed, shares[RANKS_MOST_HERE];
    char prefix[COMMAND_BYTES];
    if (!can_tell())
        return;
    ask("", 1, &allowed);
    ask("exec $LAUNCH -n 2 --bind=none", 2, shares);
    check_shares(&allowed, shares, 2, allowed.count, false);
    if (allowed.count >= RANKS_MOST_HERE)
        return;
    snprintf(prefix, sizeof prefix, "exec $LAUNCH -n %d", allowed.count + 1);
    ask(prefix, allowed.count + 1, shares);
    check_shares(&allowed, shares, allowed.count + 1, allowed.count, false);
}
END_TEST

START_TEST(a_taskset_around_the_launcher_holds)
{
    struct cores allowed, inner, shares[2];
    char prefix[COMMAND_BYTES];
    int last = CORES_MOST - 1;
    if (!can_tell())
        return;
    if (system("command -v taskset > /dev/null") != 0) { // NOLINT(cert-env33-c): a fixed text
        printf("launch_cores: skipped: no taskset here\n");
        return;
    }
    ask("", 1, &allowed);
    while (!allowed.has[last])
        last--;
    for (int ranks = 1; ranks <= 2; ranks++) {
        inner = (struct cores){.count = 1};
        inner.has[last] = true;
        snprintf(prefix, sizeof prefix, "exec taskset -c %d $LAUNCH -n %d", last, ranks);
        ask(prefix, ranks, shares);
        check_shares(&inner, shares, ranks, 1, false);
    }
}
END_TEST

Suite *launch_cores_suite(void)
{
    Suite *suite = suite_create("launch_cores");
    TCase *tcase = tcase_create("launch_cores");
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, each_rank_gets_cores_of_its_own_when_there_are_enough, 0, 2);
    tcase_add_test(tcase, more_ranks_than_cores_or_none_are_not_bound);
    tcase_add_test(tcase, a_taskset_around_the_launcher_holds);
    suite_add_tcase(suite, tcase);
    return suite;
}
