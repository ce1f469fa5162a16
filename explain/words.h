/*
 * Ceilings in words for people.
 */
#pragma once

#include <stddef.h>

#include "explain/binding.h"
#include "explain/ceilings.h"

/* Why this is what limits the point, one sentence without a full stop, with the figures that it
 * comes from and not its value: "a process has 8 hardware queues, and threads that share one take
 * turns (8 × 286 iterations/s)"; with what its workers lose by waiting. Returns text. */
const char *binding_reason(const struct binding *binding, const struct ceilings *ceilings,
                           const struct explain_point *point, const struct calibration *calibration,
                           char *text, size_t size);
