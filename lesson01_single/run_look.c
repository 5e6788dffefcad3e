/* run_look: a run's --record. See the header. */
#include "lesson01_single/run_look.h"
#include "common/rng.h"

#include <math.h>

enum { PIECE_FLOATS = 1024 };

int run_look_open(struct run *run)
{
    int error = record_open(&run->record, run->options.record, &run->environment,
                            run->optimizer.updates, &run->memory, &run->fail);
    if (error || !run->options.record)
        return error;
    run->look = run->trainer.look = run->optimizer.look = &run->kept_look;
    return 0;
}

/* --- what this rank holds ---------------------------------------------------------------------- */

/* Of parameters it owns, wherever they are kept. */
static int sketch_part(struct run *run, struct slice part, size_t state, struct sketch *sketch)
{
    float values[PIECE_FLOATS];
    int error = 0;
    if (!run->param_store) {
        size_t at = optimizer_param_at(&run->optimizer, part.begin, state);
        sketch_add(sketch, run->param + at, part.count, part.begin);
        return 0;
    }
    for (size_t done = 0; done < part.count && !error; done += PIECE_FLOATS) {
        size_t left = part.count - done, count = left < PIECE_FLOATS ? left : PIECE_FLOATS;
        error = run_read_param(run, (struct slice){state + done, count}, values, &run->fail);
        sketch_add(sketch, values, error ? 0 : count, part.begin + done);
    }
    return error;
}

static int sketch_param(struct run *run)
{
    int error = 0;
    for (size_t i = 0; i < run->model.tensor_count && !error; i++) {
        size_t state;
        struct slice part = optimizer_part(&run->optimizer, &run->model.tensors[i], &state);
        run->look->param[i] = (struct sketch){0};
        error = sketch_part(run, part, state, &run->look->param[i]);
    }
    return error;
}

/* False: it has not all of them. */
static bool hash_param(const struct run *run, uint64_t *hash)
{
    if (run->optimizer.packed_param)
        return false;
    *hash = compare_hash(run->param, run->model.count * sizeof *run->param);
    return true;
}

static double state_norm(struct run *run)
{
    float values[PIECE_FLOATS];
    struct sketch sketch = {0};
    size_t count = run->optimizer.count;
    int error = 0;
    for (size_t i = 0; i < run->optimizer.states; i++)
        for (size_t done = 0; done < count && !error; done += PIECE_FLOATS) {
            size_t left = count - done;
            struct slice part = {done, left < PIECE_FLOATS ? left : PIECE_FLOATS};
            error = optimizer_read(&run->optimizer, i, part, values, &run->fail);
            sketch_add(&sketch, values, error ? 0 : part.count, done);
        }
    return run->optimizer.states > 0 ? sqrt(sketch.squares) : NAN;
}

static uint64_t hash_stream(uint64_t seed, enum rng_stream stream)
{
    uint32_t words[4];
    struct rng rng = {.seed = seed, .stream = stream};
    rng_block(&rng, 0, words);
    return sketch_mix((uint64_t)words[0] << 32 | words[1]) +
           sketch_mix(((uint64_t)words[2] << 32 | words[3]) + 1);
}

/* --- lines ------------------------------------------------------------------------------------- */

void run_look_begin(struct run *run)
{
    struct record_tensor tensors[MODEL_TENSORS_MOST];
    uint64_t hash;
    if (!run->look || run->look->steps > 0)
        return;
    for (size_t i = 0; i < run->model.tensor_count; i++) {
        const struct tensor *tensor = &run->model.tensors[i];
        tensors[i] =
            (struct record_tensor){tensor->name, tensor->slice, tensor->decays, tensor->frozen};
    }
    sketch_param(run);
    struct record_start start = {
        .options = &run->options,
        .environment = &run->environment,
        .first = run->optimizer.updates,
        .updates = run->updates,
        .steps_per_epoch = run->sampler.steps_per_epoch,
        .train_samples = run->train.count,
        .test_samples = run->test.count,
        .parameters = run->model.count,
        .tensor_count = run->model.tensor_count,
        .tensors = tensors,
        .owned = run->optimizer.count,
        .param_hash = hash_param(run, &hash) ? &hash : NULL,
        .param = run->look->param,
        .state_norm = state_norm(run),
        .weights = hash_stream(run_weights_seed(run), RNG_WEIGHTS),
        .shuffle = hash_stream(run->sampler.order_seed, RNG_SHUFFLE),
        .dropout = hash_stream(run->trainer.dropout.seed, RNG_DROPOUT),
        .ledger = &run->memory,
    };
    record_start(&run->record, &start);
}

