/*
 * The calibrations that a plan's points need: one for each different iteration of built-in and
 * described workloads. Other workloads have none.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "files/results_write.h"
#include "orchestrator/calibrate/run.h"

/* Prints a line, which comes without its end. */
typedef void (*calibrate_print)(const char *line);

/* Each is of as many GPUs at once as the points have at most. Measures those that the array
 * `calibrations` of records lacks, appends them to it, and writes each to the results as it ends.
 * What does not differ from one that is there already is taken from it (explain/calibration.h);
 * those that a merge brought together, which may be of other GPUs, are left alone. Unless quiet, it
 * shows its progress, and prints what it did and what could not be measured. As calibrate_run(). */
enum status calibrate_plan(struct session *session, const struct plan *plan,
                           const struct round_limits *limits, bool quiet, calibrate_print print,
                           struct results_writer *writer, json_t *calibrations);

/* About how many seconds that takes; 0 if none is missing, or without memory. */
double calibrate_plan_estimate_s(const struct session *session, const struct plan *plan,
                                 const json_t *calibrations);
