/*
 * The grid of failures: what goes wrong, when, with whom, among how many, on which transport. Every
 * survivor names the guilty rank, soon after a death, at its deadline after a stop; and a rank that
 * only paused is waited for.
 *
 * A cell of the grid is a job of real ranks. Cells run several at a time, for most of them wait.
 */
#include "common/clock.h"
#include "common/todo.h"
#include "lesson02_allreduce/barrier.h"
#include "lesson02_allreduce/ring.h"
#include "tests/ranks.h"
#include "tests/suites.h"
#include "tests/unwritten.h"
#include "tests/watched.h"

#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum action { KILLED, STOPPED, PAUSED, EXIT_0, EXIT_3, ABORTED, ACTIONS };
enum phase { BEFORE_CONNECTING, CONNECTING, IDLE, REDUCE_SCATTER, ALL_GATHER, BARRIER, PHASES };
static const char *const action_names[] = {"SIGKILL", "SIGSTOP", "SIGSTOP, then SIGCONT",
                                           "exit 0",  "exit 3",  "abort"};
static const char *const phase_names[] = {"before connecting", "connecting", "idle",
                                          "reduce-scatter",    "all-gather", "barrier"};

enum { COUNT = 3000, CALLS_BEFORE = 20, CALLS_PAUSED = 60, CALLS_MOST = 1000000 };
static const double PAUSE_SECONDS = 0.3;

/* Where a deadline ends the cell, it is short, but all others must have met before: a machine that
 * does not let them run so soon is given another try, with twice the deadline. Elsewhere there is no
 * deadline: who waited for it would be killed. After a death all survivors know soon; where one was
 * late, for a busy machine does not always let it run, the cell is tried again. A sanitized process
 * takes some ten times as long, and more when it ends. */
static const double TIMEOUT_SECONDS = WATCHED ? 5 : 2, SOON_SECONDS = WATCHED ? 4 : 1;
enum { TRIES = 3, TRIES_TO_BE_SOON = 8 };

/* One cell, and what its ranks share: when the victim acted, and when each survivor knew. */
struct cell {
    enum action action;
    enum phase phase;
    int world, victim;
    enum comm_transport transport;
    double acted, knew[4];
    atomic_int calls; // the victim has made
    bool late;        // all is well, but a survivor of a death did not know soon
    char text[1200];  // what was wrong, "" if nothing
};

/* --- the victim ------------------------------------------------------------------------------ */

/* Woken until it says so: a first call may come before a slow process has stopped. */
static void stop_for_a_while(void)
{
    pid_t self = getpid(), waker = fork();
    if (waker == 0) {
        while (getppid() == self) {
            ranks_pause(PAUSE_SECONDS);
            kill(self, SIGCONT);
        }
        _exit(0);
    }
    raise(SIGSTOP);
    kill(waker, SIGKILL);
    waitpid(waker, NULL, 0);
}

static void act(struct cell *cell)
{
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    cell->acted = clock_seconds();
    if (cell->action == KILLED)
        kill(getpid(), SIGKILL);
    else if (cell->action == STOPPED)
        kill(getpid(), SIGSTOP);
    else if (cell->action == PAUSED)
        stop_for_a_while();
    else if (cell->action == ABORTED)
        abort();
    else
        _exit(cell->action == EXIT_3 ? 3 : 0);
}

/* In the middle of whatever call the victim is in by then. */
static void *act_in_a_call(void *argument)
{
    struct cell *cell = argument;
    while (atomic_load(&cell->calls) < CALLS_BEFORE)
        ranks_pause(0.0002);
    act(cell);
    return NULL;
}

/* Half of a connection: rank 0 listens and hears nobody out; others say half a hello. */
static void half_connect(const struct ranks_self *self)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)self->environment.master_port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (self->rank == 0) {
        listen(self->environment.rendezvous_fd, 16);
        ranks_pause(0.05);
        return;
    }
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    for (int i = 0; i < 100 && connect(fd, (struct sockaddr *)&address, sizeof address); i++)
        ranks_pause(0.005);
    send(fd, "STIR\2\0", 6, MSG_NOSIGNAL);
}

/* --- every rank ------------------------------------------------------------------------------ */

static int make_call(struct ranks_self *self, enum phase phase, float *data)
{
    if (phase == REDUCE_SCATTER)
        return ring_reduce_scatter(self->comm, data, COUNT, COMM_F32, COMM_SUM);
    if (phase == ALL_GATHER)
        return ring_all_gather(self->comm, data, COUNT, COMM_F32);
    return barrier(self->comm);
}

static int check_sum(struct ranks_self *self, float *data)
{
    for (int i = 0; i < COUNT; i++)
        data[i] = (float)(self->rank + i % 7);
    int error = ring_allreduce(self->comm, data, data, COUNT, COMM_F32, COMM_SUM);
    int ranks = self->world * (self->world - 1) / 2, wrong = 0;
    for (int i = 0; i < COUNT && !error; i++)
        wrong += data[i] != (float)(ranks + self->world * (i % 7));
    return error ? error : ranks_expect(self, wrong == 0, "%d wrong sums", wrong);
}

