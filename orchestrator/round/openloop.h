/*
 * The open loop of a point: how long to look, what was offered and what became of it.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "statistics/histogram.h"
#include "orchestrator/plan/plan.h"
#include "shm/shm.h"

struct round_limits;
struct round_result;
struct measurement;

/* What the workers of one round or of several add up to. All zero bytes: nothing yet, and that of a
 * closed loop. */
struct openloop_counts {
    struct histogram
        service;      /* from the actual start; the round's latency is from the planned one */
    uint64_t late;    /* of the iterations counted, begun after their planned start */
    uint64_t backlog; /* planned before the end of the window, and not begun */
    bool saturated;   /* any round was */
};

/*
 * Length of the window at the rate of the point. There is no throughput to be found out, since it
 * is the one that is offered: the window lasts as long as it takes to offer limits->samples
 * iterations, between duration and max_duration. Ten of them are beyond the percentile that is
 * looked at.
 */
#define OPENLOOP_SAMPLES 1000
#define OPENLOOP_SAMPLES_P999 10000
uint64_t openloop_window_ns(const struct point *point, const struct round_limits *limits);

/* Adds a drained worker's slot. */
void openloop_collect(struct openloop_counts *counts, const struct shm_slot *slot);

/* Tells whether the round was saturated, after all its slots: more than two iterations a worker and
 * 5% of what was offered in its window were left waiting. */
void openloop_judge(struct openloop_counts *counts, const struct point *point, double window_s);

void openloop_merge(struct openloop_counts *into, const struct openloop_counts *from);

/* What stands in place of --precision: whether there are so many iterations that the 95% interval
 * of p99 has an upper end, and whether the goal of a search is kept. */
#define OPENLOOP_LEAST_SAMPLES 368
bool openloop_converged(const struct point *point, const struct measurement *measurement);

/* Whether a latency is as a goal wants it, in a round or in all of a measurement. */
bool openloop_holds(const struct rate_goal *goal, const struct round_result *result);

/* Puts "rate" into the record of a point with an open loop, and a warning where it is saturated. */
void openloop_record(json_t *record, const struct point *point,
                     const struct measurement *measurement);

/* What stands behind an unconverged point with a "rate" in the table: why it is, and what to give.
 */
void openloop_print_unconverged(FILE *out, const json_t *point);

/* For tables: "400", "400 poisson", "312 p99<5 ms" or, in a closed loop, "-". */
const char *openloop_text(const json_t *point, char *out, size_t size);

/* What was asked for, of a record's "rate": "400/s", "400/s poisson", "p99 under 5 ms". */
const char *openloop_name(const json_t *rate, char *out, size_t size);

/* Five fields, each with a comma before it: offered_ips, arrival, late_share, service_p99_us and
 * saturated; empty where they are not known. */
void openloop_print_csv(FILE *out, const json_t *point);
