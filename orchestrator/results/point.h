/*
 * A point's record in words, for figures and comparisons: its layout, and each setting by itself.
 * Any record is safe to read.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/json.h"

#define POINT_TEXT_BYTES 64
#define POINT_SHAPE_BYTES 48

/* GPUs of a point, each with its layout: 1 where the record has no such field. */
unsigned point_gpus_of(const json_t *point);

/* Its enum layout_kind, the order of a legend; LAYOUT_KINDS for one that is not known. A figure's
 * colour of each is its number from 1. */
int point_layout(const json_t *point);

/* "hybrid 8×2" */
void point_name(const json_t *point, char text[POINT_TEXT_BYTES]);

/* "16×4", processes by threads; with several streams a thread "1×1×64". Returns text. */
const char *point_shape(const json_t *point, char text[POINT_SHAPE_BYTES]);

/* CPUs that its processes kept busy; in older records, their workers. NAN where that is not known.
 */
double point_cpus_in_use(const json_t *point);

/* Half of the 95% interval of its throughput, as a share of it; NAN where none is known. Of a rate
 * that was searched, a step of the search, or NAN if that went on to no such step: how much rounds
 * at the rate differ shows nothing of it. */
double point_half_rel(const json_t *point);

/* The same as "9.5%", or "". Of an unconverged point rounded up, in the third digit: what is above
 * the goal must not read as the goal. Returns text. */
#define POINT_HALF_BYTES 32
const char *point_half_width(const json_t *point, char text[POINT_HALF_BYTES]);

/* That interval: "±9.5%"; of a wide one the ends, "1255 to 12358"; "" where
 * none is known. The ends are those of `winner`, of a search for throughput, if it is this point
 * (NULL: none); else they are a factor down and up, since rates are above 0. Returns text. */
#define POINT_INTERVAL_BYTES 72
const char *point_interval(const json_t *point, const json_t *winner,
                           char text[POINT_INTERVAL_BYTES]);

/* Of the requests to a server, the share without a good answer; 0 of other workloads. */
double point_failed_share(const json_t *point);

/* The text of its first warning of that kind; "": it has none. Borrowed. */
const char *point_warning(const json_t *point, const char *kind);

/* What a limit of the latency is held against, with the fields of latency_us: there a request
 * without a good answer is later than any limit. Borrowed. */
const json_t *point_latency(const json_t *point);

/* A percentile of it ("p99") in microseconds: INFINITY where it is such a request, NAN where it is
 * not known. */
double point_latency_us(const json_t *point, const char *percentile);

/* Of the GPU, an iteration; NAN where the energy is not known. */
double point_joules(const json_t *point);

/* A number of CPUs with three digits: "0.73", "16.0". Returns text. */
#define POINT_CPUS_BYTES 32
const char *point_cpus_text(double cpus, char text[POINT_CPUS_BYTES]);

/* A status that comes with a measurement: ok or unconverged. */
bool point_status_is_measured(const char *status);

/* True with such a status and a throughput that is finite and not negative. */
bool point_is_measured(const json_t *point);

/* True if it is measured, not 0, and no open loop, which does what is offered. */
bool point_is_closed(const json_t *point);

/* True if it is an open loop that offered more than was served: its queue grew. */
bool point_is_overloaded(const json_t *point);

/* True if its rate, in an open loop, is one that a search found: a result and no setting. */
bool point_rate_is_searched(const json_t *point);

/* Whether both failed for the same reason, which need not be printed again; in which process makes
 * no difference. other may be NULL. */
bool point_fails_like(const json_t *point, const json_t *other);

/* Why a point has no number: "infeasible: too many clients", and "interrupted" just once. Returns
 * text. */
#define POINT_FAILURE_TEXT 1100
const char *point_failure(const json_t *point, char text[POINT_FAILURE_TEXT]);
