/* Shards tile the slab for any world, and sharded training is lesson 3's, bit for bit. */
#include "lesson04_zero/zero.h"
#include "lesson01_single/norm.h"
#include "lesson02_allreduce/gather.h"
#include "lesson02_allreduce/ring.h"
#include "tests/inside.h"
#include "tests/lessons.h"
#include "tests/suites.h"
#include "tests/watched.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

enum { COUNT_MOST = 2048, UPDATES = 4, WALKS = 5 };

static const int worlds[] = {1, 2, 3, 5, 8};
enum { WORLDS = sizeof worlds / sizeof *worlds };

/* A lesson 4 with everything in the hand. */
struct bench {
    struct ranks_self *self;
    struct inside inside;
    struct run *run;
    struct zero zero;
};

static int bench_open(struct bench *bench, struct ranks_self *self, const char *arguments)
{
    *bench = (struct bench){.self = self, .run = &bench->inside.run};
    struct run *run = bench->run;
    int wrong = inside_open(&bench->inside, self, 4, arguments);
    if (!wrong)
        wrong = zero_init(&bench->zero, run, self->comm) ||
                run_start(run, bench->zero.shard.owned, bench->zero.shard.owned_count) ||
                zero_start(&bench->zero);
    return inside_told(self, &bench->inside, wrong);
}

static void bench_close(struct bench *bench)
{
    zero_stop(&bench->zero);
    inside_close(&bench->inside);
}

/* --- shards ---------------------------------------------------------------------------------- */

/* A linear model of `count` parameters: count - 1 features and a bias. */
static void write_line(const struct folder *folder, size_t count, char path[512])
{
    char text[512] = "";
    for (size_t row = 0; row < 8; row++) {
        for (size_t i = 0; i + 1 < count; i++)
            lesson_row(text, sizeof text, (i + row) % 3 ? "1," : "2,");
        lesson_row(text, sizeof text, row % 2 ? "0.5\n" : "-1.5\n");
    }
    folder_write(folder, "line.csv", text, strlen(text), false, path);
}

/* owners[i]: how many ranks own element i. */
static int count_owners(struct bench *bench, float *owners)
{
    size_t end = 0;
    for (size_t i = 0; i < bench->zero.shard.owned_count; i++) {
        struct slice owned = bench->zero.shard.owned[i];
        if (owned.begin < end)
            return ranks_expect(bench->self, false, "owned slices do not ascend");
        end = owned.begin + owned.count;
        for (size_t j = owned.begin; j < end; j++)
            owners[j]++;
    }
    return ring_allreduce(bench->self->comm, owners, owners, bench->run->model.count, COMM_F32,
                          COMM_SUM);
}

/* A balanced split: no rank has more than one element per bucket more than another. */
static int check_counts(struct bench *bench)
{
    struct run *run = bench->run;
    double mine = (double)run->optimizer.count, all[RANKS_MOST], total = 0;
    double least, most;
    int wrong = gather_numbers(bench->self->comm, &mine, 1, all, &bench->self->fail);
    least = most = all[0];
    for (int rank = 0; rank < bench->self->world; rank++) {
        total += all[rank];
        least = all[rank] < least ? all[rank] : least;
        most = all[rank] > most ? all[rank] : most;
    }
    return wrong ||
           ranks_expect(bench->self, total == (double)run->model.count, "%g owned", total) ||
           ranks_expect(bench->self, most - least <= (double)bench->zero.ddp.plan.count,
                        "one rank owns %g, another %g", least, most) ||
           ranks_expect(bench->self,
                        run->memory.now_bytes[MEMORY_OPTIMIZER] ==
                            sizeof(float) * run->optimizer.states * run->optimizer.count,
                        "the ledger counts %zu bytes", run->memory.now_bytes[MEMORY_OPTIMIZER]);
}

/* The whole parameters of any stage. */
static int gather_param(struct bench *bench, float *whole)
{
    return zero_gather_param(&bench->zero, whole);
}

/* A step's gradient, up to the owned sums. */
static int reduce_gradient(struct bench *bench, const struct step *step)
{
    zero_begin(&bench->zero);
    trainer_gradient(&bench->run->trainer, step);
    return zero_wait(&bench->zero);
}

