/*
 * What a whole probe measured, and the numbers that its notes name beside the verdict.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"
#include "probes/series.h"
#include "probes/verdict.h"

struct probe;
struct probe_arm;

struct probe_arm_data {
    const struct probe_arm *arm;
    bool chosen;
    /* STATUS_OK; or why it has no rounds: STATUS_UNSUPPORTED and STATUS_NOT_FOUND where this
     * machine lacks something, anything else where it failed */
    enum status status;
    char error[512];
    unsigned rounds;                                         /* measured */
    struct probe_series series[PROBE_METRICS][PROBE_ROUNDS]; /* owned */
    uint64_t blocked[PROBE_METRICS];
    unsigned attached_expected, attached_seen; /* MPS clients of the last round */
};

struct probe_outcome {
    const struct probe *probe;
    struct probe_arm_data *arms; /* as many as the probe has, in its order */
};

/* The data of one of its arms by name, NULL: there is no such arm; and whether it was measured. */
struct probe_arm_data *probe_outcome_arm(const struct probe_outcome *outcome, const char *name);
bool probe_arm_is_measured(const struct probe_arm_data *data);

struct probe_note {
    char text[256];
    const char *quantity; /* the name in the record of the number that it is about, or NULL */
    double value;
};

/* Scales the first metric of each round of an arm by how much its level metric shows its processes
 * to be slower or faster than those of the other rounds of arms with the same control. It leaves
 * alone a round without samples of it, and a probe without a level metric. To be called once, when
 * all is measured. */
void probe_level(struct probe_outcome *outcome);

/* The median of an arm's metric in microseconds, as in the table: the geometric mean of the rounds'
 * medians. NAN where the arm was not measured, or has no sample of the metric. */
double probe_outcome_median_us(const struct probe_outcome *outcome, const char *arm,
                               unsigned metric);

/* The same for a quantile of the samples of all rounds together. */
double probe_outcome_quantile_us(const struct probe_outcome *outcome, const char *arm,
                                 unsigned metric, double share);