static int make_calls(struct ranks_self *self, struct cell *cell, float *data)
{
    bool victim = self->rank == cell->victim, in_call = cell->phase > IDLE;
    int most = cell->action == PAUSED ? CALLS_PAUSED : CALLS_MOST, error = 0;
    pthread_t actor;
    if (victim && in_call)
        pthread_create(&actor, NULL, act_in_a_call, cell);
    for (int call = 0; call < most && !error; call++) {
        if (victim && cell->phase == IDLE && call == CALLS_BEFORE)
            act(cell);
        error = make_call(self, cell->phase, data);
        if (victim)
            atomic_fetch_add(&cell->calls, 1);
    }
    if (victim && in_call)
        pthread_join(actor, NULL);
    return error ? error : check_sum(self, data);
}

static int cell_body(struct ranks_self *self)
{
    struct cell *cell = self->context;
    float *data = calloc(COUNT, sizeof *data);
    if (self->rank == cell->victim && cell->phase == CONNECTING)
        half_connect(self);
    if (self->rank == cell->victim && cell->phase < IDLE)
        act(cell);
    self->config.transport = cell->transport;
    int error = comm_open(&self->comm, &self->environment, &self->config, &self->fail);
    if (!error)
        error = make_calls(self, cell, data);
    cell->knew[self->rank] = clock_seconds();
    free(data);
    return error ? 1 : 0;
}

/* --- what must come of it -------------------------------------------------------------------- */

/* "rank 2 closed the connection": the guilty rank, and what it did. */
static bool names_the_guilty(const char *text, int victim)
{
    static const char *const deeds[] = {"closed the connection",
                                        "has not joined",
                                        "has sent",
                                        "has taken",
                                        "has not come",
                                        "of ",
                                        "is missing",
                                        "does not answer"};
    char name[32];
    snprintf(name, sizeof name, "rank %d ", victim);
    for (const char *at = strstr(text, name); at; at = strstr(at + 1, name))
        for (size_t i = 0; i < sizeof deeds / sizeof *deeds; i++)
            if (strncmp(at + strlen(name), deeds[i], strlen(deeds[i])) == 0)
                return true;
    return false;
}

static bool is_death(const struct cell *cell)
{
    return cell->action != STOPPED && cell->action != PAUSED;
}

static int expected_end(const struct cell *cell)
{
    static const int ends[] = {[KILLED] = 128 + SIGKILL,
                               [STOPPED] = RANKS_TIMED_OUT,
                               [EXIT_3] = 3,
                               [ABORTED] = 128 + SIGABRT};
    return ends[cell->action];
}

/* Somebody's end shows the moment the system closes its sockets. */
static bool shows_at_once(const struct cell *cell)
{
    return is_death(cell) && cell->phase >= IDLE;
}

static bool has_deadline(const struct cell *cell)
{
    return cell->action != PAUSED && !shows_at_once(cell);
}

/* Empty when all is well. */
static void judge_rank(struct cell *cell, const struct ranks_result *result, int rank)
{
    char *text = cell->text;
    size_t room = sizeof cell->text;
    double seconds = cell->knew[rank] - cell->acted;
    bool victim = rank == cell->victim;
    if (cell->action == PAUSED || victim) {
        int expected = cell->action == PAUSED ? 0 : expected_end(cell);
        if (result->code[rank] != expected)
            snprintf(text, room, "rank %d ended with %d, not %d: %.500s", rank, result->code[rank],
                     expected, result->text[rank]);
    } else if (result->code[rank] != 1) {
        snprintf(text, room, "rank %d ended with %d, not 1: %.500s", rank, result->code[rank],
                 result->text[rank]);
    } else if (!names_the_guilty(result->text[rank], cell->victim)) {
        snprintf(text, room, "rank %d blames another: %.800s", rank, result->text[rank]);
    } else if (shows_at_once(cell) && seconds > SOON_SECONDS) {
        cell->late = true;
        snprintf(text, room, "rank %d knew after %.2f s, and so in every try", rank, seconds);
    }
}

/* Only what a busy machine may explain. */
static bool may_try_again(const struct cell *cell, int tries)
{
    if (has_deadline(cell))
        return cell->text[0] && tries < TRIES;
    return cell->late && tries < TRIES_TO_BE_SOON;
}

/* In a process of its own. */
static void run_cell(struct cell *cell)
{
    struct ranks_plan plan = {.world = cell->world,
                              .body = cell_body,
                              .context = cell,
                              .stops = cell->action == STOPPED,
                              .unopened = true};
    struct ranks_result result;
    int tries = 0;
    do {
        if (has_deadline(cell))
            plan.timeout_seconds = TIMEOUT_SECONDS * (1 << tries);
        cell->text[0] = 0;
        cell->late = false;
        atomic_store(&cell->calls, 0);
        ranks_run_plan(&plan, &result);
        for (int rank = 0; rank < cell->world && !cell->text[0]; rank++)
            judge_rank(cell, &result, rank);
    } while (may_try_again(cell, ++tries));
}

