/*
 * start: the line with which a process begins its part of a record. See the header.
 *
 * The options are read by the table that reads the command line, so that a doctor and a lesson cannot
 * understand a flag differently.
 */
#include "common/doctor/start.h"
#include "common/flag.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char NAME_CHARACTERS[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

/* What the first line of a file says it is. */
static int check_format(const struct line *line)
{
    const char *format = json_string_value(json_object_get(line->object, "format"));
    if (!format || strcmp(format, CASEBOOK_FORMAT) != 0)
        return fail_set(line->fail, -EINVAL,
                        "%s, line %zu: expected format '%s', found '%.40s': not a record of this "
                        "course; a lesson "
                        "writes one with --record DIR",
                        line->path, line->number, CASEBOOK_FORMAT, format ? format : "nothing");
    size_t version = line_size(line, "version");
    if (!line->fail->code && version != CASEBOOK_VERSION)
        return fail_set(line->fail, -EINVAL,
                        "%s, line %zu: this is version %zu of the record, and this doctor reads "
                        "version %d: use the "
                        "doctor that was built with the lesson",
                        line->path, line->number, version, CASEBOOK_VERSION);
    return line->fail->code;
}

static void take_tensor(struct case_tensor *tensor, const struct line *parent, const json_t *object)
{
    struct line line = *parent;
    line.object = object;
    const char *name = line_text(&line, "name");
    if (strlen(name) >= sizeof tensor->name || strspn(name, NAME_CHARACTERS) != strlen(name))
        line_refuse(&line, "name", "a short name of letters, digits, dots and underscores");
    else
        memcpy(tensor->name, name, strlen(name) + 1);
    tensor->begin = line_size(&line, "begin");
    tensor->count = line_size(&line, "count");
    tensor->decays = line_bool(&line, "decays");
    tensor->frozen = line_bool(&line, "frozen");
}

/* They tile the parameters. */
static void take_tensors(struct casebook *book, const struct line *line)
{
    const json_t *list = json_object_get(line->object, "tensors");
    size_t end = 0;
    if (!json_is_array(list) || json_array_size(list) > CASEBOOK_TENSORS_MOST ||
        json_array_size(list) == 0) {
        line_refuse(line, "tensors", "a list of 1 to 128");
        return;
    }
    book->tensor_count = json_array_size(list);
    for (size_t i = 0; i < book->tensor_count && !line->fail->code; i++) {
        struct case_tensor *tensor = &book->tensors[i];
        take_tensor(tensor, line, json_array_get(list, i));
        if (!line->fail->code && tensor->begin != end)
            line_refuse(line, "tensors", "one behind the other, without gaps");
        end += tensor->count;
    }
    if (!line->fail->code && end != book->parameters)
        line_refuse(line, "parameters", "as many as the tensors have");
}

/* A value as it stands on the command line; true: a flag without one. */
static void take_option(struct options *options, const struct line *line, const char *name,
                        const json_t *value)
{
    const struct flag *flag = flag_find(name, strlen(name));
    char number[32];
    const char *text = json_string_value(value);
    if (!flag || json_is_null(value) || json_is_false(value))
        return;
    if (json_is_integer(value)) // a seed has more digits than a double
        snprintf(number, sizeof number, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        snprintf(number, sizeof number, "%.17g", json_real_value(value));
    text = json_is_number(value) ? number : text;
    bool fits = flag->accepts ? text != NULL : json_is_true(value);
    if (!fits || !flag_store(flag, options, text))
        line_refuse(line, "options", "values that the flags accept");
}

static void take_options(const struct casebook *book, struct case_start *start,
                         const struct line *line)
{
    const char *name;
    const json_t *value;
    struct options *options = &start->asked;
    *options =
        (struct options){.lesson = book->lesson, .bias = true, .shuffle = true, .overlap = true};
    json_object_foreach(start->options, name, value) if (strcmp(name, "given") != 0)
        take_option(options, line, name, value);
    size_t batch = options->per_rank_batch;
    if (batch > 0 && __builtin_mul_overflow(batch, book->world, &options->batch))
        line_refuse(line, "options", "a batch that can be counted");
    if (options->batch == 0 || options->accumulate == 0)
        line_refuse(line, "options", "with --batch and --accumulate of at least 1");
}

/* Of the run as a whole: rank 0's first start says it. */
static void take_run(struct casebook *book, const struct line *line)
{
    book->lesson = (int)line_size(line, "lesson");
    book->world = line_size(line, "world");
    book->updates = line_size(line, "updates");
    book->steps_per_epoch = line_size(line, "steps_per_epoch");
    book->train_samples = line_size(line, "train_samples");
    book->test_samples = line_size(line, "test_samples");
    book->parameters = line_size(line, "parameters");
    if (book->lesson < 1 || book->lesson > 4)
        line_refuse(line, "lesson", "1 to 4");
    if (book->world < 1 || book->world > CASEBOOK_WORLD_MOST)
        line_refuse(line, "world", "1 to 1024");
    if (book->train_samples < 1 || book->train_samples > UINT32_MAX)
        line_refuse(line, "train_samples", "1 to 4294967295");
    if (book->steps_per_epoch < 1)
        line_refuse(line, "steps_per_epoch", "at least 1");
    if (!line->fail->code)
        take_tensors(book, line);
}

/* What a process trains, of the run's tensors: another one may freeze others. */
static void count_parameters(const struct casebook *book, struct case_start *start,
                             const struct line *line)
{
    const json_t *list = json_object_get(line->object, "tensors");
    if (json_array_size(list) != book->tensor_count)
        line_refuse(line, "tensors", "those that the run began with");
    for (size_t i = 0; i < book->tensor_count && !line->fail->code; i++) {
        struct case_tensor tensor;
        take_tensor(&tensor, line, json_array_get(list, i));
        start->trained += tensor.frozen ? 0 : tensor.count;
        start->decaying += tensor.frozen || !tensor.decays ? 0 : tensor.count;
    }
}

/* Every start of every rank is of one run: of the same lesson, world, data and network. */
static void check_run(const struct casebook *book, size_t rank, const struct line *line)
{
    const struct {
        const char *key;
        size_t expected;
    } same[] = {{"rank", rank},
                {"lesson", (size_t)book->lesson},
                {"world", book->world},
                {"train_samples", book->train_samples},
                {"test_samples", book->test_samples},
                {"parameters", book->parameters}};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        size_t found = line_size(line, same[i].key);
        if (!line->fail->code && found != same[i].expected)
            fail_set(line->fail, -EINVAL,
                     "%s, line %zu: '%s' is %zu where this run has %zu: files of two runs are in "
                     "one folder, or it was resumed as another one; give each run, and what "
                     "resumes it with other ranks or another lesson, a folder of its own",
                     line->path, line->number, same[i].key, found, same[i].expected);
    }
}

