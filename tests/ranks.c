/* ranks: forks real ranks and collects how they end. See the header. */
#include "tests/ranks.h"
#include "tests/unwritten.h"

#include "common/clock.h"
#include "common/todo.h"

#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What a child leaves for its parent: in memory they share, so that a child that is killed leaves
 * what it had written so far. */
struct report {
    char text[RANKS_TEXT_BYTES];
    char log[RANKS_TEXT_BYTES];
    bool ended;
};

struct run {
    const struct ranks_plan *plan;
    struct environment environment; // rank 0's
    struct report *reports;         // (world)
    pid_t pids[RANKS_MOST];
    int fds[RANKS_MOST][RANKS_MOST]; // of ranks that are unmet: each one's to each other
};

/* From a place of this process's own: ranks of a test that is over may still call at the port it had. */
int ranks_bind(int *port)
{
    enum { FIRST = 10000, PORTS = 20000 };
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    for (int i = 0; i < PORTS; i++) {
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        ck_assert_int_ge(fd, 0);
        *port = FIRST + (int)(((unsigned)getpid() * 7 + (unsigned)i) % PORTS);
        address.sin_port = htons((uint16_t)*port);
        if (bind(fd, (struct sockaddr *)&address, sizeof address) == 0)
            return fd;
        close(fd);
    }
    ck_abort_msg("no port is free");
}

static bool names_a_stranger(const char *line)
{
    return strstr(line, "dropped a connection from ") &&
           (strstr(line, ": it belongs to another job") || strstr(line, ": it said nothing") ||
            strstr(line, ": it left in the middle of its hello"));
}

bool ranks_quiet(const char *said)
{
    char lines[RANKS_TEXT_BYTES], *rest = lines;
    bool quiet = strlen(said) < sizeof lines;
    snprintf(lines, sizeof lines, "%s", said);
    for (const char *line; quiet && (line = strsep(&rest, "\n"));)
        quiet = line[0] == '\0' || names_a_stranger(line);
    return quiet;
}

void ranks_pause(double seconds)
{
    struct timespec time = {.tv_sec = (time_t)seconds};
    time.tv_nsec = (long)((seconds - (double)time.tv_sec) * 1e9);
    nanosleep(&time, NULL);
}

int ranks_expect(struct ranks_self *self, bool condition, const char *format, ...)
{
    if (condition)
        return 0;
    char text[RANKS_TEXT_BYTES / 4];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fail_set(&self->fail, -1, "rank %d: %s", self->rank, text);
    return 1;
}

static void open_pairs(struct run *run)
{
    int world = run->plan->unmet ? run->plan->world : 0, pair[2];
    for (int low = 0; low < world; low++)
        for (int high = low + 1; high < world; high++) {
            ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
            run->fds[low][high] = pair[0];
            run->fds[high][low] = pair[1];
        }
}

/* All but those of rank `own`: one that is held elsewhere hides a rank's end. */
static void close_pairs(const struct run *run, int own)
{
    int world = run->plan->unmet ? run->plan->world : 0;
    for (int rank = 0; rank < world; rank++)
        for (int peer = 0; peer < world; peer++)
            if (rank != own && rank != peer)
                close(run->fds[rank][peer]);
}

static int open_comm(struct ranks_self *self, const struct run *run)
{
    if (run->plan->unopened)
        return 0;
    if (run->plan->unmet)
        return comm_adopt(&self->comm, &self->environment, &self->config, run->fds[self->rank],
                          &self->fail);
    return comm_open(&self->comm, &self->environment, &self->config, &self->fail);
}

static int run_body(struct ranks_self *self, const struct run *run)
{
    const struct ranks_plan *plan = run->plan;
    if (open_comm(self, run) != 0)
        return 1;
    int code = plan->body(self);
    if (self->comm && self->fail.code == 0 && comm_fail(self->comm)->code)
        self->fail = *comm_fail(self->comm);
    comm_close(self->comm);
    return code;
}

static void give_up_socket(struct environment *environment)
{
    if (environment->rendezvous_fd >= 0)
        close(environment->rendezvous_fd);
    environment->rendezvous_fd = -1;
}