/* One update: a rank that owns nothing takes part too. */
static int check_update(struct bench *bench)
{
    float before[COUNT_MOST], after[COUNT_MOST], sum[COUNT_MOST] = {0};
    struct run *run = bench->run;
    struct step step = sampler_step(&run->sampler, 0);
    int wrong = gather_param(bench, before) || reduce_gradient(bench, &step);
    if (wrong)
        return wrong;
    optimizer_step(&run->optimizer, run->param, run->grad, (struct rate){.lr = 0.1f, .clip = 1});
    wrong = zero_share(&bench->zero) || gather_param(bench, after) ||
            ring_allreduce(bench->self->comm, after, sum, run->model.count, COMM_F32, COMM_SUM);
    for (size_t i = 0; i < run->model.count && !wrong; i++) {
        double times = (double)bench->self->world, difference = sum[i] - times * after[i];
        wrong = ranks_expect(bench->self, difference < 1e-5 && difference > -1e-5,
                             "ranks differ at %zu", i);
    }
    return wrong || ranks_expect(bench->self, after[0] != before[0], "nothing was updated");
}

static int shards_body(struct ranks_self *self)
{
    float owners[COUNT_MOST] = {0};
    struct bench bench;
    int wrong = bench_open(&bench, self, self->context);
    if (!wrong)
        wrong = count_owners(&bench, owners);
    for (size_t i = 0; i < bench.run->model.count && !wrong; i++)
        wrong =
            ranks_expect(self, owners[i] == 1, "element %zu has %g owners", i, (double)owners[i]);
    if (!wrong)
        wrong = check_counts(&bench) || check_update(&bench);
    inside_told(self, &bench.inside, wrong);
    bench_close(&bench);
    return wrong ? 1 : 0;
}

START_TEST(any_count_is_shared_out_among_any_world)
{
    static const struct {
        size_t count;
        int world;
    } rows[] = {{10, 8}, {19, 8}, {7, 3}, {3, 5}, {2, 8}, {10, 2}, {19, 5}, {7, 1}};
    char path[512], text[768];
    struct folder folder;
    struct ranks_result result;
    folder_open(&folder);
    write_line(&folder, rows[_i / 2 % 8].count, path);
    snprintf(text, sizeof text,
             "--data %s --task regress --hidden none --batch 4 --steps 2 --optimizer adam "
             "--bucket-kb %s --persist-kb 0 --stage %d",
             path, _i % 2 ? "0.004" : "1", 1 + _i / 16);
    ranks_run(rows[_i / 2 % 8].world, shards_body, text, &result);
    folder_close(&folder);
    ranks_assert_ok(&result);
}
END_TEST

/* --- norm ------------------------------------------------------------------------------------ */

/* Lesson 3's gradient: lesson 2's ring, bucket by bucket. */
static int whole_gradient(struct bench *bench, const struct step *step, float *grad)
{
    float param[COUNT_MOST];
    int error = gather_param(bench, param);
    struct trainer alone = bench->run->trainer;
    alone.listener = (struct model_listener){0};
    alone.places = NULL;
    alone.param = param;
    alone.grad = grad;
    trainer_gradient(&alone, step);
    for (size_t i = 0; i < bench->zero.ddp.plan.count && !error; i++) {
        struct slice slice = bench->zero.ddp.plan.buckets[i].slice;
        error = ring_allreduce(bench->self->comm, grad + slice.begin, grad + slice.begin,
                               slice.count, COMM_F32, COMM_SUM);
    }
    return error;
}

static int norm_body(struct ranks_self *self)
{
    float whole[COUNT_MOST];
    struct bench bench;
    int wrong = bench_open(&bench, self, self->context);
    for (size_t i = 0; i < UPDATES && !wrong; i++) {
        double norm = 0, expected;
        struct step step = sampler_step(&bench.run->sampler, i);
        wrong = reduce_gradient(&bench, &step) || zero_norm(&bench.zero, &norm) ||
                whole_gradient(&bench, &step, whole);
        expected = norm_of(whole, bench.run->model.count);
        if (!wrong)
            wrong = ranks_expect(self, norm == expected && norm > 0, "step %zu: %.17g, not %.17g",
                                 i, norm, expected);
    }
    bench_close(&bench);
    return wrong ? 1 : 0;
}

