/* check_zero: is a sharded step lesson 3's, at an all-reduce's price? See lesson04.h. */
#include "tests/grade/lesson04.h"
#include "tests/grade/sharded.h"

enum { STEPS = 3, UPDATES = 5 };

/* A tensor or two in a bucket: some buckets are smaller than the world, most no world divides. */
static const char FLAGS[] = "--batch 13 --steps 9 --first-bucket-kb 0.01 --bucket-kb 0.2";
static const char DIRECT[] = "--batch 13 --steps 9 --bucket-kb 0.2 --algorithm direct";
static const char COMPRESSED[] = "--batch 13 --steps 9 --bucket-kb 0.2 --compress bf16";
static const char ADAM[] = "--batch 13 --steps 9 --bucket-kb 0.2 --optimizer adam";

static int on_ranks(struct grade *grade, ranks_body *body, const char *flags)
{
    struct drawn drawn = drawn_flags(grade, 3, flags);
    return grade_ranks(grade, grade_world(grade), body, &drawn);
}

/* --- the reduce-scatter ---------------------------------------------------------------------- */

static int sums_body(struct ranks_self *self)
{
    float expected[DRAWN_COUNT_MOST];
    struct sharded sharded;
    int wrong = sharded_open(&sharded, self, 1);
    for (size_t i = 0; i < STEPS && !wrong; i++) {
        struct step step = sampler_step(&sharded.run->sampler, i);
        wrong = sharded_expect_grad(&sharded, &step, sharded.run->param, expected) ||
                sharded_reduce(&sharded, &step) || sharded_check_owned(&sharded, expected, i);
    }
    return sharded_close(&sharded, wrong);
}

int zero_sums(struct grade *grade)
{
    return on_ranks(grade, sums_body, FLAGS) || on_ranks(grade, sums_body, DIRECT) ||
           on_ranks(grade, sums_body, COMPRESSED);
}

/* --- the all-gather -------------------------------------------------------------------------- */

/* Each rank writes what it owns, a value for each element, and -1 elsewhere. */
static int shares_body(struct ranks_self *self)
{
    struct sharded sharded;
    int wrong = sharded_open(&sharded, self, 1);
    float *param = sharded.run->param;
    size_t count = sharded.run->model.count;
    for (size_t i = 0; i < count && !wrong; i++)
        param[i] = -1;
    for (size_t bucket = 0; bucket < sharded.zero.ddp.plan.count && !wrong; bucket++) {
        struct slice own = sharded_own(&sharded, bucket, self->rank);
        for (size_t i = own.begin; i < own.begin + own.count; i++)
            param[i] = (float)i + 0.5f;
    }
    wrong = wrong || zero_share(&sharded.zero);
    for (size_t i = 0; i < count && !wrong; i++)
        wrong = ranks_expect(self, param[i] == (float)i + 0.5f,
                             "%s: parameter [%zu] after the all-gather: expected its owner's %g, "
                             "found %g",
                             model_tensor_at(&sharded.run->model, i)->name, i, (double)i + 0.5,
                             (double)param[i]);
    return sharded_close(&sharded, wrong);
}

int zero_shares(struct grade *grade)
{
    return on_ranks(grade, shares_body, FLAGS);
}

/* --- both ------------------------------------------------------------------------------------ */

static int updates_body(struct ranks_self *self)
{
    struct sharded sharded;
    int wrong = sharded_open(&sharded, self, 1) || sharded_check_updates(&sharded, UPDATES);
    return sharded_close(&sharded, wrong);
}

/* Also alone, where everything is owned and nothing sent. */
int zero_updates(struct grade *grade)
{
    struct drawn alone = drawn_flags(grade, 2, ADAM);
    return on_ranks(grade, updates_body, "--batch 13 --steps 9 --momentum 0.9 --bucket-kb 0.2") ||
           on_ranks(grade, updates_body, ADAM) || grade_ranks(grade, 1, updates_body, &alone);
}

/* --- counted --------------------------------------------------------------------------------- */

/* Home, every chunk but its own; and round, every chunk but the next rank's. */
static int bytes_body(struct ranks_self *self)
{
    struct sharded sharded;
    int wrong = sharded_open(&sharded, self, 1) || sharded_check_reduce_bytes(&sharded);
    if (wrong)
        return sharded_close(&sharded, wrong);
    int next = (self->rank + 1) % self->world;
    size_t round = sharded.run->model.count - sharded_count(&sharded, next);
    uint64_t messages = sharded.zero.ddp.plan.count * ((uint64_t)self->world - 1);
    struct sent before = sharded_sent(&sharded);
    wrong = zero_share(&sharded.zero) ||
            sharded_check_sent(&sharded, before, "all-gather of the parameters",
                               (struct sent){round * sizeof(float), messages});
    return sharded_close(&sharded, wrong);
}

int zero_bytes(struct grade *grade)
{
    return on_ranks(grade, bytes_body, FLAGS);
}

/* By the ledger, after an update. */
static int state_body(struct ranks_self *self)
{
    struct sharded sharded;
    if (sharded_open(&sharded, self, 1))
        return 1;
    struct step step = sampler_step(&sharded.run->sampler, 0);
    int wrong = sharded_reduce(&sharded, &step);
    optimizer_step(&sharded.run->optimizer, sharded.run->param, sharded.run->grad,
                   (struct rate){.lr = 0.05f, .clip = 1});
    size_t owned = sharded_count(&sharded, self->rank), expected = 2 * owned * sizeof(float);
    size_t found = sharded.run->memory.now_bytes[MEMORY_OPTIMIZER];
    wrong = wrong ||
            ranks_expect(self, found == expected,
                         "Adam, %zu parameters, %d ranks: expected %zu bytes of state for the %zu "
                         "that it owns, found %zu",
                         sharded.run->model.count, self->world, expected, owned, found);
    return sharded_close(&sharded, wrong);
}

int zero_state(struct grade *grade)
{
    return on_ranks(grade, state_body, ADAM);
}
