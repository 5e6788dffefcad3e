/* Every launcher's variables are understood; what cannot be meant is refused by name. */
#include "common/environment.h"
#include "tests/suites.h"

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SETTINGS = 6 };

struct setting {
    const char *name, *value;
};

/* All that environment_read looks at. */
static const char *const names[] = {
    "RANK",
    "WORLD_SIZE",
    "LOCAL_RANK",
    "LOCAL_WORLD_SIZE",
    "MASTER_ADDR",
    "MASTER_PORT",
    "BIND_ADDRESS",
    "RENDEZVOUS_FD",
    "JOB_TOKEN",
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_SIZE",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "OMPI_COMM_WORLD_LOCAL_SIZE",
    "PMI_RANK",
    "PMI_SIZE",
    "MPI_LOCALRANKID",
    "MPI_LOCALNRANKS",
    "SLURM_PROCID",
    "SLURM_NTASKS",
    "SLURM_LOCALID",
    "SLURM_NTASKS_PER_NODE",
    "SLURM_STEP_ID",
    "SLURM_JOB_ID",
    "PMIX_NAMESPACE",
    "TORCHELASTIC_RUN_ID",
    "TORCHELASTIC_USE_AGENT_STORE",
};
enum { NAMES = sizeof names / sizeof *names };

/* Reads under exactly these settings; the process's own environment is put back. */
static int read_under(const struct setting *settings, struct environment *e, struct fail *fail)
{
    char *saved[NAMES];
    for (size_t i = 0; i < NAMES; i++) {
        saved[i] = getenv(names[i]) ? strdup(getenv(names[i])) : NULL;
        unsetenv(names[i]);
    }
    for (size_t i = 0; i < SETTINGS && settings[i].name; i++)
        setenv(settings[i].name, settings[i].value, 1);
    *fail = (struct fail){0};
    int error = environment_read(e, fail);
    for (size_t i = 0; i < NAMES; i++) {
        unsetenv(names[i]);
        if (saved[i])
            setenv(names[i], saved[i], 1);
        free(saved[i]);
    }
    return error;
}

