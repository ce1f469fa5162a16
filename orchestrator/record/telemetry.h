/*
 * A point's telemetry in the results file (docs/results-format.md), and what it warns of.
 */
#pragma once

#include <jansson.h>

#include "orchestrator/session/telemetry_window.h"

/* The point's object, or NULL where there was no NVML. */
json_t *telemetry_object(const struct telemetry_window *window);

/* Adds throttled and neighbour to a point's warnings. */
void telemetry_warn(json_t *warnings, const struct telemetry_window *window);
