/* side_by_side: forks a runner per suite, a few at a time. See the header. */
#include "tests/side_by_side.h"
#include "tests/folder.h"
#include "tests/verdict.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct crowd {
    struct side *sides;       // (count)
    struct verdict *verdicts; // (count): shared with the suites' processes
    size_t count, begun, over;
    int ended_by; // the signal that ended all of it; 0: none
    sigset_t ending, before;
};

static int failed_of(const struct verdict *verdict)
{
    return verdict->failures + verdict->errors;
}

static void live(const struct crowd *crowd, size_t index)
{
    const struct side *side = &crowd->sides[index];
    sigprocmask(SIG_SETMASK, &crowd->before, NULL);
    dup2(fileno(side->output), 1);
    dup2(fileno(side->output), 2);
    Suite *suite = side->make(); // which may say that it skips something
    fflush(stdout);
    crowd->verdicts[index] = verdict_of(side->name, suite);
    exit(failed_of(&crowd->verdicts[index]) >
         0); // not _exit: a leak of a suite's own is looked for
}

static void begin(struct crowd *crowd)
{
    size_t index = crowd->begun++;
    struct side *side = &crowd->sides[index];
    side->output = tmpfile();
    fflush(NULL); // or the child would print it as well
    side->pid = side->output ? fork() : -1;
    if (side->pid == 0)
        live(crowd, index);
    if (side->pid < 0) {
        perror("check: cannot start a suite");
        exit(2);
    }
}

static void print_all(FILE *output)
{
    char part[4096];
    size_t length;
    rewind(output);
    while ((length = fread(part, 1, sizeof part, output)) > 0)
        fwrite(part, 1, length, stdout);
    fflush(stdout);
}

static void end(struct crowd *crowd, pid_t pid, int status)
{
    struct side *side = crowd->sides;
    while (side->pid != pid)
        side++;
    side->pid = 0;
    folder_close_all(pid); // of a suite that was ended
    side->failed = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    crowd->over++;
    if (!crowd->ended_by)
        print_all(side->output);
    if (side->failed && !crowd->ended_by && failed_of(&crowd->verdicts[side - crowd->sides]) == 0)
        printf("%s: its process %s %d\n", side->name,
               WIFEXITED(status) ? "left with" : "was ended by signal",
               WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    if (!side->failed)
        fclose(side->output);
}

/* Check kills a suite's tests when the suite is told to end. */
static void heed_signals(struct crowd *crowd)
{
    sigset_t pending;
    sigpending(&pending);
    for (int number = 1; number < NSIG && !crowd->ended_by; number++)
        if (sigismember(&crowd->ending, number) == 1 && sigismember(&pending, number) == 1)
            crowd->ended_by = number;
    for (size_t i = 0; i < crowd->begun && crowd->ended_by; i++)
        if (crowd->sides[i].pid > 0)
            kill(crowd->sides[i].pid, SIGTERM);
}

/* What failed is said again at the end, where nobody has to look for it; then the one line of all. */
static void sum_up(const struct crowd *crowd)
{
    const char *before = ": ";
    struct verdict all = {0};
    for (size_t i = 0; i < crowd->count; i++)
        if (crowd->sides[i].failed)
            print_all(crowd->sides[i].output);
    for (size_t i = 0; i < crowd->count; i++)
        verdict_add(&all, &crowd->verdicts[i]);
    printf("%zu suites, %d checks, %d failed", crowd->count, all.checks, failed_of(&all));
    for (size_t i = 0; i < crowd->count; i++) {
        if (!crowd->sides[i].failed)
            continue;
        printf("%s%s", before, crowd->sides[i].name);
        before = ", ";
    }
    verdict_print_todo(&all);
    printf("\n");
}

static void run_all(struct crowd *crowd, size_t jobs)
{
    static const struct timespec moment = {.tv_nsec = 5 * 1000 * 1000};
    while (crowd->over < (crowd->ended_by ? crowd->begun : crowd->count)) {
        int status;
        pid_t pid = waitpid(-1, &status, WNOHANG);
        if (pid > 0)
            end(crowd, pid, status);
        else if (!crowd->ended_by && crowd->begun < crowd->count &&
                 crowd->begun - crowd->over < jobs)
            begin(crowd);
        else
            nanosleep(&moment, NULL);
        heed_signals(crowd);
    }
}

int side_by_side(struct side *sides, size_t count, size_t jobs)
{
    static const int ending[] = {SIGINT, SIGTERM, SIGHUP};
    size_t bytes = (count + 1) * sizeof(struct verdict);
    struct crowd crowd = {.sides = sides, .count = count};
    crowd.verdicts = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (crowd.verdicts == MAP_FAILED)
        return 2;
    sigemptyset(&crowd.ending);
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++)
        sigaddset(&crowd.ending, ending[i]);
    sigprocmask(SIG_BLOCK, &crowd.ending, &crowd.before);
    run_all(&crowd, jobs);
    if (!crowd.ended_by)
        sum_up(&crowd);
    int failed = 0;
    for (size_t i = 0; i < count; i++)
        failed += sides[i].failed;
    munmap(crowd.verdicts, bytes);
    return crowd.ended_by ? 128 + crowd.ended_by : failed > 0;
}
