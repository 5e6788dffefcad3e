/* What the programs write with --trace and print with --profile; and that neither changes a bit. */
#include "lesson03_ddp/ddp.h"
#include "tests/inside.h"
#include "tests/lessons.h"
#include "tests/suites.h"

#include <check.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STEPS = 5, SPANS_MOST = 4096, ARGUMENTS_BYTES = 512, PATIENCE_MS = 20000 };

/* --- reading a file -------------------------------------------------------------------------- */

/* Times in whole nanoseconds. */
struct span {
    const char *name;
    long long begin, end;
    int rank, lane, step; // lane: 0 computes, 1 is the network
};

struct spans {
    json_t *file;
    size_t count;
    struct span spans[SPANS_MOST];
};

static int whole(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    ck_assert_msg(json_is_integer(value), "%s is no whole number", key);
    return (int)json_integer_value(value);
}

static long long time_of(const json_t *event, const char *key)
{
    const json_t *value = json_object_get(event, key);
    ck_assert_msg(json_is_number(value), "%s is no number", key);
    return llround(1e3 * json_number_value(value));
}

static void read_span(struct spans *spans, const json_t *event)
{
    ck_assert_uint_lt(spans->count, SPANS_MOST);
    struct span *span = &spans->spans[spans->count++];
    span->name = json_string_value(json_object_get(event, "name"));
    span->begin = time_of(event, "ts");
    span->end = span->begin + time_of(event, "dur");
    span->rank = whole(event, "pid");
    span->lane = (whole(event, "tid") - 1) % 2;
    span->step = whole(json_object_get(event, "args"), "step");
    ck_assert_int_eq((whole(event, "tid") - 1) / 2, span->rank);
    ck_assert(span->name != NULL && span->end >= span->begin);
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    ck_assert_msg(text != NULL && *text, "%s is no text", key);
    return text;
}

/* The Trace Event Format, of the phases used: what of an event must be there, and of which kind. */
static void check_event(const json_t *event)
{
    const char *phase = text_of(event, "ph"), *name = text_of(event, "name");
    ck_assert_int_ge(whole(event, "pid"), 0);
    ck_assert_int_ge(whole(event, "tid"), 0);
    ck_assert_msg(phase[1] == '\0' && strchr("MiX", phase[0]), "a phase is %s", phase);
    if (phase[0] == 'M') {
        const json_t *arguments = json_object_get(event, "args");
        if (strcmp(name, "process_name") == 0 || strcmp(name, "thread_name") == 0)
            text_of(arguments, "name");
        else if (strcmp(name, "process_sort_index") == 0 || strcmp(name, "thread_sort_index") == 0)
            whole(arguments, "sort_index");
        else
            ck_abort_msg("metadata that no reader knows: %s", name);
        return;
    }
    text_of(event, "cat");
    ck_assert_int_ge(time_of(event, "ts"), 0);
    if (phase[0] == 'X')
        ck_assert_int_ge(time_of(event, "dur"), 0);
    else
        ck_assert_msg(strchr("gpt", text_of(event, "s")[0]), "a scope that is none");
}

static bool is_named(const json_t *events, const char *what, const char *by, int number)
{
    for (size_t i = 0; i < json_array_size(events); i++) {
        const json_t *event = json_array_get(events, i);
        if (strcmp(text_of(event, "name"), what) == 0 && whole(event, by) == number)
            return true;
    }
    return false;
}

/* Perfetto finds a thread by its tid alone when it reads a name, whatever its process. */
static void check_names(const json_t *events)
{
    enum { TIDS = 64 };
    int pid_of[TIDS];
    bool seen[TIDS] = {false};
    for (size_t i = 0; i < json_array_size(events); i++) {
        const json_t *event = json_array_get(events, i);
        int pid = whole(event, "pid"), tid = whole(event, "tid");
        ck_assert_int_lt(tid, TIDS);
        ck_assert_msg(!seen[tid] || pid_of[tid] == pid, "tid %d is of two processes", tid);
        if (seen[tid])
            continue;
        seen[tid] = true;
        pid_of[tid] = pid;
        ck_assert_msg(is_named(events, "process_name", "pid", pid), "pid %d has no name", pid);
        ck_assert_msg(is_named(events, "thread_name", "tid", tid), "tid %d has no name", tid);
    }
}

