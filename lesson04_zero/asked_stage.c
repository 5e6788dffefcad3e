/* asked_stage: --explain, as lesson 4 answers it. See the header. */
#include "lesson04_zero/asked_stage.h"
#include "lesson03_ddp/asked_plan.h"
#include "lesson04_zero/explain_stage.h"
#include "lesson04_zero/zero2.h"
#include "lesson04_zero/zero3.h"

int asked_stage(struct run *run)
{
    const struct options *options = &run->options;
    struct asked_plan asked;
    struct script script;
    size_t gathers[MODEL_TENSORS_MOST];
    if (run->environment.rank != 0)
        return 0;
    int error = asked_plan_make(&asked, run);
    if (error)
        return error;
    if (options->stage < 2) {
        asked_plan_show(&asked, run);
        return 0;
    }
    script_rehearse(&script, &run->model, options->recompute, &asked.plan);
    struct explain_stage explain = {
        .stage = options->stage,
        .model = &run->model,
        .plan = &asked.plan,
        .script = &script,
        .sharded = options->stage < 3 ? 0 : zero3_sharded(&asked.plan, options->persist_bytes),
        .world = (size_t)run->environment.world,
        .accumulate = options->accumulate,
        .keeps_all = zero2_keeps_all(options),
    };
    explain_stage_gathers(&explain, gathers);
    asked.explain.gathers = gathers;
    asked_plan_show(&asked, run);
    explain_stage(stdout, &explain);
    return 0;
}
