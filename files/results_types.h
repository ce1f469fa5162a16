/*
 * The JSON types of a point's fields, as docs/results-format.md has them.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "common/status.h"

/* STATUS_USAGE: a field of the point has another type. The text has the field, but no file or line.
 */
enum status results_check_types(const json_t *point);

/* Whether a value of JSON that begins with this byte can be of a point's field. One of a name that
 * is not known can be any. */
bool results_type_fits(const char *key, char first);
