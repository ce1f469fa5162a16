/*
 * Whether and from when on a series is steady: an initial transient, and a trend.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct steady {
    size_t start;      /* values before the steady part: 0 .. half of them */
    double before_rel; /* how far the mean before lies from that of the steady part, as a share of
                          it; 0 without a transient */
    bool settled;      /* false: it still settled where half of the values were gone */
};

/* Finds the initial transient of a series, oldest first, by MSER-5 (White, Cobb, Spratt 2000): the
 * cut after which the mean is known best. It counts only where the values before differ from those
 * after by far more than chance allows; shortest_batch as in interval_of_series(). */
void steady_find(const double *values, size_t count, size_t shortest_batch, struct steady *out);

/* The trend of a series from its beginning to its end, as a share of its mean: Theil and Sen's
 * slope of the means of up to 16 batches, none shorter than shortest_batch. 0 where Mann and
 * Kendall's test takes it for chance (less than 3 standard errors), or with fewer than 8 batches.
 */
double steady_drift_rel(const double *values, size_t count, size_t shortest_batch);
