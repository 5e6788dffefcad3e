/* launch_options: one table of flags; parsing, refusals and --help come from it. See the header. */
#include "common/launch_options.h"

#include "common/environment_address.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { PORT_MOST = 65535, GRACE_MOST = 3600, RESTARTS_MOST = 1000000, SETTING_BYTES = 320 };

enum kind { KIND_NUMBER, KIND_SECONDS, KIND_TEXT, KIND_BIND, KIND_SWITCH };

struct flag {
    const char *name;
    enum kind kind;
    size_t offset; // into struct launch_options
    int least, most;
    const char *takes, *help;
};

#define FIELD(name) offsetof(struct launch_options, name)

static const struct flag flags[] = {
    {"-n", KIND_NUMBER, FIELD(ranks), 1, ENVIRONMENT_WORLD_MOST, "N",
     "ranks to start on this machine"},
    {"--nproc-per-node", KIND_NUMBER, FIELD(ranks), 1, ENVIRONMENT_WORLD_MOST, "N", "the same"},
    {"--nnodes", KIND_NUMBER, FIELD(nodes), 1, ENVIRONMENT_WORLD_MOST, "M",
     "machines of the job (1), called nodes; each runs launch"},
    {"--node-rank", KIND_NUMBER, FIELD(node_rank), 0, ENVIRONMENT_WORLD_MOST - 1, "R",
     "which of them this is, from 0 (0)"},
    {"--master-addr", KIND_TEXT, FIELD(master), 0, 0, "HOST",
     "where rank 0 listens: an address or a name of node 0 (127.0.0.1)"},
    {"--master-port", KIND_NUMBER, FIELD(master_port), 1, PORT_MOST, "PORT",
     "its port (any free one)"},
    {"--log-dir", KIND_TEXT, FIELD(log_dir), 0, 0, "DIR",
     "also keep each rank's output, unmarked, in DIR/rank-R.log"},
    {"--grace", KIND_SECONDS, FIELD(grace_seconds), 0, GRACE_MOST, "SECONDS",
     "from SIGTERM to SIGKILL when the job is stopped (5)"},
    {"--bind", KIND_BIND, FIELD(bind), 0, 0, "auto|none",
     "cores of its own for each rank, if there are enough (auto)"},
    {"--max-restarts", KIND_NUMBER, FIELD(max_restarts), 0, RESTARTS_MOST, "K",
     "start all ranks again when one has failed, at most K times (0)"},
    {"--help", KIND_SWITCH, FIELD(help), 0, 0, NULL, "show this"},
    {"-h", KIND_SWITCH, FIELD(help), 0, 0, NULL, "the same"},
    {"--version", KIND_SWITCH, FIELD(version), 0, 0, NULL, "show the version"},
};
enum { FLAGS = sizeof flags / sizeof *flags };

void launch_options_help(FILE *out)
{
    fprintf(out,
            "usage: launch -n N [options] program [arguments]\n\n"
            "Starts N ranks of a program, marks every line they print with its rank, and stops "
            "all\nwhen one fails.\n\n");
    for (size_t i = 0; i < FLAGS; i++)
        if (flags[i].help)
            fprintf(out, "  %-16s %-9s %s\n", flags[i].name, flags[i].takes ? flags[i].takes : "",
                    flags[i].help);
    fprintf(
        out,
        "\nWith several machines: the same command on each, but for --node-rank, with -n,\n"
        "--master-addr and --master-port alike, and JOB_TOKEN set alike (32 hexadecimal digits:\n"
        "openssl rand -hex 16). Rank i of node R is rank R * N + i of the job.\n"
        "BIND_ADDRESS, an address or an interface of its machine, says where ranks but 0 listen.\n"
        "\nA job that failed is started again with --max-restarts, unless a rank's code is 2 (a "
        "wrong\n"
        "command line) or 3 (a verification failed), which another try would not change: a "
        "program\n"
        "that saves checkpoints goes on from the last one, as lessons do with --resume auto.\n"
        "Before each start it pauses, 0.05 s at first, then twice as long each time, up to 5 s.\n"
        "With several machines give the same number on each.\n"
        "\nEach rank finds RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR,\n"
        "MASTER_PORT, JOB_TOKEN and RESTART_COUNT (0 at first) in its environment, and unless one\n"
        "of them is set, OMP_NUM_THREADS and OPENBLAS_NUM_THREADS: cores / ranks, at least 1.\n\n"
        "Exit code: 0 when every rank returned 0; else the code of the rank that failed first,\n"
        "128 + signal if it was killed; 127 when the program cannot be started; 2 for a wrong\n"
        "command line; 130, 143, 129 after Ctrl-C, SIGTERM, SIGHUP.\n");
}

