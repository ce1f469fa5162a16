/*
 * Durations of one metric in one round: what is kept of them, and what many rounds show together.
 *
 * Of very many samples a thousand are kept, evenly by rank, so that a hundred rounds of twenty arms
 * have room. Medians, their intervals, means and longest ones are those of all samples; only
 * quantiles of rounds together come from what is kept.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"
#include "probes/shm.h"

#define PROBE_KEPT 1024

/* Microseconds; all but scale as they came. All zero bytes are a round without samples. */
struct probe_series {
    double *us; /* in ascending order; owned by its maker */
    size_t count;
    uint64_t samples; /* that there were: more than count where some were left out */
    uint64_t dropped; /* and that a process had no room for, which nothing is known of */
    double median_us;
    double low_us, high_us; /* order statistics, its 95% interval; NAN of too few */
    double mean_us, longest_us;
    double
        scale; /* the round's durations are all of them times this, see probe_level(); 1 at first */
};

/* Makes a series of samples in any order; sorts and thins them where they are, and points there. */
void probe_series_make(double *us, size_t count, struct probe_series *out);

/* That of one metric of all processes, which have ended; owned. STATUS_MEMORY. */
enum status probe_series_take(const struct probe_shm *shm, unsigned metric,
                              struct probe_series *out);

/* The quantile of a share of the samples of all rounds together, by nearest rank; of 0.5 the
 * median. NAN without a sample. STATUS_MEMORY. */
enum status probe_series_quantile(const struct probe_series *rounds, unsigned count, double share,
                                  double *out);
