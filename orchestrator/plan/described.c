#include <stdlib.h>
#include <string.h>

#include "job/workload_mix.h"
#include "orchestrator/plan/plan.h"

static void fill(const struct job *job, const struct mix *mix, struct mix_work *out)
{
    uint32_t steps = 0;
    out->count = mix->count;
    for (uint32_t i = 0; i < mix->count; i++) {
        const struct workload *workload = &job->workloads[mix->workloads[i]];
        struct mix_program *program = &out->programs[i];
        *program = (struct mix_program){
            .first = steps,
            .count = workload->count,
            .weight = mix->weights[i],
            .check = (uint32_t)workload->check,
        };
        memcpy(program->name, workload->name, sizeof program->name);
        memcpy(&out->steps[steps], workload->steps, workload->count * sizeof out->steps[0]);
        steps += workload->count;
    }
}

/* The plan's copy of a mix, which points of the same one share. NULL: no memory. */
static struct mix_work *share(struct plan *plan, const struct mix_work *mix)
{
    for (size_t i = 0; i < plan->mix_count; i++)
        if (memcmp(plan->mixes[i], mix, sizeof *mix) == 0)
            return plan->mixes[i];
    struct mix_work **mixes = realloc(plan->mixes, (plan->mix_count + 1) * sizeof *mixes);
    if (!mixes)
        return NULL;
    plan->mixes = mixes;
    struct mix_work *copy = malloc(sizeof *copy);
    if (copy) {
        *copy = *mix;
        mixes[plan->mix_count++] = copy;
    }
    return copy;
}

enum status plan_described(const struct job *job, struct plan *plan, struct point *point,
                           const char **bad, size_t *bad_length)
{
    struct mix mix;
    struct mix_work work = {0};
    enum status status =
        mix_parse(point->workload, job->workloads, job->workload_count, &mix, bad, bad_length);
    if (status != STATUS_OK)
        return status;
    fill(job, &mix, &work);
    point->mix = share(plan, &work);
    if (!point->mix)
        return status_set(STATUS_MEMORY, "out of memory");
    point->work.workload = WORKLOAD_DESCRIBED;
    return STATUS_OK;
}