static struct spans *opened(const struct folder *folder, const char *name)
{
    struct spans *spans = calloc(1, sizeof *spans);
    char path[512];
    json_error_t error;
    spans->file = json_load_file(folder_path(folder, name, path), JSON_REJECT_DUPLICATES, &error);
    ck_assert_msg(spans->file != NULL, "%s, line %d: %s", name, error.line, error.text);
    const json_t *events = json_object_get(spans->file, "traceEvents");
    ck_assert(json_is_array(events));
    ck_assert_str_eq(text_of(spans->file, "displayTimeUnit"), "ms");
    for (size_t i = 0; i < json_array_size(events); i++) {
        const json_t *event = json_array_get(events, i);
        check_event(event);
        if (text_of(event, "ph")[0] == 'X')
            read_span(spans, event);
    }
    check_names(events);
    return spans;
}

static void closed(struct spans *spans)
{
    json_decref(spans->file);
    free(spans);
}

static size_t count_of(const struct spans *spans, int rank, const char *name)
{
    size_t count = 0;
    for (size_t i = 0; i < spans->count; i++)
        count += spans->spans[i].rank == rank && strcmp(spans->spans[i].name, name) == 0;
    return count;
}

/* --- files of the lessons -------------------------------------------------------------------- */

static int by_lane_and_time(const void *a, const void *b)
{
    const struct span *one = a, *other = b;
    if (one->rank != other->rank)
        return one->rank - other->rank;
    if (one->lane != other->lane)
        return one->lane - other->lane;
    return one->begin < other->begin ? -1 : one->begin > other->begin;
}

/* A lane is one thread at a time: what begins there begins when all before has ended. */
static void check_lanes(struct spans *spans)
{
    qsort(spans->spans, spans->count, sizeof *spans->spans, by_lane_and_time);
    for (size_t i = 1; i < spans->count; i++) {
        const struct span *before = &spans->spans[i - 1], *span = &spans->spans[i];
        bool same = before->rank == span->rank && before->lane == span->lane;
        ck_assert_msg(!same || before->end <= span->begin,
                      "rank %d, lane %d: %s ends %lld ns after %s begins", span->rank, span->lane,
                      before->name, before->end - span->begin, span->name);
        ck_assert_msg(!same || before->step <= span->step, "steps go backwards");
    }
}

struct traced_case {
    struct lesson lesson;
    const char *arguments;
    const char *network; // a span of the network's lane, one for each step
    int passes;          // forward and backward, of a step
};

static const struct traced_case cases[] = {
    {{1, 1}, "", NULL, 1},
    {{1, 1}, "--accumulate 3", NULL, 3},
    {{2, 1}, "", "all-reduce", 1},
    {{2, 3}, "--algorithm direct", "all-reduce", 1},
    {{3, 1}, "--bucket-kb 2", "bucket 1", 1},
    {{3, 2}, "--bucket-kb 2 --link 400mbit,1ms", "bucket 1", 1},
    {{3, 3}, "--bucket-kb 2 --no-overlap --accumulate 2", "bucket 0", 2},
    {{4, 2}, "--bucket-kb 2 --link 400mbit,1ms", "all-gather 1", 1},
    {{4, 3}, "--bucket-kb 2", "bucket 1", 1},
    {{4, 3}, "--bucket-kb 2 --stage 2", "all-gather 1", 1},
    {{4, 2}, "--bucket-kb 2 --stage 3 --persist-kb 0 --link 400mbit,1ms", "bucket 1", 1},
    {{4, 3}, "--bucket-kb 2 --stage 3 --accumulate 2", "bucket 0", 2},
};

static void check_counts(const struct spans *spans, const struct traced_case *is, int rank)
{
    size_t passes = STEPS * (size_t)is->passes;
    ck_assert_uint_eq(count_of(spans, rank, "optimizer"), STEPS);
    ck_assert_uint_eq(count_of(spans, rank, "data"), passes);
    ck_assert_uint_eq(count_of(spans, rank, "loss"), passes);
    ck_assert_uint_eq(count_of(spans, rank, "forward fc1"), passes);
    ck_assert_uint_eq(count_of(spans, rank, "forward fc2"), passes);
    ck_assert_uint_eq(count_of(spans, rank, "backward fc2"), passes);
    ck_assert_uint_eq(count_of(spans, rank, "backward fc1"), passes);
    ck_assert_uint_ge(count_of(spans, rank, "verify"), 1);
    ck_assert_uint_eq(count_of(spans, rank, "evaluation"), 1);
    if (is->network)
        ck_assert_uint_eq(count_of(spans, rank, is->network), STEPS);
    size_t waits = is->lesson.number == 1 ? 0 : is->lesson.number == 4 ? 2 * STEPS : STEPS;
    ck_assert_uint_eq(count_of(spans, rank, "wait"), waits);
}

