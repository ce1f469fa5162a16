/*
 * The "rate" of a record with an open loop, in words.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* To this share of it a rate is known that a search found. */
#define RATE_STEP 0.05

/* A point's, for a cell: "400", "400 poisson", "312 p99<5 ms", "≥312 p99<5 ms" or, in a closed
 * loop, "-". Returns out. */
const char *rate_cell(const json_t *point, char *out, size_t size);

/* What was asked for, of a record's "rate": "400/s", "400/s poisson", "p99 under 5 ms". Returns
 * out. */
const char *rate_asked(const json_t *rate, char *out, size_t size);

/* What a rate that was searched lies between, of a record's "rate". False: it was not, or none
 * held.
 */
bool rate_step(const json_t *rate, double *low, double *high);

/* Whether a search looked at it in short: it holds at least that rate, and may hold more than a
 * step above. */
bool rate_is_least(const json_t *rate);

/* That share of rate_step(), good answers of a server: "1854 to 2049, a step of the search"; ""
 * where it is false. Returns out. */
#define RATE_STEP_BYTES 96
const char *rate_step_text(const json_t *rate, double share, char out[RATE_STEP_BYTES]);

/* Seven fields of CSV, each with a comma before it: offered_ips, arrival, goal_percentile, goal_us,
 * late_share, service_p99_us and saturated; empty where they are not known. */
void rate_print_csv(FILE *out, const json_t *point);
