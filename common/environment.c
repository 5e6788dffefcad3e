/*
 * environment: the variables of four launchers, read into one struct.
 *
 * Each launcher names the same four numbers in its own way (the table below). The first one that
 * set its rank or its world size is believed, and only that one: half of one launcher's variables
 * and half of another's never make a rank. Whatever cannot be meant is refused here, in the first
 * millisecond, because every such mistake would otherwise end in ranks that wait for each other.
 */
#include "common/environment.h"
#include "common/compare.h"
#include "common/environment_address.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* PyTorch's default, for launchers that set no port. */
enum { DEFAULT_PORT = 29500, PORT_MOST = 65535, SETTING_BYTES = 320 };

struct launcher {
    const char *rank, *world, *local_rank, *local_world;
    const char *mark; // set only in processes it really started, or NULL
    const char *job;  // this job's name among all of its jobs
};

/* Slurm: inside an allocation (salloc, sbatch) SLURM_NTASKS is set for every command; only a step,
 * that is srun, starts ranks. torchrun and our own launch come first: they may run inside
 * others. */
static const struct launcher launchers[] = {
    {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", NULL, "TORCHELASTIC_RUN_ID"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE", NULL, "PMIX_NAMESPACE"},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", NULL, NULL},
    {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_NTASKS_PER_NODE", "SLURM_STEP_ID",
     "SLURM_JOB_ID"},
};

static const struct launcher *launcher_find(void)
{
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        const struct launcher *l = &launchers[i];
        if ((getenv(l->rank) || getenv(l->world)) && (!l->mark || getenv(l->mark)))
            return l;
    }
    return NULL;
}

/* A whole number in least..most, and nothing else: no blanks, no junk behind it. */
static int read_number(int *number, const char *name, int least, int most, const char *meaning,
                       struct fail *fail)
{
    const char *text = getenv(name);
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    bool digits = isdigit((unsigned char)text[0]) || (text[0] == '-' && text[1] != '\0');
    if (!digits || *end != '\0' || errno != 0 || value < least || value > most)
        return fail_set(fail, -EINVAL, "%s is '%s', but %s must be a whole number from %d to %d",
                        name, text, meaning, least, most);
    *number = (int)value;
    return 0;
}

static int read_world(struct environment *e, const struct launcher *l, struct fail *fail)
{
    const char *set = getenv(l->rank) ? l->rank : l->world;
    const char *unset = getenv(l->rank) ? l->world : l->rank;
    if (!getenv(unset))
        return fail_set(fail, -EINVAL,
                        "%s is not set, but %s is '%s': set both (%s is this process's number, "
                        "from 0 to %s - 1), or neither to run alone, or start the program with "
                        "build/launch",
                        unset, set, getenv(set), l->rank, l->world);
    int error =
        read_number(&e->world, l->world, 1, ENVIRONMENT_WORLD_MOST, "the number of ranks", fail);
    if (error < 0)
        return error;
    char meaning[64];
    snprintf(meaning, sizeof meaning, "a rank of %s=%d", l->world, e->world);
    return read_number(&e->rank, l->rank, 0, e->world - 1, meaning, fail);
}

/* Where a launcher does not say, all ranks are taken to be on this machine. */
static int read_local(struct environment *e, const struct launcher *l, struct fail *fail)
{
    int error = 0;
    e->local_world = e->world;
    if (getenv(l->local_world))
        error = read_number(&e->local_world, l->local_world, 1, e->world,
                            "the number of ranks on this machine", fail);
    if (error < 0)
        return error;
    e->local_rank = e->rank % e->local_world;
    if (getenv(l->local_rank))
        error = read_number(&e->local_rank, l->local_rank, 0, e->local_world - 1,
                            "a rank on this machine", fail);
    return error;
}

static int read_address(struct environment *e, struct fail *fail)
{
    char who[SETTING_BYTES];
    const char *text = getenv("MASTER_ADDR");
    snprintf(who, sizeof who, "MASTER_ADDR is '%s'", text ? text : "");
    return environment_address_of_host(
        e->master_address, &(struct environment_setting){who, text ? text : "localhost"},
        e->world > e->local_world, fail);
}

