/* network: namespaces, veth pairs and a bridge, by way of ip(8). See the header. */
#include "tests/network.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COMMAND_BYTES = 4096 };

/* Quietly; its exit code. Not program_run, for no test is running yet. */
static int code_of(const char *command)
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        int nothing = open("/dev/null", O_RDWR);
        if (dup2(nothing, 1) == 1 && dup2(nothing, 2) == 2)
            execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(126);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status)
                                                                           : -1;
}

bool network_is_possible(char why[NETWORK_WHY_BYTES])
{
    const char *missing = NULL;
    if (getuid() != 0)
        missing = "only root may make network namespaces";
    else if (code_of("ip -V") != 0)
        missing = "the command ip is missing (apt-get install iproute2)";
    else if (code_of("n=staircase-$$-try; ip netns add $n || exit 1; ip netns exec $n "
                     "ip link add name switch type bridge; code=$?; ip netns del $n; exit $code"))
        missing = "this machine makes no network namespaces or bridges"; // as in many containers
    snprintf(why, NETWORK_WHY_BYTES, "%s", missing ? missing : "");
    return !missing;
}

static void run(const char *command)
{
    struct program program;
    program_run(&program, "/", command);
    ck_assert_msg(program.code == 0, "%s\n%s%s", command, program.out, program.err);
    program_close(&program);
}

/* Namespaces whose makers are gone. */
static void remove_leftovers(void)
{
    run("for n in $(ip netns list | sed -n 's/^\\(staircase-[0-9]*-[a-z0-9]*\\).*/\\1/p'); do "
        "pid=${n#staircase-}; kill -0 ${pid%-*} 2>/dev/null || ip netns del $n || true; done");
}

static void add_machine(const struct network *network, int machine)
{
    char command[COMMAND_BYTES];
    snprintf(command, sizeof command,
             "set -e; name=staircase-%d; me=$name-%d; ip netns add $me; ip -n $me link set lo up; "
             "ip -n $me link add name eth0 type veth peer name port%d netns $name-switch; "
             "ip -n $me addr add 10.77.0.%d/24 dev eth0; "
             "ip -n $me addr add 10.78.0.%d/24 dev eth0 label eth0:2; "
             "ip -n $name-switch link set port%d master switch",
             (int)network->owner, machine, machine, machine + 1, machine + 1, machine);
    run(command);
}

void network_open(struct network *network, int machines)
{
    char command[COMMAND_BYTES];
    *network = (struct network){getpid(), machines};
    remove_leftovers();
    snprintf(command, sizeof command,
             "set -e; name=staircase-%d-switch; ip netns add $name; "
             "ip -n $name link add name switch type bridge; ip -n $name link set switch up",
             (int)network->owner);
    run(command);
    for (int i = 0; i < machines; i++)
        add_machine(network, i);
    network_mend(network);
}

void network_close(const struct network *network)
{
    char command[COMMAND_BYTES];
    snprintf(command, sizeof command,
             "for n in $(ip netns list | sed -n 's/^\\(staircase-%d-[a-z0-9]*\\).*/\\1/p'); do "
             "ip netns del $n; done",
             (int)network->owner);
    run(command);
}

void network_start(const struct network *network, int machine, struct program *program,
                   const struct folder *folder, const char *command)
{
    char whole[COMMAND_BYTES];
    /* ip gives the command file systems of its own: nobody else sees these hosts. */
    int length = snprintf(whole, sizeof whole,
                          "exec ip netns exec staircase-%d-%d sh -c 'mount --bind hosts /etc/hosts "
                          "&& exec \"$0\" \"$@\"' %s",
                          (int)network->owner, machine, command);
    ck_assert_int_lt(length, COMMAND_BYTES);
    program_start(program, folder->path, whole);
}

static void set_link(const struct network *network, int machine, enum network_end end,
                     const char *state)
{
    char command[COMMAND_BYTES];
    if (end == NETWORK_AT_SWITCH)
        snprintf(command, sizeof command, "ip -n staircase-%d-switch link set port%d %s",
                 (int)network->owner, machine, state);
    else
        snprintf(command, sizeof command, "ip -n staircase-%d-%d link set eth0 %s",
                 (int)network->owner, machine, state);
    run(command);
}

void network_cut(const struct network *network, int machine, enum network_end end)
{
    set_link(network, machine, end, "down");
}

void network_mend(const struct network *network)
{
    for (int i = 0; i < network->machines; i++) {
        set_link(network, i, NETWORK_AT_MACHINE, "up");
        set_link(network, i, NETWORK_AT_SWITCH, "up");
    }
}
