#include "orchestrator/trace/run.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "common/child.h"
#include "common/clock.h"
#include "wire/program.h"
#include "orchestrator/trace/demangle.h"

enum status trace_check_program(char *const *command)
{
    const char *other = getenv(OBSERVER_INJECTION_VARIABLE);
    if (!command || !other)
        return STATUS_OK;
    return status_set(STATUS_USAGE,
                      "'%s' cannot be traced beside '%s': unset " OBSERVER_INJECTION_VARIABLE,
                      *command, other);
}

enum status trace_judge(enum status status, const struct round_result *result)
{
    if (status != STATUS_OK || result->status == STATUS_OK)
        return status;
    return status_set(result->status == STATUS_INTERRUPTED ? STATUS_INTERRUPTED : STATUS_WORKER,
                      "%s%s", result->status == STATUS_INFEASIBLE ? "infeasible: " : "",
                      result->error);
}

enum status trace_run(struct session *session, const struct point *point,
                      const struct round_limits *limits, struct round_result *result)
{
    return trace_judge(round_run(session, point, limits, result), result);
}

/* A program whose iterations were found on the GPU has called its driver. */
static enum status check_traced(const struct timeline *timeline, const struct round_result *result)
{
    for (uint32_t p = 0; p < timeline->process_count && result->observed.what[0]; p++)
        if (timeline->processes[p].pid == 0)
            return status_set(STATUS_WORKER,
                              "process %u works on the GPU, and the driver has loaded nothing that "
                              "traces it: it must leave " OBSERVER_INJECTION_VARIABLE " as it is",
                              p);
    return STATUS_OK;
}

enum status trace_run_traced(struct session *session, const struct point *point,
                             const struct round_limits *limits, uint64_t records,
                             struct trace_buffer *buffer, struct timeline *timeline,
                             struct round_result *result)
{
    uint64_t each = records / point->processes;
    *result = (struct round_result){0};
    enum status status =
        trace_buffer_create(point->processes, point->threads, each ? each : 1, buffer);
    if (status != STATUS_OK)
        return status;
    const struct session_trace wanted = {.fd = buffer->fd, .cupti = session_cupti(session)};
    session->trace = &wanted;
    status = trace_run(session, point, limits, result);
    session->trace = NULL;
    if (status == STATUS_OK)
        status = timeline_merge(buffer, timeline);
    if (status == STATUS_OK)
        status = check_traced(timeline, result);
    if (status == STATUS_OK)
        timeline_rename(timeline, trace_demangle);
    return status;
}