/* What every rank must be given alike is as the table of flags says. */
static void check_options(const struct casebook *book, const struct case_start *start,
                          size_t number, const struct line *line)
{
    const struct case_rank *first = &book->ranks[0];
    const json_t *theirs = number < first->start_count ? first->starts[number].options : NULL;
    for (const struct flag *flag = flags; flag->help && theirs; flag++) {
        bool counts =
            flag->scope == FLAG_SHARED && flag->kind != FLAG_TITLE && flag->kind != FLAG_PATH;
        const json_t *a = json_object_get(start->options, flag->name);
        const json_t *b = json_object_get(theirs, flag->name);
        if (counts && a != b && !json_equal(a, b))
            fail_set(line->fail, -EINVAL,
                     "%s, line %zu: --%s is not what rank 0 has: files of two runs are in one "
                     "folder; give each run a "
                     "folder of its own",
                     line->path, line->number, flag->name);
    }
}

static void take_streams(struct case_start *start, const struct line *line)
{
    static const char *const names[STREAMS] = {"weights", "shuffle", "dropout"};
    struct line inner = *line;
    inner.object = json_object_get(line->object, "streams");
    if (!json_is_object(inner.object))
        line_refuse(line, "streams", "an object");
    for (size_t i = 0; i < STREAMS && !line->fail->code; i++)
        start->streams[i] = line_hash(&inner, names[i]);
}

static void take_param(const struct casebook *book, struct case_start *start,
                       const struct line *line)
{
    start->param = calloc(book->tensor_count, sizeof *start->param);
    if (start->param)
        line_sketches(line, "param", start->param, book->tensor_count);
    else
        fail_set(line->fail, -ENOMEM, "%s, line %zu: no memory for what is recorded", line->path,
                 line->number);
}

static void take_ledger(struct case_start *start, const struct line *line)
{
    struct line inner = *line;
    inner.object = json_object_get(line->object, "memory");
    start->has_ledger = json_is_object(inner.object);
    if (!start->has_ledger)
        return;
    start->ledger.peak_total_bytes = line_size(&inner, "peak");
    for (int use = 0; use < MEMORY_USES; use++)
        start->ledger.now_bytes[use] = line_size(&inner, memory_use_name((enum memory_use)use));
}

int start_take(struct casebook *book, size_t rank, struct case_start *start,
               const struct line *line)
{
    const struct case_rank *page = &book->ranks[rank];
    int error = check_format(line);
    if (error)
        return error;
    json_t *options = json_object_get(line->object, "options");
    if (!json_is_object(options)) {
        line_refuse(line, "options", "an object");
        return line->fail->code;
    }
    *start = (struct case_start){
        .first = line_size(line, "first"),
        .updates = line_size(line, "updates"),
        .pid = line_size(line, "pid"),
        .owned = line_size(line, "owned"),
        .param_hash = line_hash(line, "param_hash"),
        .state_norm = line_real(line, "state_norm"),
        .line = line->number,
        .options = json_incref(options),
    };
    take_streams(start, line);
    take_ledger(start, line);
    if (!line->fail->code && rank == 0 && page->start_count == 1)
        take_run(book, line);
    if (!line->fail->code)
        check_run(book, rank, line);
    if (!line->fail->code)
        check_options(book, start, page->start_count - 1, line);
    if (!line->fail->code)
        take_options(book, start, line);
    if (!line->fail->code)
        count_parameters(book, start, line);
    if (!line->fail->code && rank == 0 && page->start_count == 1)
        book->options = start->asked;
    if (!line->fail->code)
        take_param(book, start, line);
    size_t made = page->step_count > 0 ? page->steps[page->step_count - 1].step + 1 : start->first;
    if (!line->fail->code && start->first != made)
        line_refuse(line, "first", "the step behind the last one");
    return line->fail->code;
}
