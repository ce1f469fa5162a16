/*
 * The shares of MPS clients (plan/shares.h) as fields of a record.
 */
#pragma once

#include <jansson.h>

#include "orchestrator/plan/shares.h"

/* As a record's field: a number, or for a list an array of one entry for each process, null being
 * the default. A new reference; NULL where the setting is left alone. */
json_t *shares_json(const struct point_shares *shares, unsigned processes);

/* One process's entry. A new reference, null being the default. */
json_t *shares_json_at(const struct point_shares *shares, unsigned process);

/* The text of such a field, shortened as far as it repeats itself. "" for anything else. */
const char *shares_json_text(const json_t *field, bool sizes, char *out, size_t size);
