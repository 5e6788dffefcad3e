/* prove: one comparison of a run, told in one line. See the header. */
#include "lesson01_single/prove.h"
#include "common/locate.h"

void prove_pair(struct prove *prove, const struct prove_pair *pair)
{
    bool held = compare_equal(&prove->compare);
    size_t passed = prove->compare.count, count = pair->slice.count;
    prove->bounded = pair->bound != NULL;
    if (pair->bound)
        compare_bounded(&prove->compare, pair->found, pair->expected, pair->bound, count);
    else
        compare_bits(&prove->compare, pair->found, pair->expected, count);
    if (held && !compare_equal(&prove->compare)) {
        prove->failed = *pair;
        prove->first = prove->compare.first - passed;
    }
}

static void say_where(const struct prove *prove, struct run *run)
{
    const struct prove_pair *failed = &prove->failed;
    size_t element = failed->slice.begin + prove->first;
    const struct tensor *tensor = model_tensor_at(&run->model, element);
    struct locate locate = {
        .found = failed->found,
        .expected = failed->expected,
        .before = failed->before,
        .count = failed->slice.count,
        .world = (size_t)run->environment.world,
        .part = failed->slice.count < run->model.count,
    };
    char cause[LOCATE_TEXT_BYTES];
    locate_cause(&locate, cause);
    struct proof_place place = {
        .tensor = tensor->name,
        .index = element - tensor->slice.begin,
        .rank = run->environment.rank,
        .found = failed->found[prove->first],
        .expected = failed->expected[prove->first],
        .cause = cause,
    };
    proof_failure_at(&run->proof, &place);
}

bool prove_end(const struct prove *prove, struct run *run, const struct step *step,
               const char *what)
{
    progress_clear(&run->progress);
    bool holds = prove->bounded ? proof_bounded(&run->proof, step->index, what, &prove->compare)
                                : proof_bits(&run->proof, step->index, what, &prove->compare);
    if (!holds && prove->failed.found)
        say_where(prove, run);
    return holds;
}
