/*
 * Whether and from when on a series is steady: an initial transient, and a trend.
 * Series are at most INTERVAL_MOST_VALUES long.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* A transient is at most this share of a series. A level that changes later may be one of two that
 * the process keeps changing between: what follows a stay of any length lasts 19 times as long in
 * only one of 20 cases, if changes come by chance. */
#define STEADY_SHARE 20

struct steady {
    size_t start;      /* values before the steady part: at most a STEADY_SHARE-th */
    double before_rel; /* how far the mean before the change of level lies from that behind it, as a
                          share of it; 0 without one */
    bool settled;      /* false: the level changed later than that, and all values are kept */
};

/* Finds a change of level at the beginning of a series, oldest first, by MSER-5 (White, Cobb,
 * Spratt 2000): the cut in the first half after which the mean is known best; or else the one that
 * parts two levels best. It counts only where the values before differ from those after by far more
 * than chance allows, and most of them do: a few outliers are not a transient. shortest_batch as in
 * interval_of_series(). */
void steady_find(const double *values, size_t count, size_t shortest_batch, struct steady *out);

/* The trend of a series from its beginning to its end, as a share of its mean: Theil and Sen's
 * slope of the means of up to 16 batches, none shorter than shortest_batch. 0 where Mann and
 * Kendall's test takes it for chance (less than 3 standard errors), or with fewer than 8 batches.
 */
double steady_drift_rel(const double *values, size_t count, size_t shortest_batch);
