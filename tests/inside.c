/* inside: a lesson's run within a forked rank. See the header. */
#include "tests/inside.h"

#include "lesson02_allreduce/gather.h"

#include <string.h>

enum { WORDS_MOST = 64 };

/* argv of a lesson. Returns how many words there are. */
static int divide(struct inside *inside, char *words[WORDS_MOST], const char *arguments)
{
    char *rest = inside->words;
    int count = 0;
    snprintf(inside->words, sizeof inside->words, "lesson --quiet --no-verify %s", arguments);
    for (char *word = strtok_r(rest, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        words[count++] = word;
    words[count] = NULL;
    return count;
}

int inside_prepare(struct inside *inside, int lesson, int world, const char *arguments)
{
    char *words[WORDS_MOST];
    int count = divide(inside, words, arguments);
    int error = run_prepare(&inside->run, lesson, count, words);
    inside->run.environment.world = world;
    return error;
}

int inside_open(struct inside *inside, struct ranks_self *self, int lesson, const char *arguments)
{
    struct run *run = &inside->run;
    char *words[WORDS_MOST];
    int count = divide(inside, words, arguments);
    int error = run_open(run, lesson, count, words);
    run->environment = self->environment;
    run->trainer.rank = (size_t)self->rank;
    run->trainer.world = (size_t)self->world;
    run->gather = gather_numbers;
    run->context = self->comm;
    return inside_told(self, inside, error);
}

int inside_told(struct ranks_self *self, const struct inside *inside, int error)
{
    if (error && inside->run.fail.code)
        fail_set(&self->fail, inside->run.fail.code, "%s", inside->run.fail.text);
    return error;
}

void inside_close(struct inside *inside)
{
    inside->run.fail = (struct fail){0}; // the test tells, not the run
    inside->run.samples = 0;             // nor is there a result
    run_close(&inside->run);
}

void inside_gradient(const struct run *run, const struct step *step, float *grad)
{
    struct trainer trainer = run->trainer;
    trainer.listener = (struct model_listener){0};
    trainer.grad = grad;
    trainer_gradient(&trainer, step);
}
