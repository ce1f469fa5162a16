/*
 * A point of a results file as the functions of explain/ want it.
 */
#pragma once

#include <jansson.h>

#include "common/status.h"
#include "explain/ceilings.h"
#include "explain/remedy.h"
#include "files/results_read.h"
#include "orchestrator/plan/plan.h"

/* Whether the record has a throughput that shows what its layout can do: not that of an open loop,
 * which is what was offered. */
bool explain_point_measured(const json_t *record);

/* Whether it is of an open loop, measured or not. */
bool explain_point_open(const json_t *record);

/* Whether each thread has a context or multiprocessors of its own: what limits such threads is not
 * modelled. */
bool explain_point_apart(const json_t *record);

/* Whether its workload is a built-in one, or one that the header of the results describes, for
 * which they hold a calibration: the limits of others are not known. */
bool explain_point_known(const struct results *results, const json_t *record);

/* Whether its workers are requests in flight at a server. */
bool explain_point_server(const json_t *record);

/* A point of a plan, and one of a results file. STATUS_USAGE names the point and the field that is
 * missing or is invalid. */
void explain_point_of(const struct point *point, struct explain_point *out);
enum status explain_point_read(const json_t *header, const json_t *record,
                               struct explain_point *out);

/* The point to measure for it, with everything that explain does not know taken from the record
 * (binding, warm-up left to the caller). The percentages must live as long as the point: shares
 * has room for them. */
void explain_point_plan(const struct explain_point *point, const json_t *record,
                        int64_t shares[EXPLAIN_MOST_PERCENTAGES], struct point *out);

/* A new object with what identifies the record's point and what was measured: its settings, status,
 * throughput and interval, those that the record has. NULL: no memory. */
json_t *explain_point_json(const json_t *record);