/* The whole life of a child. It never returns into the test. */
static void live(const struct run *run, int rank)
{
    const struct ranks_plan *plan = run->plan;
    struct report *report = &run->reports[rank];
    struct ranks_self self = {.rank = rank,
                              .world = plan->world,
                              .environment = run->environment,
                              .context = plan->context};
    self.environment.rank = self.environment.local_rank = rank;
    if (rank != 0)
        give_up_socket(&self.environment);
    close_pairs(run, rank);
    self.config.timeout_seconds =
        plan->timeout_seconds > 0 ? plan->timeout_seconds : RANKS_NEVER_SECONDS;
    self.config.socket_buffer_bytes = plan->socket_buffer_bytes;
    self.config.transport = plan->transport;
    self.config.link = plan->link;
    self.config.log = fmemopen(report->log, sizeof report->log, "w");
    int code = run_body(&self, run);
    snprintf(report->text, sizeof report->text, "%s", self.fail.text);
    if (self.config.log)
        fclose(self.config.log);
    report->ended = true;
    _exit(code);
}

static void fork_all(struct run *run)
{
    fflush(NULL); // or the children would hold copies of what is not yet written
    for (int rank = 0; rank < run->plan->world; rank++) {
        run->pids[rank] = fork();
        if (run->pids[rank] == 0)
            live(run, rank);
    }
    give_up_socket(&run->environment);
    close_pairs(run, -1);
}

/* 0 while the child lives. */
static bool reap(pid_t pid, int *code)
{
    int status;
    if (waitpid(pid, &status, WNOHANG) != pid)
        return false;
    *code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return true;
}

static void kill_left(const struct run *run)
{
    for (int rank = 0; rank < run->plan->world; rank++)
        if (run->pids[rank] > 0)
            kill(run->pids[rank], SIGKILL);
}

static void wait_all(struct run *run, struct ranks_result *result)
{
    static const struct timespec moment = {.tv_nsec = 500 * 1000};
    double begun = clock_seconds(), limit = RANKS_LIMIT_SECONDS;
    bool killed = false;
    for (int left = run->plan->world; left > 0;) {
        if (!killed && (left <= run->plan->stops || clock_seconds() - begun > limit)) {
            killed = true;
            kill_left(run);
        }
        for (int rank = 0; rank < run->plan->world; rank++) {
            if (run->pids[rank] <= 0 || !reap(run->pids[rank], &result->code[rank]))
                continue;
            if (killed)
                result->code[rank] = RANKS_TIMED_OUT;
            run->pids[rank] = 0;
            left--;
            limit = result->code[rank] == EXIT_TODO ? 0 : limit; // nobody would come for the others
        }
        nanosleep(&moment, NULL);
    }
    result->seconds = clock_seconds() - begun;
}

void ranks_run_plan(const struct ranks_plan *plan, struct ranks_result *result)
{
    struct run run = {.plan = plan};
    size_t reports_bytes = (size_t)plan->world * sizeof *run.reports;
    memset(result, 0, sizeof *result);
    result->world = plan->world;
    run.reports =
        mmap(NULL, reports_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(run.reports, MAP_FAILED);

    struct environment *environment = &run.environment;
    environment->world = environment->local_world = plan->world;
    environment->launched = true;
    snprintf(environment->master_address, sizeof environment->master_address, "127.0.0.1");
    environment->rendezvous_fd = ranks_bind(&environment->master_port);
    if (plan->unlaunched)
        give_up_socket(environment);
    /* A port that is free again may be another test's, whose ranks still call there. */
    uint64_t token = (uint64_t)getpid() << 16 | (unsigned)environment->master_port;
    memcpy(environment->token, &token, sizeof token);

    open_pairs(&run);
    fork_all(&run);
    wait_all(&run, result);
    for (int rank = 0; rank < plan->world; rank++) {
        memcpy(result->text[rank], run.reports[rank].text, RANKS_TEXT_BYTES);
        memcpy(result->log[rank], run.reports[rank].log, RANKS_TEXT_BYTES);
        result->left[rank] = result->code[rank] == 0 && !run.reports[rank].ended;
    }
    munmap(run.reports, reports_bytes);
    for (int rank = 0; rank < plan->world; rank++)
        if (result->code[rank] == EXIT_TODO)
            unwritten_in_child();
}

void ranks_run(int world, ranks_body *body, void *context, struct ranks_result *result)
{
    struct ranks_plan plan = {.world = world, .body = body, .context = context};
    ranks_run_plan(&plan, result);
}

void ranks_assert_ok(const struct ranks_result *result)
{
    char all[RANKS_MOST * 256] = "";
    bool ok = true;
    for (int rank = 0; rank < result->world; rank++) {
        size_t used = strlen(all);
        ok = ok && result->code[rank] == 0 && !result->left[rank];
        if (result->code[rank] || result->left[rank])
            snprintf(all + used, sizeof all - used, "\n  rank %d ended with %d: %.200s", rank,
                     result->code[rank], result->text[rank]);
    }
    ck_assert_msg(ok, "%d ranks:%s", result->world, all);
}
