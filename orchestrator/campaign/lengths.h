/*
 * How long the kernels of described workloads take here (job/workload_text.h).
 */
#pragma once

#include <jansson.h>

#include "orchestrator/plan/plan.h"
#include "orchestrator/session/session.h"

/*
 * Finds the amounts of work with which the kernels of the points take the time that they ask for
 * (wire/lengths.h), and fills them in. Call it after the plan is made, before anything is measured;
 * nothing else of ours may use the GPU meanwhile, and nothing is started where no kernel has a
 * duration. *lengths, an array as in the header record, holds what is known already; what is found
 * is added. The work is that of the first GPU; where points use others, too, how long it takes
 * there is measured and noted, and a line on standard error reports what differs.
 *
 * STATUS_UNSUPPORTED: a kernel cannot take that long here. STATUS_TIMEOUT, STATUS_INTERRUPTED and
 * the errors of the driver: no amount was found.
 */
enum status lengths_find(struct session *session, struct point *points, size_t count,
                         uint64_t timeout_ns, bool quiet, json_t *lengths);