/* gloo and NCCL take an interface for it, in GLOO_SOCKET_IFNAME and NCCL_SOCKET_IFNAME. */
static int read_bind(struct environment *e, struct fail *fail)
{
    char who[SETTING_BYTES];
    const char *text = getenv("BIND_ADDRESS");
    if (!text)
        return 0;
    snprintf(who, sizeof who, "BIND_ADDRESS is '%s'", text);
    int error = environment_address_to_bind(e->bind_address,
                                            &(struct environment_setting){who, text}, fail);
    if (error == 0 && e->world > e->local_world &&
        environment_address_is_loopback(e->bind_address) &&
        !environment_address_is_loopback(e->master_address))
        return fail_set(fail, -EINVAL,
                        "%s, which only this machine reaches, but there are ranks on others: %d "
                        "of %d are here",
                        who, e->local_world, e->world);
    return error;
}

/* torchrun's own process may listen at MASTER_PORT: a store that PyTorch's ranks would share. */
static int check_store(struct fail *fail)
{
    const char *store = getenv("TORCHELASTIC_USE_AGENT_STORE");
    if (!store || strcmp(store, "True") != 0 || getenv("RENDEZVOUS_FD") || getenv("JOB_TOKEN"))
        return 0;
    return fail_set(fail, -EINVAL,
                    "TORCHELASTIC_USE_AGENT_STORE is 'True': torchrun itself listens at "
                    "MASTER_PORT, where rank 0 must. Start it with --standalone and with "
                    "TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1 set, or start the ranks with "
                    "build/launch");
}

static int read_port(struct environment *e, struct fail *fail)
{
    int error = e->world > 1 ? check_store(fail) : 0;
    if (error < 0)
        return error;
    if (getenv("MASTER_PORT"))
        return read_number(&e->master_port, "MASTER_PORT", 1, PORT_MOST, "a port", fail);
    e->master_port = e->world > 1 ? DEFAULT_PORT : 0;
    return 0;
}

static int read_socket(struct environment *e, struct fail *fail)
{
    const char *text = getenv("RENDEZVOUS_FD");
    e->rendezvous_fd = -1;
    if (!text)
        return 0;
    int error =
        read_number(&e->rendezvous_fd, "RENDEZVOUS_FD", 0, 1 << 20, "a file descriptor", fail);
    if (error < 0)
        return error;
    int listening = 0;
    socklen_t size = sizeof listening;
    if (getsockopt(e->rendezvous_fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) < 0 ||
        !listening)
        return fail_set(fail, -EINVAL,
                        "RENDEZVOUS_FD is '%s', but must be an open listening socket, which "
                        "build/launch hands to rank 0 alone: unset it",
                        text);
    return 0;
}

static int hexadecimal(char c)
{
    if (!isxdigit((unsigned char)c))
        return -1;
    return isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10;
}

/* Two jobs that meet at the default port by accident are not to take each other's ranks. */
static void name_job(struct environment *e, const struct launcher *launcher)
{
    const char *job = launcher && launcher->job ? getenv(launcher->job) : NULL;
    uint64_t hash = job ? compare_hash(job, strlen(job)) : 0;
    memcpy(e->token, &hash, sizeof hash);
}

static int read_token(struct environment *e, const struct launcher *launcher, struct fail *fail)
{
    const char *text = getenv("JOB_TOKEN");
    if (!text) {
        name_job(e, launcher);
        return 0;
    }
    bool good = strlen(text) == 2 * sizeof e->token;
    for (size_t i = 0; good && i < ENVIRONMENT_TOKEN_BYTES; i++) {
        int high = hexadecimal(text[2 * i]), low = hexadecimal(text[2 * i + 1]);
        good = high >= 0 && low >= 0;
        e->token[i] = good ? (uint8_t)(high << 4 | low) : 0;
    }
    if (!good)
        return fail_set(fail, -EINVAL,
                        "JOB_TOKEN is '%s', but must be %d hexadecimal digits, the same on every "
                        "rank, or unset",
                        text, 2 * ENVIRONMENT_TOKEN_BYTES);
    return 0;
}

int environment_read(struct environment *environment, struct fail *fail)
{
    struct environment e = {.world = 1, .local_world = 1, .rendezvous_fd = -1};
    const struct launcher *launcher = launcher_find();
    int error = 0;
    e.launched = launcher != NULL;
    if (launcher)
        error = read_world(&e, launcher, fail);
    if (error)
        e.world = 1; // nobody is to speak in the name of a rank that is not known
    if (launcher && error == 0)
        error = read_local(&e, launcher, fail);
    if (error == 0)
        error = read_address(&e, fail);
    if (error == 0)
        error = read_bind(&e, fail);
    if (error == 0)
        error = read_port(&e, fail);
    if (error == 0)
        error = read_socket(&e, fail);
    if (error == 0)
        error = read_token(&e, launcher, fail);
    *environment = e;
    return error;
}