START_TEST(every_rank_is_in_the_file_and_no_lane_overlaps_itself)
{
    const struct traced_case *is = &cases[_i];
    char arguments[ARGUMENTS_BYTES];
    struct folder folder;
    folder_open(&folder);
    snprintf(arguments, sizeof arguments, "--steps %d --verify 2 --trace t.json %s", STEPS,
             is->arguments);
    lesson_ok(&folder, is->lesson, arguments);
    struct spans *all = opened(&folder, "t.json");
    size_t count = 0;
    check_lanes(all);
    for (int rank = 0; rank < is->lesson.world; rank++) {
        char name[32] = "t.json";
        if (is->lesson.world > 1)
            snprintf(name, sizeof name, "t.rank-%d.json", rank);
        struct spans *own = opened(&folder, name);
        check_lanes(own);
        check_counts(own, is, rank);
        check_counts(all, is, rank);
        count += own->count;
        closed(own);
    }
    ck_assert_uint_eq(all->count, count);
    closed(all);
    folder_close(&folder);
}
END_TEST

/* Buckets 0 and 1 are fc2's, the last layer's, 2 and 3 fc1's: forward and backward share what the last
 * layer gathers, and an evaluation gathers each as often as any other. */
START_TEST(stage_3_shows_that_all_but_the_last_layer_are_gathered_twice)
{
    struct folder folder;
    folder_open(&folder);
    lesson_ok(&folder, (struct lesson){4, 2},
              "--steps 5 --no-verify --stage 3 --persist-kb 0 --bucket-kb 2 --trace t.json");
    struct spans *own = opened(&folder, "t.rank-1.json");
    size_t last = count_of(own, 1, "all-gather 0"), first = count_of(own, 1, "all-gather 3");
    ck_assert_uint_gt(last, STEPS); // in an evaluation too
    ck_assert_uint_eq(count_of(own, 1, "all-gather 1"), last);
    ck_assert_uint_eq(count_of(own, 1, "all-gather 2"), first);
    ck_assert_uint_eq(first, last + STEPS);
    closed(own);
    folder_close(&folder);
}
END_TEST

/* What a step's last backward ends with is what its buckets must wait for, and do. */
START_TEST(without_overlap_no_bucket_begins_before_backward_has_ended)
{
    long long ended[STEPS] = {0};
    size_t buckets = 0;
    struct folder folder;
    folder_open(&folder);
    lesson_ok(&folder, (struct lesson){3 + _i, 2},
              "--steps 5 --no-verify --no-overlap --bucket-kb 1 --trace t.json");
    struct spans *own = opened(&folder, "t.rank-1.json");
    for (size_t i = 0; i < own->count; i++)
        if (strcmp(own->spans[i].name, "backward fc1") == 0)
            ended[own->spans[i].step] = own->spans[i].end;
    for (size_t i = 0; i < own->count; i++) {
        const struct span *span = &own->spans[i];
        if (strncmp(span->name, "bucket", 6) != 0)
            continue;
        buckets++;
        ck_assert_msg(span->begin >= ended[span->step], "%s of step %d", span->name, span->step);
    }
    ck_assert_uint_ge(buckets, 2 * STEPS);
    closed(own);
    folder_close(&folder);
}
END_TEST

/* --- overlap, made certain ------------------------------------------------------------------- */

struct held {
    struct ddp *ddp;
    struct model_listener passes_on;
};

static size_t finished(struct worker *worker)
{
    uv_mutex_lock(&worker->lock);
    size_t count = worker->finished;
    uv_mutex_unlock(&worker->lock);
    return count;
}

/* The last tensor is announced only when a bucket has come back. */
static void on_ready(void *context, size_t tensor)
{
    struct held *held = context;
    for (int i = 0; i < PATIENCE_MS && tensor == 0 && finished(&held->ddp->worker) == 0; i++)
        usleep(1000);
    held->passes_on.on_ready(held->passes_on.context, tensor);
}

/* Buckets that began before the last span of backward had ended. */
static size_t begun_under_backward(const struct trace *trace)
{
    double ended = 0;
    size_t count = 0;
    for (size_t i = 0; i < trace_count(trace, TRACE_COMPUTE); i++) {
        const struct trace_event *event = trace_at(trace, TRACE_COMPUTE, i);
        ended = event->kind == TRACE_BACKWARD ? event->end_seconds : ended;
    }
    for (size_t i = 0; i < trace_count(trace, TRACE_NETWORK); i++)
        count += trace_at(trace, TRACE_NETWORK, i)->begin_seconds < ended;
    return count;
}

