/* setup: do all ranks begin with the same parameters? What they hold, hashed; and what their generators give first. */
#include "common/doctor/doctor.h"

#include <inttypes.h>

static bool hashes_differ(struct case_hash a, struct case_hash b)
{
    return a.there && b.there && a.bits != b.bits;
}

/* Of the first process: a resumed one's are a checkpoint's. */
void setup_measure(struct doctor *doctor)
{
    const struct casebook *book = doctor->book;
    struct setup_facts *facts = &doctor->facts.setup;
    const struct case_start *first = &book->ranks[0].starts[0];
    facts->is_known = first->param_hash.there;
    for (size_t rank = 1; rank < book->world; rank++) {
        const struct case_start *start = &book->ranks[rank].starts[0];
        facts->is_known = facts->is_known && start->param_hash.there;
        facts->param_differ =
            facts->param_differ || hashes_differ(start->param_hash, first->param_hash);
        facts->streams_differ =
            facts->streams_differ ||
            hashes_differ(start->streams[STREAM_WEIGHTS], first->streams[STREAM_WEIGHTS]);
    }
}

static size_t other_rank(const struct casebook *book, bool param)
{
    const struct case_start *first = &book->ranks[0].starts[0];
    for (size_t rank = 1; rank < book->world; rank++) {
        const struct case_start *start = &book->ranks[rank].starts[0];
        if (param ? hashes_differ(start->param_hash, first->param_hash)
                  : hashes_differ(start->streams[STREAM_WEIGHTS], first->streams[STREAM_WEIGHTS]))
            return rank;
    }
    return 0;
}

/* In stage 3 no rank has all parameters; there the streams they are drawn from tell. */
void setup_explain(struct doctor *doctor)
{
    const struct casebook *book = doctor->book;
    const struct setup_facts *facts = &doctor->facts.setup;
    size_t rank = other_rank(book, facts->param_differ);
    const struct case_start *a = &book->ranks[0].starts[0], *b = &book->ranks[rank].starts[0];
    bool drawn = a->first == 0 && !facts->is_known && facts->streams_differ;
    if (facts->param_differ || drawn) {
        struct finding *finding = diagnosis_member(doctor->diagnosis, ZOO_SEED_PER_RANK, CERTAIN);
        if (facts->streams_differ)
            finding_evidence(
                finding,
                "the generators of the first weights differ: rank 0's gives %016" PRIx64
                ", rank %zu's %016" PRIx64,
                a->streams[STREAM_WEIGHTS].bits, rank, b->streams[STREAM_WEIGHTS].bits);
        if (facts->param_differ)
            finding_deciding(
                finding,
                "a hash of all parameters before step %zu, which must be equal: rank 0 %016" PRIx64
                ", rank %zu %016" PRIx64,
                a->first, a->param_hash.bits, rank, b->param_hash.bits);
        else
            finding_deciding(
                finding,
                "the first numbers of the stream that weights are drawn from, by rank: they "
                "must be equal, as each rank draws a part of one network");
        return;
    }
    if (book->world > 1)
        diagnosis_looked(doctor->diagnosis, "first weights", "%s on all %zu ranks before step %zu",
                         facts->is_known ? "the same parameters" : "drawn from the same stream",
                         book->world, a->first);
}
