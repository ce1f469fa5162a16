/*
 * Shared by the files of the trace command: which point (point.c), running it (trace.c), writing
 * the results (output.c).
 */
#pragma once

#include <jansson.h>

#include "orchestrator/plan/plan.h"
#include "orchestrator/round/round.h"
#include "orchestrator/session/session.h"
#include "trace/summary.h"
#include "trace/timeline.h"

struct trace {
    const struct options *options;
    const struct job *job;
    const char *job_path;
    struct plan plan;
    struct point point;
    struct round_limits limits;
    struct session session;
    double plain_ips, traced_ips;
    struct trace_buffer buffer;
    struct timeline timeline;
    struct summary summary;
};

/* Finds the named point, or the only one; where the job gives no layouts, that of one worker alone.
 * STATUS_USAGE explains how to choose. */
enum status trace_choose_point(const struct job *job, const struct plan *plan, const char *wanted,
                               size_t *index);

/* Prints the plan's points, one a line. */
void trace_list_points(const struct plan *plan);

/* Checks, before anything is measured, that the outputs can be written. */
enum status trace_check_outputs(const struct trace *trace);

/* Writes the timeline as JSON: it appears whole or not at all, and never replaces a file. */
enum status trace_write_json(const struct trace *trace, const char *path);
enum status trace_write_figure(const struct trace *trace, const char *path);

/* Prints the requested listing, and the summary. */
void trace_print(const struct trace *trace);