static const struct {
    struct setting settings[SETTINGS];
    int rank, world, local_rank, local_world, port;
    bool launched;
} accepted[] = {
    {{{0}}, 0, 1, 0, 1, 0, false},
    {{{"RANK", "3"},
      {"WORLD_SIZE", "4"},
      {"LOCAL_RANK", "1"},
      {"LOCAL_WORLD_SIZE", "2"},
      {"MASTER_PORT", "65535"}},
     3,
     4,
     1,
     2,
     65535,
     true},
    {{{"RANK", "1"}, {"WORLD_SIZE", "2"}}, 1, 2, 1, 2, 29500, true},
    {{{"RANK", "0"}, {"WORLD_SIZE", "1"}}, 0, 1, 0, 1, 0, true},
    {{{"RANK", "3"}, {"WORLD_SIZE", "4"}, {"LOCAL_WORLD_SIZE", "2"}}, 3, 4, 1, 2, 29500, true},
    {{{"OMPI_COMM_WORLD_RANK", "2"},
      {"OMPI_COMM_WORLD_SIZE", "4"},
      {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
      {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}},
     2,
     4,
     0,
     2,
     29500,
     true},
    {{{"PMI_RANK", "1"}, {"PMI_SIZE", "3"}, {"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "3"}},
     1,
     3,
     1,
     3,
     29500,
     true},
    {{{"SLURM_PROCID", "5"},
      {"SLURM_NTASKS", "8"},
      {"SLURM_LOCALID", "1"},
      {"SLURM_NTASKS_PER_NODE", "4"},
      {"SLURM_STEP_ID", "0"}},
     5,
     8,
     1,
     4,
     29500,
     true},
    /* inside an allocation, but not started by srun */
    {{{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}}, 0, 1, 0, 1, 0, false},
    /* our launcher inside somebody's allocation */
    {{{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"PMI_RANK", "0"}, {"PMI_SIZE", "1"}},
     1,
     2,
     1,
     2,
     29500,
     true},
};
enum { ACCEPTED = sizeof accepted / sizeof *accepted };

START_TEST(each_launchers_variables_are_understood)
{
    struct environment e;
    struct fail fail;
    ck_assert_msg(read_under(accepted[_i].settings, &e, &fail) == 0, "%s", fail.text);
    ck_assert_int_eq(e.rank, accepted[_i].rank);
    ck_assert_int_eq(e.world, accepted[_i].world);
    ck_assert_int_eq(e.local_rank, accepted[_i].local_rank);
    ck_assert_int_eq(e.local_world, accepted[_i].local_world);
    ck_assert_int_eq(e.master_port, accepted[_i].port);
    ck_assert_int_eq(e.launched, accepted[_i].launched);
    ck_assert_str_eq(e.master_address, "127.0.0.1");
    ck_assert_int_eq(e.rendezvous_fd, -1);
}
END_TEST

/* The sentence names the variable, the value, and what is accepted. */
static const struct {
    struct setting settings[SETTINGS];
    const char *named[3];
} refused[] = {
    {{{"WORLD_SIZE", "2"}}, {"RANK is not set", "WORLD_SIZE is '2'", "launch"}},
    {{{"RANK", "0"}}, {"WORLD_SIZE is not set", "RANK is '0'", "launch"}},
    {{{"RANK", "2"}, {"WORLD_SIZE", "2"}}, {"RANK is '2'", "WORLD_SIZE=2", "from 0 to 1"}},
    {{{"RANK", "9"}, {"WORLD_SIZE", "2"}}, {"RANK is '9'", "WORLD_SIZE=2", "from 0 to 1"}},
    {{{"RANK", "-1"}, {"WORLD_SIZE", "2"}}, {"RANK is '-1'", "from 0 to 1", ""}},
    {{{"RANK", "abc"}, {"WORLD_SIZE", "2"}}, {"RANK is 'abc'", "from 0 to 1", ""}},
    {{{"RANK", ""}, {"WORLD_SIZE", "2"}}, {"RANK is ''", "from 0 to 1", ""}},
    {{{"RANK", "1x"}, {"WORLD_SIZE", "2"}}, {"RANK is '1x'", "from 0 to 1", ""}},
    {{{"RANK", " 1"}, {"WORLD_SIZE", "2"}}, {"RANK is ' 1'", "from 0 to 1", ""}},
    {{{"RANK", "4294967296"}, {"WORLD_SIZE", "2"}}, {"RANK is '4294967296'", "from 0 to 1", ""}},
    {{{"RANK", "0"}, {"WORLD_SIZE", "0"}}, {"WORLD_SIZE is '0'", "from 1 to 1024", ""}},
    {{{"RANK", "0"}, {"WORLD_SIZE", "2 "}}, {"WORLD_SIZE is '2 '", "from 1 to 1024", ""}},
    {{{"RANK", "0"}, {"WORLD_SIZE", "1025"}}, {"WORLD_SIZE is '1025'", "from 1 to 1024", ""}},
    {{{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"LOCAL_WORLD_SIZE", "3"}},
     {"LOCAL_WORLD_SIZE is '3'", "from 1 to 2", ""}},
    {{{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "2"}},
     {"LOCAL_RANK is '2'", "from 0 to 1", ""}},
    {{{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "29500"}, {"MASTER_PORT", "127.0.0.1"}},
     {"MASTER_ADDR is '29500'", "127.0.0.1", "MASTER_PORT"}},
    {{{"MASTER_PORT", "127.0.0.1"}}, {"MASTER_PORT is '127.0.0.1'", "from 1 to 65535", ""}},
    {{{"MASTER_PORT", "0"}}, {"MASTER_PORT is '0'", "from 1 to 65535", ""}},
    {{{"MASTER_PORT", "65536"}}, {"MASTER_PORT is '65536'", "from 1 to 65535", ""}},
    {{{"MASTER_PORT", "29500/tcp"}}, {"MASTER_PORT is '29500/tcp'", "from 1 to 65535", ""}},
    {{{"MASTER_ADDR", ""}}, {"MASTER_ADDR is ''", "127.0.0.1", ""}},
    {{{"MASTER_ADDR", "127.0.0.256"}}, {"MASTER_ADDR is '127.0.0.256'", "127.0.0.1", ""}},
    {{{"MASTER_ADDR", "127.0.0.1:29500"}}, {"MASTER_ADDR is '127.0.0.1:29500'", "", ""}},
    {{{"MASTER_ADDR", "localhost:29500"}}, {"MASTER_ADDR is 'localhost:29500'", "", ""}},
    {{{"MASTER_ADDR", "no-such-host.invalid"}},
     {"MASTER_ADDR is 'no-such-host.invalid'", "does not resolve", "127.0.0.1"}},
    {{{"BIND_ADDRESS", ""}}, {"BIND_ADDRESS is ''", "interface", "lo"}},
    {{{"BIND_ADDRESS", "eth77"}}, {"BIND_ADDRESS is 'eth77'", "interface", "lo"}},
    {{{"BIND_ADDRESS", "203.0.113.7"}}, {"BIND_ADDRESS is '203.0.113.7'", "this machine", ""}},
    {{{"BIND_ADDRESS", "0.0.0.0"}}, {"BIND_ADDRESS is '0.0.0.0'", "this machine", ""}},
    {{{"BIND_ADDRESS", "224.0.0.1"}}, {"BIND_ADDRESS is '224.0.0.1'", "this machine", ""}},
    {{{"BIND_ADDRESS", "127.0.0.1"},
      {"MASTER_ADDR", "10.1.2.3"},
      {"RANK", "1"},
      {"WORLD_SIZE", "2"},
      {"LOCAL_WORLD_SIZE", "1"}},
     {"BIND_ADDRESS is '127.0.0.1'", "only this machine", "1 of 2"}},
    {{{"JOB_TOKEN", "00"}}, {"JOB_TOKEN is '00'", "32 hexadecimal digits", ""}},
    {{{"JOB_TOKEN", "000102030405060708090a0b0c0d0e0g"}}, {"JOB_TOKEN is '0001", "32", ""}},
    {{{"JOB_TOKEN", "000102030405060708090a0b0c0d0e0f0"}}, {"JOB_TOKEN is '0001", "32", ""}},
    {{{"RENDEZVOUS_FD", "three"}}, {"RENDEZVOUS_FD is 'three'", "descriptor", ""}},
    {{{"RENDEZVOUS_FD", "-1"}}, {"RENDEZVOUS_FD is '-1'", "descriptor", ""}},
    {{{"RENDEZVOUS_FD", "999999"}}, {"RENDEZVOUS_FD is '999999'", "listening socket", ""}},
    {{{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"TORCHELASTIC_USE_AGENT_STORE", "True"}},
     {"TORCHELASTIC_USE_AGENT_STORE is 'True'", "MASTER_PORT", "--standalone"}},
    {{{"OMPI_COMM_WORLD_RANK", "9"}, {"OMPI_COMM_WORLD_SIZE", "2"}},
     {"OMPI_COMM_WORLD_RANK is '9'", "OMPI_COMM_WORLD_SIZE=2", "from 0 to 1"}},
};
enum { REFUSED = sizeof refused / sizeof *refused };

START_TEST(what_cannot_be_meant_is_refused_by_name)
{
    struct environment e;
    struct fail fail;
    ck_assert_int_eq(read_under(refused[_i].settings, &e, &fail), -EINVAL);
    for (size_t i = 0; i < 3; i++)
        ck_assert_msg(strstr(fail.text, refused[_i].named[i]) != NULL, "'%s' is not in: %s",
                      refused[_i].named[i], fail.text);
    if (strncmp(fail.text, "RANK is", 7) == 0)
        ck_assert_int_eq(e.world, 1); // so that no message begins with a rank
}
END_TEST

START_TEST(localhost_is_the_literal_address_and_addresses_are_kept)
{
    struct environment e;
    struct fail fail;
    ck_assert_int_eq(
        read_under((struct setting[SETTINGS]){{"MASTER_ADDR", "localhost"}}, &e, &fail), 0);
    ck_assert_str_eq(e.master_address, "127.0.0.1");
    ck_assert_int_eq(read_under((struct setting[SETTINGS]){{"MASTER_ADDR", "10.1.2.3"}}, &e, &fail),
                     0);
    ck_assert_str_eq(e.master_address, "10.1.2.3");
}
END_TEST

START_TEST(an_address_or_an_interface_to_bind_is_made_a_number)
{
    const char *const given[] = {"127.0.0.1", if_nametoindex("lo") ? "lo" : "lo0"};
    struct environment e;
    struct fail fail;
    ck_assert_int_eq(read_under((struct setting[SETTINGS]){{0}}, &e, &fail), 0);
    ck_assert_str_eq(e.bind_address, "");
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        const struct setting settings[SETTINGS] = {{"BIND_ADDRESS", given[i]}};
        ck_assert_msg(read_under(settings, &e, &fail) == 0, "%s", fail.text);
        ck_assert_str_eq(e.bind_address, "127.0.0.1");
    }
}
END_TEST

START_TEST(token_is_read_digit_by_digit)
{
    static const uint8_t expected[ENVIRONMENT_TOKEN_BYTES] = {0x00, 0x01, 0x12, 0x23, 0x34, 0x45,
                                                              0x56, 0x67, 0x78, 0x89, 0x9a, 0xab,
                                                              0xbc, 0xcd, 0xde, 0xef};
    struct environment e;
    struct fail fail;
    const struct setting settings[SETTINGS] = {{"JOB_TOKEN", "000112233445566778899AabBCcdDEEf"}};
    ck_assert_msg(read_under(settings, &e, &fail) == 0, "%s", fail.text);
    ck_assert_mem_eq(e.token, expected, sizeof expected);
}
END_TEST

/* The names three launchers give to a job. */
static const struct {
    const char *rank, *world, *job;
} named[] = {
    {"RANK", "WORLD_SIZE", "TORCHELASTIC_RUN_ID"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMIX_NAMESPACE"},
    {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_JOB_ID"},
};
enum { NAMED = sizeof named / sizeof *named };

static void token_of(int launcher, const char *rank, const char *job,
                     uint8_t token[ENVIRONMENT_TOKEN_BYTES])
{
    struct environment e;
    struct fail fail;
    const struct setting settings[SETTINGS] = {{named[launcher].rank, rank},
                                               {named[launcher].world, "2"},
                                               {named[launcher].job, job},
                                               {"SLURM_STEP_ID", "0"}};
    ck_assert_msg(read_under(settings, &e, &fail) == 0, "%s", fail.text);
    memcpy(token, e.token, sizeof e.token);
}

START_TEST(ranks_of_one_job_share_a_token_and_those_of_two_do_not)
{
    uint8_t first[ENVIRONMENT_TOKEN_BYTES], second[ENVIRONMENT_TOKEN_BYTES];
    uint8_t other[ENVIRONMENT_TOKEN_BYTES];
    token_of(_i, "0", "1882521601", first);
    token_of(_i, "1", "1882521601", second);
    token_of(_i, "1", "1882521602", other);
    ck_assert_mem_eq(first, second, sizeof first);
    ck_assert_mem_ne(first, other, sizeof first);
}
END_TEST

START_TEST(a_listening_socket_is_taken_and_any_other_is_not)
{
    struct environment e;
    struct fail fail;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    char text[16];
    snprintf(text, sizeof text, "%d", fd);
    const struct setting settings[SETTINGS] = {{"RENDEZVOUS_FD", text}};
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(read_under(settings, &e, &fail), -EINVAL);
    ck_assert_int_eq(listen(fd, 1), 0);
    ck_assert_int_eq(read_under(settings, &e, &fail), 0);
    ck_assert_int_eq(e.rendezvous_fd, fd);
    close(fd);
}
END_TEST

Suite *environment_suite(void)
{
    Suite *suite = suite_create("environment");
    TCase *tcase = tcase_create("environment");
    tcase_add_loop_test(tcase, each_launchers_variables_are_understood, 0, ACCEPTED);
    tcase_add_loop_test(tcase, what_cannot_be_meant_is_refused_by_name, 0, REFUSED);
    tcase_add_test(tcase, localhost_is_the_literal_address_and_addresses_are_kept);
    tcase_add_test(tcase, an_address_or_an_interface_to_bind_is_made_a_number);
    tcase_add_test(tcase, token_is_read_digit_by_digit);
    tcase_add_loop_test(tcase, ranks_of_one_job_share_a_token_and_those_of_two_do_not, 0, NAMED);
    tcase_add_test(tcase, a_listening_socket_is_taken_and_any_other_is_not);
    suite_add_tcase(suite, tcase);
    return suite;
}
