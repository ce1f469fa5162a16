/*
 * The rounds of one point, added up: what its record is made from.
 */
#pragma once

#include "orchestrator/plan/plan.h"
#include "orchestrator/round/result.h"

#define SATURATION_STEPS 32

struct saturation_step {
    uint64_t rate_units;
    double latency_us;   /* of the goal's percentile, as openloop_latency_ns() */
    double failed_share; /* of the requests to a server */
    uint64_t backlog;    /* iterations that were left waiting */
    bool held;
    double seconds; /* of the window */
};

/* What a search for the highest rate has found (orchestrator/campaign/saturation.h). All zero
 * bytes: not begun. */
struct saturation {
    uint64_t rate_units;   /* what was found, 0: nothing yet */
    uint64_t failed_units; /* the lowest that did not hold; 0: none is known */
    bool coarse;           /* there is much between the two: the next round goes on searching */
    double capacity_ips;   /* of the closed loop; 0: not known, or it bounds nothing */
    uint64_t beat_units;   /* asked for, and recorded: a lower rate is of no interest */
    unsigned count;
    struct saturation_step steps[SATURATION_STEPS];
};

/* All zero bytes are an empty one. */
struct measurement {
    unsigned rounds; /* that gave a number */
    double *throughputs, *intervals, *windows;
    struct percentiles *percentiles;
    struct round_fixed *fixed;
    struct round_result last; /* counts and histograms of all rounds, workers of the last */
    struct saturation search;
    enum status status; /* of the round that ended it; OK while all went well */
    double seconds;     /* wall time of all rounds */
};

/* Adds a round, taking what it owns; one that was interrupted counts only if it is the first.
 * STATUS_MEMORY is the only error. */
enum status measurement_add(struct measurement *measurement, struct round_result *round,
                            double seconds);
void measurement_release(struct measurement *measurement);

/*
 * Between two rounds of a point the others have theirs: a packed measurement takes the room of what
 * it counted, where the histograms of one that is open take the room of what they could count.
 *
 * measurement_pack() takes over what the measurement owns, which is empty then; NULL: no memory,
 * and the measurement is as it was. measurement_unpack() gives it back and frees the packed one;
 * of NULL it gives an empty one.
 */
struct measurement_packed;
struct measurement_packed *measurement_pack(struct measurement *measurement);
void measurement_unpack(struct measurement_packed *packed, struct measurement *out);

/* The interval over all rounds; unknown without one. */
void measurement_interval(const struct measurement *measurement, struct interval *out);

/* Whether the numbers are as sure as asked for, and no worker stood still: a closed loop's interval
 * reaches precision_rel; an open loop has the iterations for an upper end of p99's interval and
 * keeps the goal of a search.
 */
bool measurement_converged(const struct point *point, const struct measurement *measurement,
                           double precision_rel);
