/*
 * What a point's record says of how sure its numbers are: intervals, bounds of percentiles, what it
 * would take to be as precise as asked for, and warnings.
 */
#pragma once

#include "orchestrator/record/record.h"

/* The interval over all rounds; unknown without one. */
void sureness_interval(const struct measurement *measurement, struct interval *out);

/* The object "latency_us": percentiles, with bounds; a 99.9th only with the samples for it. */
json_t *sureness_latency(const struct histogram *latency);

/* Adds "interval", and drift, outliers and unsteady to "warnings". precision_rel: INFINITY where
 * none was asked for. */
void sureness_add(json_t *record, const struct point *point, const struct measurement *measurement,
                  const struct interval *interval, double precision_rel);

/* What stands behind an unconverged point of a closed loop in the table: what was reached, and what
 * to give. */
void sureness_print_unconverged(FILE *out, const json_t *point);
