/*
 * All settings of a point's record as one text: points with the same one are the same point.
 */
#pragma once

#include <jansson.h>

#include "orchestrator/results/point.h"

/* ignored: settings that make no difference, as bits 1 << POINT_…. The caller frees it; NULL: no
 * memory. */
char *point_key(const json_t *point, unsigned ignored);
