/* runner: a process for each check. See the header. */
#include "tests/grade/runner.h"
#include "common/clock.h"
#include "common/todo.h"
#include "tests/folder.h"
#include "tests/grade/orphans.h"

#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { FILE_BYTES_MOST = 64 * 1024 * 1024 };

/* What a check leaves for the runner, in memory they share. */
struct left {
    char text[GRADE_TEXT_BYTES];
    bool ended; // it came to its end: a body that calls exit(0) has passed nothing
};

/* Ctrl-C reaches the runner only: a check's process is in a group of its own. */
static volatile sig_atomic_t stopped_by;

static void on_stop(int number)
{
    stopped_by = number;
}

static void on_each_stop(void (*handler)(int))
{
    static const int stops[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++)
        if (signal(stops[i], handler) == SIG_IGN) // nohup
            signal(stops[i], SIG_IGN);
}

/* Dies as it was told to, so that whoever waits for it knows. */
static void stop(void)
{
    fputs("grade: stopped; nothing that it started is left\n", stderr);
    on_each_stop(SIG_DFL);
    raise(stopped_by);
}

/* Another check draws other numbers, whichever are run with it. FNV-1a. */
static uint32_t number_of(const struct check *check)
{
    uint32_t number = 2166136261u;
    for (const char *at = check->task; *at; at++)
        number = (number ^ (unsigned char)*at) * 16777619u;
    for (const char *at = check->name; *at; at++)
        number = (number ^ (unsigned char)*at) * 16777619u;
    return number;
}

/* Check gives its tests no argument, so this process's one check stands here. */
static struct {
    const struct check *check;
    struct grade grade;
    int wrong;
} current;

START_TEST(run_current)
{
    (void)_i;
    current.wrong = current.check->run(&current.grade);
}
END_TEST

/* As a test of Check's, so that the tests' tools may assert. Returns whether it went wrong. */
static int run_as_test(void)
{
    Suite *suite = suite_create("grade");
    TCase *tcase = tcase_create("check");
    SRunner *runner = srunner_create(suite);
    current.wrong = 1;
    tcase_add_test(tcase, run_current);
    suite_add_tcase(suite, tcase);
    srunner_set_fork_status(runner, CK_NOFORK);
    srunner_run(runner, "grade", "check", CK_SILENT); // whatever CK_RUN_CASE says
    TestResult **failures = srunner_failures(runner);
    for (int i = 0; i < srunner_ntests_failed(runner); i++)
        fprintf(stderr, "%s\n", tr_msg(failures[i]));
    free(failures);
    srunner_free(runner);
    return current.wrong;
}

/* The whole life of a check's process. What it prints is kept, to say why it crashed. */
static void live(const struct check *check, uint64_t seed, struct left *left, FILE *said)
{
    static const struct rlimit file = {FILE_BYTES_MOST,
                                       FILE_BYTES_MOST}; // a body may print without end
    int nothing = open("/dev/null", O_RDWR);
    setpgid(0, 0);
    on_each_stop(SIG_DFL);
    setrlimit(RLIMIT_FSIZE, &file);
    dup2(nothing, 0);
    dup2(nothing, 1);
    dup2(fileno(said), 2);
    current.check = check;
    current.grade = (struct grade){
        .rng = {.seed = seed, .stream = RNG_TEST, .sub = number_of(check)}, .text = left->text};
    int wrong = run_as_test();
    left->ended = true;
    _exit(wrong ? 1 : 0);
}

/* False when the limit has passed first. Leaves nothing of it alive, and no folder. */
static bool await(pid_t pid, double limit_seconds, int *status)
{
    static const struct timespec moment = {.tv_nsec = 1000 * 1000};
    double begun = clock_seconds();
    pid_t ended;
    while ((ended = waitpid(pid, status, WNOHANG)) == 0 && !stopped_by &&
           clock_seconds() - begun < limit_seconds)
        nanosleep(&moment, NULL);
    kill(-pid, SIGKILL);
    if (ended == 0)
        waitpid(pid, status, 0);
    orphans_end(); // of a group of their own
    folder_close_all(pid);
    return ended == pid;
}

/* The last line that was written to the standard error, of those with the words, or "". */
static void last_line(FILE *said, const char *words, char *line, int room)
{
    char next[GRADE_TEXT_BYTES];
    line[0] = '\0';
    rewind(said);
    while (fgets(next, sizeof next, said))
        if (next[0] != '\n' && strstr(next, words))
            snprintf(line, (size_t)room, "%.*s", room - 1, next);
    line[strcspn(line, "\n")] = '\0';
}

static void judge(struct outcome *outcome, int status, FILE *said)
{
    static const char unwritten[] = "is not yet written";
    char line[GRADE_TEXT_BYTES / 2];
    bool todo = WIFEXITED(status) && WEXITSTATUS(status) == EXIT_TODO;
    last_line(said, todo ? unwritten : "", line, sizeof line); // other ranks may say more after it
    if (todo) {
        outcome->verdict = VERDICT_UNWRITTEN;
        char *end = strstr(line, unwritten); // what to do about it is said with the task
        if (end)
            end[strlen(unwritten)] = '\0';
        snprintf(outcome->text, sizeof outcome->text, "%s",
                 end ? line : "a task that it needs is not yet written");
    } else if (outcome->text[0] == '\0' && WIFSIGNALED(status)) {
        snprintf(outcome->text, sizeof outcome->text, "expected no crash, found %s%s%s",
                 strsignal(WTERMSIG(status)), line[0] ? "; " : "", line);
    } else if (outcome->text[0] == '\0' && status == 0) {
        snprintf(outcome->text, sizeof outcome->text,
                 "expected the function to return, found that it ended its process");
    } else if (outcome->text[0] == '\0') {
        snprintf(outcome->text, sizeof outcome->text, "expected the check to end well, found: %s",
                 line);
    }
}

void runner_run(const struct check *check, uint64_t seed, struct outcome *outcome)
{
    double limit = check->limit_seconds > 0 ? check->limit_seconds : GRADE_LIMIT_SECONDS;
    struct left *left =
        mmap(NULL, sizeof *left, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    FILE *said = tmpfile();
    *outcome = (struct outcome){.check = check, .seconds = -clock_seconds()};
    if (left == MAP_FAILED || !said) {
        perror("grade: no place for what a check says");
        exit(1);
    }
    on_each_stop(on_stop);
    fflush(NULL);
    orphans_adopt();
    pid_t pid = fork();
    if (pid == 0)
        live(check, seed, left, said);
    int status = 0;
    if (pid > 0)
        setpgid(pid, pid);
    bool in_time = pid > 0 && await(pid, limit, &status);
    if (stopped_by)
        stop();
    outcome->seconds += clock_seconds();
    snprintf(outcome->text, sizeof outcome->text, "%s", left->text);
    if (!in_time)
        snprintf(outcome->text, sizeof outcome->text,
                 "expected an end within %g s, found none: does it wait for ever?", limit);
    if (!in_time || status != 0 || !left->ended) {
        outcome->verdict = VERDICT_LOST;
        judge(outcome, status, said);
    }
    munmap(left, sizeof *left);
    fclose(said);
}
