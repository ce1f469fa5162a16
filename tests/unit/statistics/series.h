/*
 * Random series whose mean is known, the same for the same seed on every machine.
 */
#pragma once

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
