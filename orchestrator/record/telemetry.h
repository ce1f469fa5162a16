/*
 * A point's telemetry in the results file (docs/results-format.md), and what it warns of.
 */
#ifndef MPSWEEP_ORCHESTRATOR_TELEMETRY_RECORD_H
#define MPSWEEP_ORCHESTRATOR_TELEMETRY_RECORD_H

#include <jansson.h>

#include "orchestrator/session/telemetry_window.h"

/* The point's object, or NULL where there was no NVML. */
json_t *telemetry_object(const struct telemetry_window *window);

/* Adds throttled and neighbour to a point's warnings. */
void telemetry_warn(json_t *warnings, const struct telemetry_window *window);

#endif
