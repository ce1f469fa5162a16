/*
 * What the files that make a plan share.
 */
#pragma once

#include "orchestrator/plan/plan.h"

/* What the last word for a workload stood for: a plan asks for each word thousands of times. */
struct workload_found {
    const char *word;
    struct point found;
};

/* Checks the options about requests: complete for a server, absent for any other program.
 * STATUS_USAGE names the option. */
enum status requests_check(const struct options *options, char *const *command,
                           const struct point_requests *requests);

/* Finds out what a point's word for the workload stands for, and sets its kind, its mix and its
 * word. STATUS_USAGE, STATUS_NOT_FOUND and STATUS_SYSTEM list what there is, or why a program
 * cannot be run; and with a program no setting of the point may be one that it would not heed. */
enum status workload_find(const struct job *job, struct plan *plan, struct workload_found *last,
                          struct point *point);

/* Sets plan->id. */
enum status plan_make_id(const struct job *job, struct plan *plan);
