/*
 * What a point did on each of its GPUs, where it has several: collected with a round's results, put
 * into its record, printed below the table. A point of one GPU has none of it.
 */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "orchestrator/round/internal.h"

/* Of drained workers: iterations of each in the steady part of the window, which lasted so long.
 * Fills the result's gpus, and its telemetry from theirs. STATUS_MEMORY is the only error. */
enum status per_gpu_collect(const struct round *round, const double *iterations, double steady_s);

/* Adds what so many rounds before gave. */
void per_gpu_merge(struct round_result *last, const struct round_result *before, unsigned rounds);

/* The fields per_gpu and gpu_imbalance of a record that has throughput and interval, with what is
 * to be warned of. */
void per_gpu_record(json_t *record, const struct point *point, const struct round_result *result);

/* The field failed_gpus of a record without throughput. */
void per_gpu_record_failure(json_t *record, const struct point *point,
                            const struct round_result *result);

/* In per_gpu_table.c: a table of the points of several GPUs with a column for each of them, after
 * an empty line; nothing where there is no such point. */
void per_gpu_print(FILE *out, const json_t *points);
