/*
 * What a command needs that traces a point: mpsweep trace, and mpsweep record.
 */
#pragma once

#include "orchestrator/round/round.h"
#include "trace/timeline.h"

/* Whether a program can be traced: the driver loads one library into it, which must be ours. NULL:
 * it is not one. STATUS_USAGE. */
enum status trace_check_program(char *const *command);

/* A round that is over, or never was: the status that its command ends with. STATUS_WORKER: the
 * point failed; the text has its error. */
enum status trace_judge(enum status status, const struct round_result *result);

/* One round, whose result the caller releases in every case, judged so. */
enum status trace_run(struct session *session, const struct point *point,
                      const struct round_limits *limits, struct round_result *result);

/* The same, traced, with room for that number of records of all processes together. The caller
 * releases buffer and timeline, which needs it, in every case; both were empty. */
enum status trace_run_traced(struct session *session, const struct point *point,
                             const struct round_limits *limits, uint64_t records,
                             struct trace_buffer *buffer, struct timeline *timeline,
                             struct round_result *result);