/* Each tensor once, in the order seen, before the span of its layer's backward ends. */
static int check_ready(struct ranks_self *self, const struct trace *trace, const struct ddp *ddp)
{
    size_t count = 0;
    int wrong = 0;
    for (size_t i = 0; i < trace_count(trace, TRACE_COMPUTE) && !wrong; i++) {
        const struct trace_event *event = trace_at(trace, TRACE_COMPUTE, i), *span = event;
        if (event->kind != TRACE_READY)
            continue;
        for (size_t j = i; span->kind == TRACE_READY && ++j < trace_count(trace, TRACE_COMPUTE);)
            span = trace_at(trace, TRACE_COMPUTE, j);
        const char *expected = ddp->model->tensors[ddp->seen.tensors[count]].name;
        wrong = ranks_expect(self, strcmp(event->tensor, expected) == 0,
                             "number %zu ready in the trace: expected %s, found %s", count,
                             expected, event->tensor) ||
                ranks_expect(self,
                             span->kind == TRACE_BACKWARD &&
                                 span->index == (uint32_t)(expected[2] - '0'),
                             "%s: expected it ready in its layer's backward, found it within kind "
                             "%d of layer %d",
                             expected, (int)span->kind, (int)span->index);
        count++;
    }
    return wrong || ranks_expect(self, count == ddp->seen.count,
                                 "expected %zu tensors ready in the trace, found %zu",
                                 ddp->seen.count, count);
}

static int overlap_body(struct ranks_self *self)
{
    struct inside inside;
    struct ddp ddp;
    int wrong = inside_open(&inside, self, 3, "--hidden 9,9 --bucket-kb 0.5 --trace none.json");
    struct run *run = &inside.run;
    run->trainer.trace = run->trace;
    wrong = wrong || inside_told(self, &inside, ddp_init(&ddp, run, self->comm));
    struct held held = {.ddp = &ddp, .passes_on = ddp_listener(&ddp)};
    run->trainer.listener = (struct model_listener){.on_ready = on_ready, .context = &held};
    struct step step = sampler_step(&run->sampler, 0);
    ddp_begin(&ddp);
    trainer_gradient(&run->trainer, &step);
    wrong = wrong || ddp_wait(&ddp, &self->fail);
    size_t begun = begun_under_backward(run->trace);
    wrong = wrong ||
            ranks_expect(self, begun > 0,
                         "expected a bucket begun under backward in the trace, found none") ||
            check_ready(self, run->trace, &ddp);
    ddp_stop(&ddp);
    inside_close(&inside);
    return wrong ? 1 : 0;
}

START_TEST(with_overlap_a_bucket_begins_before_backward_has_ended)
{
    struct ranks_plan plan = {.world = 1 + _i, .body = overlap_body};
    struct ranks_result result;
    ranks_run_plan(&plan, &result);
    ranks_assert_ok(&result);
}
END_TEST

/* --- nothing changes ------------------------------------------------------------------------- */

START_TEST(tracing_and_profiling_change_no_bit)
{
    static const char set[] = "--hidden 13,9 --batch 50 --steps 6 --verify 1 --bucket-kb 1 "
                              "--dump-steps 6 --dump ";
    char arguments[ARGUMENTS_BYTES];
    int number = 1 + _i;
    struct lesson lesson = {number, number == 1 ? 1 : 2};
    struct folder folder;
    folder_open(&folder);
    const char *rule =
        number < 3 ? "--hidden 13,9 --batch 50 --steps 6 --dump-steps 6 --dump " : set;
    snprintf(arguments, sizeof arguments, "%s plain", rule);
    lesson_ok(&folder, lesson, arguments);
    snprintf(arguments, sizeof arguments, "%s traced --trace t.json --profile", rule);
    lesson_ok(&folder, lesson, arguments);
    lesson_dumps_equal(&folder, "plain traced");
    if (number >= 3) {
        snprintf(arguments, sizeof arguments, "%s late --trace t.json --no-overlap", rule);
        lesson_ok(&folder, lesson, arguments);
        lesson_dumps_equal(&folder, "plain late");
    }
    folder_close(&folder);
}
END_TEST

/* --- runs that fail -------------------------------------------------------------------------- */

START_TEST(a_failed_runs_own_files_are_whole_and_the_common_one_is_empty)
{
    struct folder folder;
    folder_open(&folder);
    lesson_fails(&folder, (struct lesson){3, 2},
                 "--data synthetic --steps 60 --lr 1e6 --no-verify --trace t.json", 1,
                 "no update was made");
    struct spans *all = opened(&folder, "t.json");
    ck_assert_uint_eq(all->count, 0);
    closed(all);
    for (int rank = 0; rank < 2; rank++) {
        char name[32];
        snprintf(name, sizeof name, "t.rank-%d.json", rank);
        struct spans *own = opened(&folder, name);
        ck_assert_uint_ge(count_of(own, rank, "backward fc1"), 1);
        check_lanes(own);
        closed(own);
    }
    folder_close(&folder);
}
END_TEST

