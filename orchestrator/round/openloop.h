/*
 * The open loop of a point: how long to look, what was offered and what became of it.
 */
#pragma once

#include "orchestrator/round/round.h"
#include "shm/shm.h"

/*
 * Length of the window at the rate of the point. Throughput is what is offered, and not measured:
 * the window lasts as long as it takes to offer limits->samples iterations, between duration and
 * max_duration. Ten of them are beyond the percentile of interest.
 */
#define OPENLOOP_SAMPLES 1000
#define OPENLOOP_SAMPLES_P999 10000
uint64_t openloop_window_ns(const struct point *point, const struct round_limits *limits);

/* Adds a drained worker's slot. */
void openloop_collect(struct openloop_counts *counts, const struct shm_slot *slot);

/* Decides, after all slots, whether the round was saturated: more than two iterations a thread and
 * 5% of what was offered in its window were left waiting; or, where streams or connections hold
 * what would wait, as many more were not done at its end as at its begin, as its latencies show. */
void openloop_judge(struct openloop_counts *counts, const struct point *point, double window_s);

/* The goal's percentile of all iterations; INFINITY where it is that of a request without a good
 * answer. */
double openloop_latency_ns(const struct rate_goal *goal, const struct round_result *result);

/* Whether a latency meets a goal, in a round or in all of a measurement. */
bool openloop_holds(const struct rate_goal *goal, const struct round_result *result);
