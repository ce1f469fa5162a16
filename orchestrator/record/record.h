/*
 * The records of the results file (docs/results-format.md), made from what was measured.
 */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "orchestrator/session/mps_limits.h"
#include "orchestrator/plan/plan.h"
#include "orchestrator/round/round.h"
#include "orchestrator/campaign/saturation.h"

/* What the rounds of one point add up to. All zero bytes are an empty one. */
struct measurement {
    unsigned rounds; /* that gave a number */
    double *throughputs, *intervals, *windows;
    struct round_fixed *fixed;
    struct round_result last; /* counts and histograms of all rounds, workers of the last */
    struct saturation search; /* of the highest rate */
    enum status status;       /* of the round that ended it; OK while all went well */
    double seconds;           /* wall time of all rounds */
};

/* Adds a round, taking what it owns. */
enum status measurement_add(struct measurement *measurement, struct round_result *round,
                            double seconds);
void measurement_release(struct measurement *measurement);

/* New references, or NULL without memory. */
json_t *record_header(const struct session *session, const struct job *job, const char *job_path,
                      const struct plan *plan, bool resumed);
json_t *record_point(const struct point *point, const struct measurement *measurement,
                     double precision_rel);

/* Of a point that was not tried, since limits say that it cannot work; its field limits_found tells
 * it from one that the driver refused. */
json_t *record_beyond(const struct point *point, const struct mps_limits *limits,
                      const struct mps_limits_row *row);
json_t *record_footer(int exit_status, const json_t *points, double seconds);

/* "ok", "unconverged", "infeasible", "failed" or "interrupted". */
const char *record_status(const json_t *record);

/* Why a point has no number: "infeasible: too many clients", and "interrupted" just once. */
void record_print_failure(FILE *out, const json_t *record);