START_TEST(a_trace_that_cannot_be_written_ends_the_run_before_its_first_step)
{
    struct folder folder;
    folder_open(&folder);
    lesson_fails(&folder, (struct lesson){1 + _i, 1 + _i}, "--trace none/t.json --steps 2", 1,
                 "--trace: cannot write 'none/t");
    folder_close(&folder);
}
END_TEST

/* --- the texts ------------------------------------------------------------------------------- */

/* The first number of a row of the table. */
static double row_of(const char *out, const char *row)
{
    const char *table = strstr(out, "profile: "), *at = strstr(table ? table : "", row);
    ck_assert_msg(at != NULL, "no '%s' in\n%s", row, out);
    return strtod(at + strlen(row), NULL);
}

START_TEST(the_profiles_rows_add_up_to_the_update)
{
    static const char *const rows[] = {"  gemm",           "  elementwise",    "  loss ",
                                       "  data",           "  optimizer",      "  hand-over",
                                       "  wait (exposed)", "  share the loss", "  other"};
    double sum = 0;
    struct folder folder;
    struct program program;
    folder_open(&folder);
    lesson_run(&program, &folder, (struct lesson){1 + _i, _i ? 2 : 1},
               "--steps 20 --verify 1 --profile");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        sum += row_of(program.out, rows[i]);
    double update = row_of(program.out, "  the update");
    ck_assert_msg(fabs(sum - update) <= 0.05 * 10 + 1e-6, "%g is not %g", sum, update); // rounded
    ck_assert(row_of(program.out, "  gemm") > 0 && row_of(program.out, "  elementwise") > 0);
    program_close(&program);
    folder_close(&folder);
}
END_TEST

START_TEST(a_profile_without_an_update_says_why)
{
    struct folder folder;
    struct program program;
    folder_open(&folder);
    lesson_run(&program, &folder, (struct lesson){3, 2}, "--steps 2 --verify 2 --profile");
    ck_assert_int_eq(program.code, 0);
    ck_assert_ptr_nonnull(strstr(program.out, "[0] profile: every update was verified"));
    ck_assert_ptr_null(strstr(program.out, "[1] profile: "));
    program_close(&program);
    folder_close(&folder);
}
END_TEST

START_TEST(a_timeline_is_drawn_unless_the_run_is_quiet)
{
    struct folder folder;
    struct program program;
    folder_open(&folder);
    lesson_run(&program, &folder, (struct lesson){3, 2}, "--steps 3 --no-verify --trace t.json");
    ck_assert_ptr_nonnull(strstr(program.out, "timeline of step 2: "));
    ck_assert_ptr_nonnull(strstr(program.out, "rank 1    compute |"));
    ck_assert_ptr_nonnull(strstr(program.out, "          network |"));
    program_close(&program);
    lesson_run(&program, &folder, (struct lesson){3, 2},
               "--steps 3 --trace t.json --profile --quiet");
    ck_assert_ptr_null(strstr(program.out, "timeline"));
    ck_assert_ptr_null(strstr(program.out, "profile"));
    program_close(&program);
    folder_close(&folder);
}
END_TEST

Suite *traces_suite(void)
{
    Suite *suite = suite_create("traces");
    TCase *tcase = tcase_create("files");
    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, every_rank_is_in_the_file_and_no_lane_overlaps_itself, 0,
                        sizeof cases / sizeof *cases);
    tcase_add_test(tcase, stage_3_shows_that_all_but_the_last_layer_are_gathered_twice);
    tcase_add_loop_test(tcase, without_overlap_no_bucket_begins_before_backward_has_ended, 0, 2);
    tcase_add_loop_test(tcase, with_overlap_a_bucket_begins_before_backward_has_ended, 0, 3);
    tcase_add_loop_test(tcase, tracing_and_profiling_change_no_bit, 0, 4);
    tcase_add_test(tcase, a_failed_runs_own_files_are_whole_and_the_common_one_is_empty);
    tcase_add_loop_test(tcase, a_trace_that_cannot_be_written_ends_the_run_before_its_first_step, 0,
                        3);
    suite_add_tcase(suite, tcase);
    tcase = tcase_create("texts");
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, the_profiles_rows_add_up_to_the_update, 0, 4);
    tcase_add_test(tcase, a_profile_without_an_update_says_why);
    tcase_add_test(tcase, a_timeline_is_drawn_unless_the_run_is_quiet);
    suite_add_tcase(suite, tcase);
    return suite;
}
