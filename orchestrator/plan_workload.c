#include "orchestrator/plan.h"

#include <string.h>

bool point_is_builtin(const struct point *point)
{
    return point->work.workload == SHM_WORKLOAD_CHAIN || point->work.workload == SHM_WORKLOAD_DELAY;
}

const char *point_workload(const struct point *point)
{
    if (point->workload)
        return point->workload;
    return point->work.workload == SHM_WORKLOAD_DELAY ? "delay" : "builtin";
}

enum status plan_workload(const struct job *job, struct point *point)
{
    if (job->command)
        return plan_program(job, point);
    if (strcmp(point->workload, "builtin") == 0)
        point->work.workload = SHM_WORKLOAD_CHAIN;
    else if (strcmp(point->workload, "delay") == 0)
        point->work.workload = SHM_WORKLOAD_DELAY;
    else
        return status_set(STATUS_USAGE,
                          "'%s' is not a value of workload: it takes one of builtin|delay",
                          point->workload);
    return STATUS_OK;
}
