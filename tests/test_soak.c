/* Ten thousand calls of every kind, in an order that all ranks draw alike: no error, right values,
 * and neither memory nor descriptors that grow. */
#include "common/rng.h"
#include "lesson02_allreduce/allreduce.h"
#include "lesson02_allreduce/barrier.h"
#include "lesson02_allreduce/gather.h"
#include "lesson02_allreduce/replay.h"
#include "lesson02_allreduce/ring.h"
#include "tests/ranks.h"
#include "tests/suites.h"
#include "tests/watched.h"

#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    CALLS = WATCHED ? 3000 : 10000,
    SETTLED = 1000,
    MOST = 20000,
    LARGE = 200003,
    PAGES_MOST = 128
};

/* The sanitizers' runtimes have it (sanitizer/allocator_interface.h), hence the reserved name. */
// NOLINTNEXTLINE(bugprone-reserved-identifier)
__attribute__((weak)) size_t __sanitizer_get_current_allocated_bytes(void);

/* What rank 0 .. world - 1 agree on about one call, all drawn from its number. */
struct draw {
    uint32_t kind, root;
    size_t count, sample;
    enum algorithm algorithm;
    enum comm_type type;
    enum comm_reduction reduction;
};

static struct draw draw(const struct rng *rng, uint64_t call, int world)
{
    uint64_t at = call * 8;
    struct draw draw = {
        .kind = rng_bits(rng, at) % 8,
        .root = rng_bits(rng, at + 1) % (uint32_t)world,
        .count = rng_bits(rng, at + 2) % (MOST + 1),
        .sample = rng_bits(rng, at + 3),
        .algorithm = (enum algorithm)(rng_bits(rng, at + 4) % ALGORITHM_AUTO),
        .type = (enum comm_type)(rng_bits(rng, at + 5) % 5),
        .reduction = (enum comm_reduction)(rng_bits(rng, at + 6) % 4),
    };
    if (draw.kind % 2) // half of all calls are short, as a run's own are
        draw.count %= 65;
    if (call % 500 == 499)
        draw.count = LARGE;
    return draw;
}

/* Whole numbers small enough that no operation rounds, in any order. */
static void fill(uint8_t *vector, const struct draw *draw, size_t from, size_t count, int rank)
{
    for (size_t i = 0; i < count; i++) {
        uint8_t u8 = (uint8_t)((from + i) % 11 + (size_t)rank + draw->root);
        float f32 = u8;
        double f64 = u8;
        int32_t i32 = u8;
        int64_t i64 = u8;
        const void *const of[] = {&f32, &f64, &i32, &i64, &u8};
        size_t size = comm_type_bytes(draw->type);
        memcpy(vector + i * size, of[draw->type], size);
    }
}

/* One element, by the replay of root: no order rounds, so it speaks for every algorithm. */
static int check_sample(struct ranks_self *self, const struct draw *draw, const uint8_t *vector)
{
    uint64_t element[RANKS_MOST], expected = 0;
    const void *shares[RANKS_MOST];
    size_t size = comm_type_bytes(draw->type);
    if (draw->count == 0)
        return 0;
    size_t at = draw->sample % draw->count;
    for (int rank = 0; rank < self->world; rank++) {
        fill((uint8_t *)&element[rank], draw, at, 1, rank);
        shares[rank] = &element[rank];
    }
    struct replay replay = {shares, (size_t)self->world, 1, draw->type, draw->reduction};
    replay_allreduce(&replay, ALGORITHM_ROOT, &expected);
    return ranks_expect(self, memcmp(vector + at * size, &expected, size) == 0,
                        "%s of %zu, type %d, reduction %d: [%zu] is wrong",
                        algorithm_name(draw->algorithm), draw->count, draw->type, draw->reduction,
                        at);
}

static int call_allreduce(struct ranks_self *self, const struct draw *draw, uint8_t *vector)
{
    struct choice choice = choice_fixed(draw->algorithm);
    comm_set_choice(self->comm, &choice);
    fill(vector, draw, 0, draw->count, self->rank);
    int wrong = allreduce(self->comm, vector, vector, draw->count, draw->type, draw->reduction);
    return wrong ? wrong : check_sample(self, draw, vector);
}

