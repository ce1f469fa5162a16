/*
 * A line of a results file as a record. Records of points are long, and most readers need a few of
 * their fields: those alone become JSON values, the others are only checked.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "files/results_lines.h"

/* Whether a reader needs the field of a point. */
typedef bool results_field(const char *key);

/*
 * The record of a line, a new reference: of a point its type, its id and the fields that `needed`
 * takes (NULL: all), or all of them where one has another type than it should; of a header, and of
 * every other type, all. A type that `known` lacks (an array of names, ended by NULL; or NULL) may
 * come without its fields.
 *
 * NULL: the line is not JSON; *error, unless NULL, has the reason.
 */
json_t *results_record(const struct results_line *line, results_field *needed,
                       const char *const *known, json_error_t *error);
