/*
 * Calibrations in a results file: {"type": "calibration", "work": {...}, figures by name,
 * "seconds", "notes": [...]}, see docs/results-format.md.
 */
#pragma once

#include <jansson.h>

#include "common/status.h"
#include "explain/calibration.h"

/* A new record, or NULL without memory. A figure that was not measured is 0 there, too. */
json_t *calibration_to_json(const struct calibration_record *record);

/* The record's "work" alone, a new object: two works are the same where these are equal. */
json_t *calibration_work_to_json(const struct work *work);

/* STATUS_USAGE names the field that is missing or makes no sense; *out is set only on success. A
 * figure that is not there was not measured; what does not fit into the notes is left out. */
enum status calibration_from_json(const json_t *json, struct calibration_record *out);
