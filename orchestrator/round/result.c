#include "orchestrator/round/result.h"

#include <stdlib.h>

#include "orchestrator/plan/point.h"

void round_latency_of_all(const struct round_result *result, struct histogram *out)
{
    *out = result->latency;
    histogram_add_never(out, round_failed_requests(&result->requests));
}

double round_cpus_in_use(const struct point *point, const struct round_result *result)
{
    const struct shm_cpu *cpu = &result->cpu;
    return point_processes(point) * (double)cpu->process_cpu_ns / (double)cpu->process_wall_ns;
}

void round_result_release(struct round_result *result)
{
    free(result->workers);
    free(result->processes);
    free(result->workloads);
    free(result->gpus);
    result->workers = NULL;
    result->processes = NULL;
    result->workloads = NULL;
    result->gpus = NULL;
}
