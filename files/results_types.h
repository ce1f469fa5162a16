/*
 * The JSON types of a point's fields, as docs/results-format.md has them.
 */
#pragma once

#include <jansson.h>

#include "common/status.h"

/* STATUS_USAGE: a field of the point has another type. The text has the field, but no file or line.
 */
enum status results_check_types(const json_t *point);
