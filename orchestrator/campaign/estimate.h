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
 * ending them, with a part for what processes weigh. */
#define ESTIMATE_POINT_S 0.1
#define ESTIMATE_IN_FLIGHT_S 0.007
#define ESTIMATE_START_S 0.4
#define ESTIMATE_START_PROCESS_S 0.03

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

/* What a point's processes of one GPU weigh in a start: a single one about 1. Contexts are made one
 * after the other, each later for those that are there (over MPS, on an H200 16 take 1.5 s and 48
 * 7 s, on an H100 4 0.6 s, 8 0.8 s and 16 1.7 s), and for queues beyond those of the default (on an
 * H100 one with 32 takes 0.8 s more, with its end). */
double estimate_start_weight(const struct point *point);

/* Seconds to start workers of its own, and to end them. */
double estimate_start_s(const struct point *point);
