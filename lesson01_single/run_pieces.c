/*
 * run_pieces: what a checkpoint of a run is made of, and where it lies.
 *
 *                         saves                                   wants back
 *     lessons 1-3         rank 0: all; the others have the same   parameters and states, all
 *     lesson 4, stage 1, 2    what it owns; rank 0 also frozen    parameters, all; states of what it owns
 *               stage 3       the same                            what it owns, and frozen
 *
 * So everything is written once, whoever has it, and the ranks of lesson 4 write at the same time.
 */
#include "lesson01_single/run.h"

static void add_frozen(const struct run *run, struct pieces *pieces)
{
    for (size_t i = 0; i < run->model.tensor_count; i++) {
        struct slice slice = run->model.tensors[i].slice;
        bool packed = run->optimizer.packed_param;
        if (run->model.tensors[i].frozen)
            pieces_add(pieces, 0, slice, packed ? run->frozen[i] : run->param + slice.begin);
    }
}

static void add_owned(const struct run *run, struct pieces *pieces)
{
    size_t passed = 0;
    for (size_t i = 0; i < run->optimizer.owned_count; i++) {
        struct slice owned = run->optimizer.owned[i];
        size_t at = optimizer_param_at(&run->optimizer, owned.begin, passed);
        if (run->param_store)
            pieces_add_stored(pieces, 0, owned, run->param_store, passed);
        else
            pieces_add(pieces, 0, owned, run->param + at);
        passed += owned.count;
    }
}

static void collect_saved(const struct run *run, struct pieces *pieces)
{
    bool first = run->environment.rank == 0;
    if (!first && run->options.lesson < 4)
        return;
    add_owned(run, pieces);
    if (first)
        add_frozen(run, pieces);
    pieces_add_states(pieces, &run->optimizer);
}

static void collect_wanted(const struct run *run, struct pieces *pieces)
{
    if (!run->optimizer.packed_param) {
        pieces_add(pieces, 0, run->whole, run->param);
    } else {
        add_owned(run, pieces);
        add_frozen(run, pieces);
    }
    pieces_add_states(pieces, &run->optimizer);
}

void run_checkpoint(struct run *run, bool loading, struct checkpoint *checkpoint)
{
    *checkpoint = (struct checkpoint){
        .options = &run->options,
        .sampler = &run->sampler,
        .optimizer = &run->optimizer,
        .scale = &run->scale,
        .rank = run->environment.rank,
        .world = run->environment.world,
        .gather = run->gather,
        .context = run->context,
    };
    if (loading)
        collect_wanted(run, &checkpoint->pieces);
    else
        collect_saved(run, &checkpoint->pieces);
}
