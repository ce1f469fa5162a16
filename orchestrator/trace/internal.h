/*
 * Shared by the files that make up the trace command: which point (trace_point.c), running it
 * (trace_command.c), what is written of it (trace_output.c).
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
    const char *cupti; /* the library; NULL: where it usually is */
    double plain_ips, traced_ips;
    struct trace_buffer buffer;
    struct timeline timeline;
    struct summary summary;
};

/* The point that is named, or the only one. STATUS_USAGE says how to choose. */
enum status trace_choose_point(const struct plan *plan, const char *wanted, size_t *index);

/* On standard output: the plan's points, one a line. */
void trace_list_points(const struct plan *plan);

/* Before anything is measured: whether the outputs that are asked for can be written. */
enum status trace_check_outputs(const struct trace *trace);

/* The timeline as JSON: appears whole or not at all, and never over a file that exists. */
enum status trace_write_json(const struct trace *trace, const char *path);
enum status trace_write_figure(const struct trace *trace, const char *path);

/* On standard output: the listing that is asked for, and the summary. */
void trace_print(const struct trace *trace);
