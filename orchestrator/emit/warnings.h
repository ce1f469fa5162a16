/*
 * What a deployment does not have in common with what was measured.
 */
#pragma once

#include <jansson.h>

#include "orchestrator/emit/request.h"

/* A text for each: the point is of another command, or of none, or is not ok. A new array, also
 * empty; NULL: no memory. The command was checked. */
json_t *emit_warnings(const struct emit_request *request);