enum { CELLS_MOST = 64 };

/* Most of a deadline's time is waiting; who is to hear soon is not to be kept from the processor. */
static size_t at_a_time(const struct cell *cell)
{
    return cell->action == STOPPED || cell->phase < IDLE ? CELLS_MOST : 4;
}

static void run_cells(struct cell *cells, size_t count)
{
    size_t begun = 0, running = 0;
    bool unwritten = false;
    while (begun < count || running > 0) {
        if (begun < count && running < at_a_time(&cells[begun])) {
            pid_t pid = fork();
            ck_assert_int_ge(pid, 0);
            if (pid == 0) {
                run_cell(&cells[begun]);
                _exit(0);
            }
            begun++;
            running++;
            continue;
        }
        int status;
        if (waitpid(-1, &status, 0) <
            0) // ck_assert would mark this place, over an unwritten task's
            ck_abort();
        unwritten |= WIFEXITED(status) && WEXITSTATUS(status) == EXIT_TODO;
        running--;
    }
    if (unwritten)
        unwritten_in_child();
}

/* Victims 0, the middle one and the last; worlds 2 to 4; both transports. */
static size_t fill(struct cell *cells, enum action action, enum phase phase)
{
    size_t count = 0;
    for (int transport = COMM_TCP; transport <= COMM_UNIX; transport++)
        for (int world = 2; world <= 4; world++)
            for (int which = 0; which < 3; which++) {
                int victim = which * (world - 1) / 2;
                if (world == 2 && which == 1)
                    continue;
                cells[count++] = (struct cell){.action = action,
                                               .phase = phase,
                                               .world = world,
                                               .victim = victim,
                                               .transport = (enum comm_transport)transport};
            }
    return count;
}

/* Every process of a cell holds one end of a pipe; it ends when none is left, and with the last one
 * go its ports and its Unix sockets, whose names are in no folder. */
static void assert_nothing_is_left(int lifeline)
{
    struct pollfd end = {.fd = lifeline, .events = POLLIN};
    char byte;
    ck_assert_msg(poll(&end, 1, 60000) == 1, "a process is left");
    ck_assert_int_eq(read(lifeline, &byte, 1), 0);
    close(lifeline);
}

START_TEST(whatever_a_rank_does_all_others_name_it_and_go)
{
    enum action action = (enum action)(_i / PHASES);
    enum phase phase = (enum phase)(_i % PHASES);
    size_t bytes = CELLS_MOST * sizeof(struct cell);
    struct cell *cells =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(cells, MAP_FAILED);
    int lifeline[2];
    ck_assert_int_eq(pipe(lifeline), 0);
    size_t count = fill(cells, action, phase);
    run_cells(cells, count);
    close(lifeline[1]);
    for (size_t i = 0; i < count; i++)
        ck_assert_msg(cells[i].text[0] == 0, "%s, %s, rank %d of %d over %s: %s",
                      action_names[action], phase_names[phase], cells[i].victim, cells[i].world,
                      cells[i].transport == COMM_UNIX ? "unix" : "tcp", cells[i].text);
    assert_nothing_is_left(lifeline[0]);
    munmap(cells, bytes);
}
END_TEST

/* --- a rank that waits ----------------------------------------------------------------------- */

static double processor_seconds(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

static int waiting_body(struct ranks_self *self)
{
    if (self->rank == 1)
        ranks_pause(6);
    double begun = clock_seconds(), used = processor_seconds();
    int error = barrier(self->comm);
    used = processor_seconds() - used;
    double waited = clock_seconds() - begun;
    if (error || self->rank == 1)
        return error != 0;
    return ranks_expect(self, waited > 2, "waited only %.2f s", waited) ||
           ranks_expect(self, used < 0.05 * waited, "%.2f s of processor time in %.1f s of waiting",
                        used, waited);
}

START_TEST(a_rank_that_waits_some_seconds_uses_little_processor_time_and_says_for_whom)
{
    struct ranks_plan plan = {.world = 3,
                              .body = waiting_body,
                              .timeout_seconds = 8,
                              .transport = _i ? COMM_UNIX : COMM_TCP};
    struct ranks_result result;
    ranks_run_plan(&plan, &result);
    ranks_assert_ok(&result);
    ck_assert_ptr_nonnull(strstr(result.log[2], "rank 1 has not joined for "));
    ck_assert_ptr_nonnull(strstr(result.log[2], "call 1: direct barrier"));
    ck_assert_msg(ranks_quiet(result.log[1]), "rank 1: expected nothing, found: %s", result.log[1]);
}
END_TEST

Suite *failures_suite(void)
{
    Suite *suite = suite_create("failures");
    TCase *grid = tcase_create("grid");
    tcase_set_timeout(grid, 120);
    watched_add_rows(grid, whatever_a_rank_does_all_others_name_it_and_go, ACTIONS * PHASES);
    tcase_add_loop_test(
        grid, a_rank_that_waits_some_seconds_uses_little_processor_time_and_says_for_whom, 0, 2);
    suite_add_tcase(suite, grid);
    return suite;
}
