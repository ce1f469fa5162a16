/*
 * How long a point will take to measure, about: for the time that is left, and for dealing points
 * to shards. Pure functions.
 */
#pragma once

#include "orchestrator/plan/plan.h"
#include "orchestrator/round/round.h"

/* Seconds of one round on workers that are there: its window, or the windows of a search, with the
 * warm-up. Nobody knows beforehand how long fixed work takes: this is the least. */
double estimate_point_s(const struct point *point, const struct round_limits *limits);

/* Seconds to start workers of its own, and to end them. */
double estimate_start_s(const struct point *point);
