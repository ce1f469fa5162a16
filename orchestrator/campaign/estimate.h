/*
 * How long a point will take to measure, about: for the time that is left, and for dealing points
 * to shards. Pure functions.
 */
#pragma once

#include "orchestrator/plan/plan.h"
#include "orchestrator/round/round.h"

/* What a point costs beside its window, in seconds: getting ready, with streams, buffers and a
 * graph for each iteration in flight, one after the other (on H200s 0.6 s for 64 and 0.9 s for 128,
 * on an H100 two thirds of that); and, unless it has the workers of another one, starting and
 * ending them, making one context after the other (on an H200: 16 MPS processes 1.5 s, 48 processes
 * 7 s). */
#define ESTIMATE_POINT_S 0.1
#define ESTIMATE_IN_FLIGHT_S 0.007
#define ESTIMATE_START_S 0.4
#define ESTIMATE_START_PROCESS_S 0.1

/* A thread gets its streams ready one after the other, each with its graph (on an H200 1.1 s for
 * 96), and threads do so at the same time. */
#define ESTIMATE_STREAM_S 0.012

/* On a slow machine all this takes this many times as long. */
#define ESTIMATE_SLOW 2.0

/* Seconds of one round on workers that are there: its window, or the windows of a search, with the
 * warm-up. How long fixed work takes is not known beforehand: this is the least. */
double estimate_point_s(const struct point *point, const struct round_limits *limits);

/* The same with the longest windows, and on a slow machine. */
double estimate_point_most_s(const struct point *point, const struct round_limits *limits);

/* Seconds to start workers of its own, and to end them. */
double estimate_start_s(const struct point *point);