START_TEST(the_norm_of_the_shards_is_the_norm_of_the_whole_bit_for_bit)
{
    static const char *const rules[2] = {
        "--hidden 7 --batch 24 --clip 1 --steps 4 --bucket-kb 1",
        "--data synthetic --batch 9 --clip 1 --steps 4 --bucket-kb 0.004",
    };
    char text[128];
    struct ranks_result result;
    snprintf(text, sizeof text, "%s --stage %d", rules[_i / WORLDS % 2], 1 + _i / (2 * WORLDS));
    ranks_run(worlds[_i % WORLDS], norm_body, text, &result);
    ranks_assert_ok(&result);
}
END_TEST

/* --- gathering --------------------------------------------------------------------------------- */

static int gather_body(struct ranks_self *self)
{
    struct bench bench;
    float whole[COUNT_MOST] = {0};
    int wrong = bench_open(&bench, self, "--hidden 9 --steps 2 --optimizer adamw --bucket-kb 1");
    const struct shard *shard = &bench.zero.shard;
    for (size_t i = 0; i < shard->owned_count; i++)
        for (size_t j = 0; j < shard->owned[i].count; j++)
            whole[shard->owned[i].begin + j] = (float)(shard->owned[i].begin + j) + 0.5f;
    if (!wrong)
        wrong = shard_gather(shard, self->comm, whole);
    for (size_t i = 0; i < bench.run->model.count && !wrong; i++)
        wrong =
            ranks_expect(self, whole[i] == (float)i + 0.5f, "element %zu: %g", i, (double)whole[i]);
    bench_close(&bench);
    return wrong ? 1 : 0;
}

START_TEST(what_is_owned_is_gathered_whole_and_in_place)
{
    struct ranks_result result;
    ranks_run(worlds[_i], gather_body, NULL, &result);
    ranks_assert_ok(&result);
}
END_TEST

/* --- parameters that come and go --------------------------------------------------------------- */

/* Buckets of a layer that are not always here. */
static script_buckets needs(const struct bench *bench, size_t layer)
{
    return script_needs(&bench->run->model, &bench->zero.ddp.plan, layer,
                        bench->zero.zero3.sharded);
}

static int expect_here(const struct bench *bench, const char *when, script_buckets expected)
{
    return ranks_expect(bench->self, bench->zero.zero3.here == expected,
                        "%s: buckets %#llx, not %#llx", when,
                        (unsigned long long)bench->zero.zero3.here, (unsigned long long)expected);
}

/* What is here, or under way, while a layer computes: its own buckets and those of the next use. */
static int walk_body(struct ranks_self *self)
{
    struct bench bench;
    int wrong = bench_open(&bench, self, self->context);
    const struct script *script = &bench.zero.script;
    if (!wrong) {
        zero_begin(&bench.zero);
        wrong = expect_here(&bench, "while samples are fetched", needs(&bench, script->uses[0]));
    }
    for (size_t i = 0; i < script->use_count && !wrong; i++) {
        size_t layer = script->uses[i];
        size_t next = script->uses[i + 1 < script->use_count ? i + 1 : i];
        zero3_layer(&bench.zero.zero3, layer);
        wrong = expect_here(&bench, "while a layer computes",
                            needs(&bench, layer) | needs(&bench, next));
    }
    wrong = worker_wait(&bench.zero.ddp.worker) || wrong;
    bench_close(&bench);
    return wrong ? 1 : 0;
}

START_TEST(the_next_layers_parameters_are_asked_for_before_this_one_computes)
{
    static const char *const rules[] = {
        "--hidden 6,6,6 --bucket-kb 0.004",
        "--hidden 6,6,6 --bucket-kb 0.2",
        "--hidden 6,6,6,6 --bucket-kb 0.004 --recompute 2",
        "--hidden 6,6,6,6 --bucket-kb 0.004 --tie fc2=fc4",
        "--hidden none",
    };
    char text[128];
    struct ranks_result result;
    snprintf(text, sizeof text, "%s --steps 1 --persist-kb 0 --stage 3", rules[_i % WALKS]);
    ranks_run(1 + _i / WALKS, walk_body, text, &result);
    ranks_assert_ok(&result);
}
END_TEST