/* The flag `text` names, alone or as --flag=value; *value is then what follows the '='. */
static const struct flag *flag_find(const char *text, const char **value)
{
    for (size_t i = 0; i < FLAGS; i++) {
        size_t length = strlen(flags[i].name);
        if (strncmp(text, flags[i].name, length) != 0)
            continue;
        if (text[length] != '\0' && (text[length] != '=' || text[1] != '-'))
            continue;
        *value = text[length] == '=' ? text + length + 1 : NULL;
        return &flags[i];
    }
    return NULL;
}

static int set_number(const struct flag *flag, const char *value, int *number, struct fail *fail)
{
    char *end;
    errno = 0;
    long n = strtol(value, &end, 10);
    if (strspn(value, "0123456789") != strlen(value) || end == value || errno != 0 ||
        n < flag->least || n > flag->most)
        return fail_set(fail, -EINVAL, "%s %s: must be a whole number from %d to %d", flag->name,
                        value, flag->least, flag->most);
    *number = (int)n;
    return 0;
}

static int set_seconds(const struct flag *flag, const char *value, double *seconds,
                       struct fail *fail)
{
    char *end;
    double n = strtod(value, &end);
    if (strspn(value, "0123456789.") != strlen(value) || end == value || *end != '\0' ||
        n < flag->least || n > flag->most)
        return fail_set(fail, -EINVAL, "%s %s: must be a number of seconds from %d to %d",
                        flag->name, value, flag->least, flag->most);
    *seconds = n;
    return 0;
}

static int set_bind(const struct flag *flag, const char *value, bool *bind, struct fail *fail)
{
    *bind = strcmp(value, "auto") == 0;
    if (!*bind && strcmp(value, "none") != 0)
        return fail_set(fail, -EINVAL, "%s %s: must be auto or none", flag->name, value);
    return 0;
}

static int flag_set(const struct flag *flag, const char *value, struct launch_options *options,
                    struct fail *fail)
{
    void *field = (char *)options + flag->offset;
    switch (flag->kind) {
    case KIND_NUMBER:
        return set_number(flag, value, field, fail);
    case KIND_SECONDS:
        return set_seconds(flag, value, field, fail);
    case KIND_TEXT:
        *(const char **)field = value;
        return 0;
    case KIND_BIND:
        return set_bind(flag, value, field, fail);
    case KIND_SWITCH:
        *(bool *)field = true;
        return 0;
    }
    return -EINVAL;
}

static int check_together(const struct launch_options *options, struct fail *fail)
{
    if (options->ranks == 0)
        return fail_set(fail, -EINVAL, "-n is missing: it takes the number of ranks, from 1 to %d",
                        ENVIRONMENT_WORLD_MOST);
    if (!*options->program)
        return fail_set(fail, -EINVAL,
                        "the program is missing: launch -n N [options] program [arguments]");
    if (options->node_rank >= options->nodes)
        return fail_set(fail, -EINVAL, "--node-rank %d: must be from 0 to %d with --nnodes %d",
                        options->node_rank, options->nodes - 1, options->nodes);
    if (options->ranks * options->nodes > ENVIRONMENT_WORLD_MOST)
        return fail_set(fail, -EINVAL, "-n %d --nnodes %d: a job has at most %d ranks",
                        options->ranks, options->nodes, ENVIRONMENT_WORLD_MOST);
    if (options->nodes > 1 && (!options->master || options->master_port == 0))
        return fail_set(
            fail, -EINVAL,
            "--nnodes %d needs --master-addr and --master-port, the same on every machine",
            options->nodes);
    return 0;
}

/* Once for all ranks of this machine: they are given the number. */
static int resolve_master(struct launch_options *options, struct fail *fail)
{
    const char *text = options->master ? options->master : "localhost";
    char who[SETTING_BYTES];
    snprintf(who, sizeof who, "--master-addr is '%s'", text);
    return environment_address_of_host(options->master_address,
                                       &(struct environment_setting){who, text}, options->nodes > 1,
                                       fail);
}

int launch_options_parse(struct launch_options *options, char **argv, struct fail *fail)
{
    *options = (struct launch_options){.nodes = 1, .grace_seconds = 5, .bind = true};
    char **next = argv + 1;
    while (*next && (*next)[0] == '-' && strcmp(*next, "--") != 0) {
        const char *value;
        const struct flag *flag = flag_find(*next, &value);
        if (!flag)
            return fail_set(fail, -EINVAL, "%s: no such flag; launch --help lists them all", *next);
        next++;
        if (flag->takes && !value && !*next)
            return fail_set(fail, -EINVAL, "%s: its value is missing (%s: %s)", flag->name,
                            flag->takes, flag->help);
        if (flag->takes && !value)
            value = *next++;
        int error = flag_set(flag, value, options, fail);
        if (error < 0)
            return error;
    }
    options->program = *next && strcmp(*next, "--") == 0 ? next + 1 : next;
    if (options->help || options->version)
        return 0;
    int error = check_together(options, fail);
    return error < 0 ? error : resolve_master(options, fail);
}
