#include <string.h>

#include "job/workload_mix.h"
#include "orchestrator/plan/plan.h"

enum status plan_described(const struct job *job, struct point *point, const char **bad,
                           size_t *bad_length)
{
    struct mix mix;
    struct shm_settings *work = &point->work;
    enum status status =
        mix_parse(point->workload, job->workloads, job->workload_count, &mix, bad, bad_length);
    if (status != STATUS_OK)
        return status;
    uint32_t steps = 0;
    work->workload = WORKLOAD_DESCRIBED;
    work->program_count = mix.count;
    for (uint32_t i = 0; i < mix.count; i++) {
        const struct workload *workload = &job->workloads[mix.workloads[i]];
        struct shm_program *program = &work->programs[i];
        *program = (struct shm_program){
            .first = steps,
            .count = workload->count,
            .weight = mix.weights[i],
            .check = (uint32_t)workload->check,
        };
        memcpy(program->name, workload->name, sizeof program->name);
        memcpy(&work->steps[steps], workload->steps, workload->count * sizeof work->steps[0]);
        steps += workload->count;
    }
    return STATUS_OK;
}