void run_look_next(struct run *run, const struct step *step)
{
    if (run->look)
        look_begin(run->look, record_looks(&run->record, step->index, run->look->steps));
}

/* Its loss tells it of a gradient that nobody looked at. */
static enum record_answer is_nonfinite(const struct run *run)
{
    double squares = 0;
    for (size_t i = 0; i < run->model.tensor_count; i++)
        squares += run->look->raw[i].squares;
    if (!isfinite(run->trainer.loss) || run->trainer.nonfinite || !isfinite(squares))
        return RECORD_YES;
    return run->trainer.looks || run->look->due ? RECORD_NO : RECORD_UNKNOWN;
}

static int look_closely(struct run *run, struct record_look *close, uint64_t *hash)
{
    const struct look *look = run->look;
    *close = (struct record_look){
        .tensor_count = run->model.tensor_count,
        .raw = look->raw,
        .reduced = look->updated ? look->reduced : NULL,
        .param = look->param,
        .param_hash = hash_param(run, hash) ? hash : NULL,
        .dropout_mask = look->mask_rows > 0 ? &look->mask : NULL,
        .decayed = look->decayed,
    };
    return sketch_param(run);
}

int run_look_step(struct run *run, const struct metrics_step *line)
{
    struct look *look = run->look;
    struct record_look close;
    uint64_t hash;
    if (!look)
        return 0;
    look->epoch_seen += look->seen;
    look->epoch_samples += look->samples;
    int error = look->due ? look_closely(run, &close, &hash) : 0;
    struct record_step step = {
        .step = line->step,
        .epoch = line->epoch,
        .lr = line->lr,
        .loss = line->loss,
        .loss_local = line->loss_local,
        .samples = line->samples,
        .samples_local = look->samples,
        .seen = look->seen,
        .weight_least = look->weight_least,
        .weight_most = look->weight_most,
        .micro_batches = look->micro_batches,
        .handed_over = look->handed_over,
        .updated = look->updated,
        .nonfinite = is_nonfinite(run),
        .clip = look->clip,
        .grad_norm = line->grad_norm,
        .seconds = line->seconds,
        .compute_seconds = line->compute_seconds,
        .comm_seconds = line->comm_seconds,
        .exposed_seconds = line->exposed_seconds,
        .bytes_sent = line->bytes_sent,
        .look = look->due ? &close : NULL,
        .proof = &run->proof,
    };
    if (!error)
        error = record_step(&run->record, &step, &run->fail);
    run->proof.kept_count = 0;
    return error;
}

int run_look_epoch(struct run *run, const struct metrics_epoch *line)
{
    if (!run->look)
        return 0;
    size_t order_bytes = run->sampler.count * sizeof *run->sampler.order;
    struct record_epoch epoch = {
        .epoch = line->epoch,
        .step = line->step,
        .order = compare_hash(run->sampler.order, order_bytes),
        .seen = run->look->epoch_seen,
        .seen_count = run->look->epoch_samples,
        .train_loss = line->train_loss,
        .test_loss = line->test_loss,
        .test_accuracy = line->test_accuracy,
        .evaluated = run->evaluated,
    };
    run->look->epoch_seen = run->look->epoch_samples = 0;
    return record_epoch(&run->record, &epoch, &run->fail);
}

/* A run that never began has no end. */
void run_look_close(struct run *run, enum exit_code code)
{
    if (run->look && run->step_seconds > 0)
        record_end(&run->record, (int)code, run->optimizer.updates, &run->proof, &run->fail);
    record_close(&run->record, &run->fail);
}
