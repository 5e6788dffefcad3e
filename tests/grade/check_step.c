/* check_step: the ring in training, with a rank that dies, and on slow links. See lesson02.h. */
#include "common/clock.h"
#include "lesson02_allreduce/barrier.h"
#include "lesson02_allreduce/ring.h"
#include "lesson02_allreduce/root.h"
#include "lesson02_allreduce/steps.h"
#include "tests/grade/lesson02.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { COMMAND_BYTES = 512 };

/* What lesson 1 and lesson 2 dump of the same training must be equal but for the order of additions:
 * each tensor's gradients, parameters and moments. Gradients, because Adam hides their scale; with the
 * lesson's own proof off, because it is the grader's word that counts. */
static int compare_dumps(struct grade *grade, const struct folder *folder)
{
    struct program program;
    program_run(&program, folder->path,
                "exec \"${LAUNCH%/*}/verify\" single ring --tolerance 1e-4");
    int wrong = grade_expect(grade, program.code == 0,
                             "expected lesson 1's gradients within 1e-4, found: %.600s%.200s",
                             program.out, program.err);
    program_close(&program);
    return wrong;
}

/* Of one update: the gradient's, by steps.h, and one to each other rank for the loss. */
static size_t messages_due(enum algorithm algorithm, int world, int rank)
{
    enum { TRANSFERS = 256, COUNT = 1000 }; // short, as the model is
    struct transfer transfers[TRANSFERS];
    size_t messages = (size_t)world - 1,
           count = steps_of(algorithm, world, COUNT, transfers, TRANSFERS);
    for (size_t i = 0; i < count && i < TRANSFERS; i++)
        messages += transfers[i].from == rank;
    return messages;
}

/* The gradient is summed once in an update, by the algorithm asked for, and nothing else is sent. */
static int compare_messages(struct grade *grade, const struct folder *folder,
                            enum algorithm algorithm, int world, size_t steps)
{
    enum { STEPS_MOST = 8 };
    double found[STEPS_MOST] = {0};
    int wrong = 0;
    for (int rank = 0; rank < world && !wrong; rank++) {
        char name[64];
        size_t due = messages_due(algorithm, world, rank);
        snprintf(name, sizeof name, "sent.rank-%d.jsonl", rank);
        size_t lines = lesson_values(folder, name, "messages_sent", found, STEPS_MOST);
        for (size_t step = 0; step < steps && !wrong; step++)
            wrong = grade_expect(grade, step < lines && found[step] == (double)due,
                                 "--algorithm %s, %d ranks: rank %d in step %zu: expected %zu "
                                 "messages, the sum's and %d for the loss, found %g",
                                 algorithm_name(algorithm), world, rank, step, due, world - 1,
                                 step < lines ? found[step] : 0);
    }
    return wrong;
}

/* Not the ring, whose own messages are another check's. */
static int step_by(struct grade *grade, const struct folder *folder, enum algorithm algorithm)
{
    enum { STEPS = 2 };
    char arguments[COMMAND_BYTES];
    struct program program;
    int world = grade_world(grade);
    snprintf(arguments, sizeof arguments,
             "--data synthetic --hidden 7 --steps %d --no-verify --metrics sent.jsonl "
             "--algorithm %s",
             STEPS, algorithm_name(algorithm));
    int wrong = grade_lesson(grade, &program, folder, (struct lesson){2, world}, arguments, 0);
    program_close(&program);
    return wrong || compare_messages(grade, folder, algorithm, world, STEPS);
}

/* Two of them, or it might be the one that is always called. */
static int step_by_others(struct grade *grade, const struct folder *folder)
{
    static const enum algorithm others[] = {ALGORITHM_ROOT, ALGORITHM_TREE, ALGORITHM_HALVING,
                                            ALGORITHM_DIRECT};
    size_t first = grade_draw(grade, 0, 3);
    return step_by(grade, folder, others[first]) || step_by(grade, folder, others[(first + 1) % 4]);
}

