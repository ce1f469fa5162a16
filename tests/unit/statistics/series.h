/*
 * Random series whose mean is known, the same for the same seed on every machine.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Uniform in (0, 1). The state must not be 0. */
double series_uniform(uint64_t *state);
double series_normal(uint64_t *state);      /* mean 0, deviation 1 */
double series_exponential(uint64_t *state); /* mean 1 */

enum series_kind {
    SERIES_NORMAL,      /* independent */
    SERIES_EXPONENTIAL, /* independent */
    SERIES_AR,          /* autoregressive of first order, begun in its steady state */
    SERIES_QUEUE,       /* times in an M/M/1 queue, the server busy half of the time */
};

/* Returns the true mean. phi is the correlation of neighbours of SERIES_AR. */
double series_make(enum series_kind kind, double phi, uint64_t *state, double *values,
                   size_t count);

/* A level of 100 plus or minus `percent`, and noise of 1; it stays on one side for `dwell` values:
 * each time, or on average with exponential stays. Returns the true mean; *changes_at is the first
 * value after a change of level, or count. */
double series_modes(double percent, double dwell, bool exponential, uint64_t *state, double *values,
                    size_t count, size_t *changes_at);

/* A level of 100 and noise of 1, and nothing at all in a share of the time, for `length` values on
 * average. Returns the true mean; *changes_at as above. */
double series_stalls(double share, double length, uint64_t *state, double *values, size_t count,
                     size_t *changes_at);

/* Independent values of at least 1 with the tail of Pareto's distribution. */
double series_pareto(double exponent, uint64_t *state, double *values, size_t count);

/* What a worker does in `count` slices whose iterations take 10 ms, but 2% of them 510 ms. Returns
 * the true mean. */
double series_outliers(double slice_s, uint64_t *state, double *values, size_t count);
