/* launch_plan: cores, token, port. See the header. */
#include "common/launch_plan.h"

#include "common/launch_cores.h"
#include "common/launch_port.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

int launch_plan_threads(int local_world)
{
    int threads = launch_cores_count() / local_world;
    return threads > 1 ? threads : 1;
}

static int draw_token(struct launch_plan *plan, struct fail *fail)
{
    unsigned char bits[ENVIRONMENT_TOKEN_BYTES];
    FILE *random = fopen("/dev/urandom", "rb");
    size_t got = random ? fread(bits, 1, sizeof bits, random) : 0;
    if (random)
        fclose(random);
    if (got != sizeof bits)
        return fail_set(fail, -EIO, "cannot read /dev/urandom, for the job's token");
    for (size_t i = 0; i < sizeof bits; i++)
        snprintf(plan->token + 2 * i, 3, "%02x", bits[i]);
    return 0;
}

int launch_plan_make(struct launch_plan *plan, const struct launch_options *options, int restart,
                     struct fail *fail)
{
    *plan = (struct launch_plan){
        .local_world = options->ranks,
        .world = options->ranks * options->nodes,
        .first_rank = options->ranks * options->node_rank,
        .master_address = options->master_address,
        .master_port = options->master_port,
        .listener = -1,
        .threads = launch_plan_threads(options->ranks),
        .restart = restart,
        .bind = options->bind,
        .program = options->program,
    };
    /* Launchers on several machines cannot agree on a random token: the user sets JOB_TOKEN. */
    int error = options->nodes == 1 ? draw_token(plan, fail) : 0;
    if (error < 0 || options->node_rank > 0)
        return error;
    plan->listener = launch_port_listen(plan->master_address, &plan->master_port, fail);
    return plan->listener < 0 ? plan->listener : 0;
}

void launch_plan_release(struct launch_plan *plan)
{
    if (plan->listener >= 0)
        close(plan->listener);
    plan->listener = -1;
}