/* --- training -------------------------------------------------------------------------------- */

/* Lesson 3's replica: whole parameters, whole state. */
struct replica {
    struct memory memory;
    struct optimizer optimizer;
    float param[COUNT_MOST], grad[COUNT_MOST];
};

static int train_once(struct bench *bench, struct replica *replica, size_t index)
{
    struct run *run = bench->run;
    float whole[COUNT_MOST];
    struct step step = sampler_step(&run->sampler, index);
    double norm = 0;
    struct rate rate = {.lr = 0.05f};
    int wrong = reduce_gradient(bench, &step) || zero_norm(&bench->zero, &norm) ||
                whole_gradient(bench, &step, replica->grad);
    if (wrong)
        return wrong;
    rate.clip = norm_clip(norm, run->options.clip);
    optimizer_step(&run->optimizer, run->param, run->grad, rate);
    optimizer_step(&replica->optimizer, replica->param, replica->grad, rate);
    wrong = zero_share(&bench->zero) || gather_param(bench, whole);
    if (wrong)
        return wrong;
    return ranks_expect(bench->self,
                        memcmp(whole, replica->param, run->model.count * sizeof(float)) == 0,
                        "update %zu: the parameters are not lesson 3's", index);
}

static int train_body(struct ranks_self *self)
{
    struct replica replica = {0};
    struct bench bench;
    int wrong = bench_open(&bench, self, self->context);
    struct run *run = bench.run;
    if (!wrong)
        wrong = gather_param(&bench, replica.param) ||
                optimizer_init(&replica.optimizer, &run->options, &run->model, &run->whole, 1,
                               &replica.memory);
    for (size_t i = 0; i < 12 && !wrong; i++)
        wrong = train_once(&bench, &replica, i);
    optimizer_release(&replica.optimizer);
    bench_close(&bench);
    return wrong ? 1 : 0;
}

START_TEST(twelve_sharded_updates_are_lesson_3s_bit_for_bit)
{
    static const char *const rules[] = {
        "--hidden 7 --batch 20 --momentum 0.9 --weight-decay 0.01 --bucket-kb 1",
        "--hidden 5,6 --batch 21 --optimizer adam --clip 0.7 --accumulate 2",
        "--hidden 7 --batch 20 --optimizer adamw --weight-decay 0.1 --bucket-kb 0.004",
        "--hidden 5,6,7 --batch 23 --momentum 0.9 --accumulate 3 --bucket-kb 0.1 --persist-kb 0",
        "--hidden 6,6,6,6 --batch 9 --optimizer adam --bucket-kb .2 --persist-kb .1 --recompute 2",
        "--hidden 6,6,6 --batch 20 --tie fc3=fc2 --bucket-kb 0.004 --persist-kb 0 --dropout 0.3",
    };
    static int worlds_here[] = {1, 2, 3, 5};
    enum { RULES = sizeof rules / sizeof *rules, TIMES = 4 };
    char text[256];
    struct ranks_result result;
    int world = worlds_here[_i / RULES % TIMES], stage = 1 + _i / (RULES * TIMES);
    snprintf(text, sizeof text, "%s --steps 12 --stage %d", rules[_i % RULES], stage);
    ranks_run(world, train_body, text, &result);
    ranks_assert_ok(&result);
}
END_TEST

Suite *zero_suite(void)
{
    Suite *suite = suite_create("zero");
    TCase *tcase = tcase_create("shards");
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, any_count_is_shared_out_among_any_world, 0, 48);
    tcase_add_loop_test(tcase, the_norm_of_the_shards_is_the_norm_of_the_whole_bit_for_bit, 0,
                        4 * WORLDS);
    tcase_add_loop_test(tcase, what_is_owned_is_gathered_whole_and_in_place, 0, WORLDS);
    tcase_add_loop_test(tcase, the_next_layers_parameters_are_asked_for_before_this_one_computes, 0,
                        3 * WALKS);
    watched_add_rows(tcase, twelve_sharded_updates_are_lesson_3s_bit_for_bit, 3 * 4 * 6);
    suite_add_tcase(suite, tcase);
    return suite;
}
