/*
 * Where a point's time goes, as parts of its record: phases, single launch calls, CPU.
 */
#pragma once

#include <jansson.h>

#include "orchestrator/round/round.h"

/* JSON has no way to say that there is no such number, or that it has no end: null then. */
json_t *record_real_or_null(double value);

/* The fields phases, cpu and slowest_worker. */
void record_time_add(json_t *record, const struct point *point, const struct round_result *result);

/* A worker's means of the phases and its use of a CPU, as fields of its entry of per_worker. */
void record_time_add_worker(json_t *entry, const struct round_worker *worker);

/* Sums up, for all workers of all rounds. */
void record_time_merge_cpu(struct shm_cpu *into, const struct shm_cpu *from);