static int call_broadcast(struct ranks_self *self, const struct draw *draw, uint8_t *vector)
{
    uint64_t expected = 0;
    size_t size = comm_type_bytes(draw->type);
    fill(vector, draw, 0, draw->count, self->rank);
    int wrong = ring_broadcast(self->comm, vector, draw->count, draw->type, (int)draw->root);
    if (wrong || draw->count == 0)
        return wrong;
    size_t at = draw->sample % draw->count;
    fill((uint8_t *)&expected, draw, at, 1, (int)draw->root);
    return ranks_expect(self, memcmp(vector + at * size, &expected, size) == 0,
                        "broadcast of %zu: [%zu] is wrong", draw->count, at);
}

static int call_gather(struct ranks_self *self, const struct draw *draw)
{
    double mine[2] = {self->rank, (double)draw->sample}, all[2 * RANKS_MOST];
    int wrong = gather_numbers(self->comm, mine, 2, all, &self->fail);
    for (int rank = 0; rank < self->world && !wrong; rank++)
        wrong =
            ranks_expect(self, all[2 * rank] == rank && all[2 * rank + 1] == mine[1],
                         "gathered %g and %g from rank %d", all[2 * rank], all[2 * rank + 1], rank);
    return wrong;
}

static int one_call(struct ranks_self *self, const struct draw *draw, uint8_t *vector)
{
    if (draw->kind == 0)
        return barrier(self->comm);
    if (draw->kind == 1)
        return call_gather(self, draw);
    if (draw->kind == 2)
        return call_broadcast(self, draw, vector);
    return call_allreduce(self, draw, vector);
}

/* Resident pages; under a sanitizer, which keeps freed memory to catch late uses, the heap's own. */
static long pages_in_use(void)
{
    long size = 0, resident = 0;
    if (&__sanitizer_get_current_allocated_bytes)
        return (long)(__sanitizer_get_current_allocated_bytes() / 4096);
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld %ld", &size, &resident) != 2)
        resident = -1;
    if (file)
        fclose(file);
    return resident;
}

static int open_descriptors(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (folder && readdir(folder))
        count++;
    if (folder)
        closedir(folder);
    return count;
}

static int soak_body(struct ranks_self *self)
{
    const struct rng rng = {.seed = 7, .stream = RNG_TEST};
    size_t vector_bytes = LARGE * sizeof(double); // of the largest type
    uint8_t *vector = calloc(vector_bytes, 1);
    long pages = 0;
    int descriptors = 0, wrong = 0;
    memset(vector, 1, vector_bytes); // resident from the start
    for (uint64_t call = 0; call < CALLS && !wrong; call++) {
        struct draw drawn = draw(&rng, call, self->world);
        wrong = one_call(self, &drawn, vector);
        if (call + 1 == SETTLED) {
            pages = pages_in_use();
            descriptors = open_descriptors();
        }
    }
    /* What a link stages depends on who is slow: its buffer may be touched late, but once. */
    long grown = pages_in_use() - pages;
    if (!wrong)
        wrong = ranks_expect(self, grown <= PAGES_MOST, "%ld pages more", grown);
    if (!wrong)
        wrong = ranks_expect(self, open_descriptors() == descriptors, "%d descriptors, before %d",
                             open_descriptors(), descriptors);
    free(vector);
    return wrong != 0;
}

START_TEST(ten_thousand_calls_leave_neither_errors_nor_memory_nor_descriptors_behind)
{
    struct ranks_result result;
    struct ranks_plan plan = {
        .world = 3, .body = soak_body, .transport = _i ? COMM_UNIX : COMM_TCP};
    ranks_run_plan(&plan, &result);
    ranks_assert_ok(&result);
}
END_TEST

Suite *soak_suite(void)
{
    Suite *suite = suite_create("soak");
    TCase *tcase = tcase_create("soak");
    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(
        tcase, ten_thousand_calls_leave_neither_errors_nor_memory_nor_descriptors_behind, 0, 2);
    suite_add_tcase(suite, tcase);
    return suite;
}