int ring_step(struct grade *grade)
{
    static const char *const optimizers[] = {"sgd", "adam", "adamw"};
    char arguments[COMMAND_BYTES];
    struct folder folder;
    struct program program;
    size_t steps = grade_draw(grade, 4, 6); // one that reduces in the first only is found
    int length = snprintf(arguments, sizeof arguments,
                          "--data synthetic --hidden 7 --steps %zu --dump-steps %zu --no-verify "
                          "--seed %zu --batch %zu --optimizer %s --dump ",
                          steps, steps, grade_draw(grade, 1, 1000), grade_draw(grade, 20, 60),
                          optimizers[grade_draw(grade, 0, 2)]);
    folder_open(&folder);
    snprintf(arguments + length, sizeof arguments - (size_t)length, "single");
    int wrong = grade_lesson(grade, &program, &folder, (struct lesson){1, 1}, arguments, 0);
    program_close(&program);
    snprintf(arguments + length, sizeof arguments - (size_t)length, "ring");
    if (!wrong) {
        wrong = grade_lesson(grade, &program, &folder, (struct lesson){2, grade_world(grade)},
                             arguments, 0);
        program_close(&program);
    }
    wrong = wrong || compare_dumps(grade, &folder) || step_by_others(grade, &folder);
    folder_close(&folder);
    return wrong;
}

/* --- a rank that dies ------------------------------------------------------------------------ */

/* The sentence of the communicator names the call: all frames carry it. */
static int killed_body(struct ranks_self *self)
{
    static const char CALL[] = "ring all-reduce of 1009 f32";
    enum { CALLS = 1000, BEFORE = 3, COUNT = 1009 };
    const int *victim = self->context;
    float data[COUNT] = {0};
    int error = 0;
    for (int call = 0; call < CALLS && !error; call++) {
        if (call == BEFORE && self->rank == *victim)
            raise(SIGKILL);
        error = ring_allreduce(self->comm, data, data, COUNT, COMM_F32, COMM_SUM);
    }
    const struct fail *fail = comm_fail(self->comm);
    return ranks_expect(self, error < 0,
                        "rank %d was killed: expected an error, found none in %d calls", *victim,
                        CALLS) ||
           ranks_expect(self, error == fail->code,
                        "rank %d was killed: expected the communicator's error %d, found %d",
                        *victim, fail->code, error) ||
           ranks_expect(self, strstr(fail->text, CALL) != NULL,
                        "rank %d was killed: expected word of a %s, found: %s", *victim, CALL,
                        fail->text);
}

int ring_killed(struct grade *grade)
{
    int world = grade_world(grade), victim = (int)grade_draw(grade, 0, (size_t)world - 1);
    struct ranks_plan plan = {.world = world,
                              .body = killed_body,
                              .context = &victim,
                              .unmet = true,
                              .timeout_seconds = GRADE_TIMEOUT_SECONDS};
    return grade_killed(grade, &plan, victim);
}

/* --- slow links ------------------------------------------------------------------------------ */

enum { ROUNDS = 3, SPEED_WORLD = 4 };
static const double MOST_SHARE = 0.7; // of the time by way of rank 0; a ring of 4 takes a quarter

struct race {
    double ring[ROUNDS], root[ROUNDS]; // seconds, of rank 0
};

/* Until every rank is done: rank 0 is soon, where its bytes still wait in its port. */
static double timed(struct ranks_self *self, bool ring, float *data, size_t count, int *error)
{
    double begun = clock_seconds();
    if (!*error)
        *error = (ring ? ring_allreduce : root_allreduce)(self->comm, data, data, count, COMM_F32,
                                                          COMM_SUM);
    if (!*error)
        *error = barrier(self->comm);
    return clock_seconds() - begun;
}

static int compare_times(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* In turns, and the median of each: what else the machine does hits both. */
static int speed_body(struct ranks_self *self)
{
    enum { COUNT = 25003 };
    struct race race;
    float *data = calloc(COUNT, sizeof *data);
    int error = 0;
    for (int round = 0; round < ROUNDS; round++) {
        race.ring[round] = timed(self, true, data, COUNT, &error);
        race.root[round] = timed(self, false, data, COUNT, &error);
    }
    free(data);
    qsort(race.ring, ROUNDS, sizeof *race.ring, compare_times);
    qsort(race.root, ROUNDS, sizeof *race.root, compare_times);
    double ring = race.ring[ROUNDS / 2], root = race.root[ROUNDS / 2];
    return error || ranks_expect(self, self->rank != 0 || ring < MOST_SHARE * root,
                                 "%d floats over links of 20 Mbit/s: expected at most %.1f of the "
                                 "%.3f s by way of rank 0, found %.3f s",
                                 COUNT, MOST_SHARE, root, ring);
}

int ring_speed(struct grade *grade)
{
    struct ranks_plan plan = {
        .world = SPEED_WORLD,
        .body = speed_body,
        .unmet = true,
        .timeout_seconds = GRADE_TIMEOUT_SECONDS,
        .link = {.bytes_per_second = 2.5e6, .latency_seconds = 0.001, .straggler = -1}};
    struct ranks_result result;
    ranks_run_plan(&plan, &result);
    return grade_result(grade, &result);
}
