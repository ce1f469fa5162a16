/*
 * Which of several points is the best: for the last lines of a sweep, deployments and pages.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/* Whether its status is ok, and whether it is unconverged; of both the throughput is known. */
bool best_is_ok(const json_t *point);
bool best_is_unconverged(const json_t *point);

/* Iterations a second; of an open loop that keeps up what it was offered, less the share of requests
 * that failed: what a window had is that by chance. */
double best_value(const json_t *point);

/* Whether a does more than b; or as much, with the lower 99th percentile. */
bool best_is_better(const json_t *a, const json_t *b);

/* The ends of its 95% interval, or its value where none is known; of an open loop the rate. */
double best_low(const json_t *point);
double best_high(const json_t *point);

/*
 * The best of an array of measured points, borrowed; NULL: it is empty. It is the one that does
 * most of those that are ok. If unconverged points of a closed loop, steady and without a stall,
 * have their whole interval above that of this one, it is the one that does most of them: no point
 * does more than the best for certain. Where none is ok it is the one that does most.
 */
json_t *best_of(const json_t *points);
