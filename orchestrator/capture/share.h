/*
 * How many blocks kernels need so that a workload does as much over MPS as a program, and what they
 * are bound by: the search for both, by any way of measuring. Pure.
 *
 * The more blocks a kernel has, the less of the GPU it leaves to the kernels of other processes,
 * and the less all of them do together. So the ratio falls with the scale, and the search halves
 * the logarithm of the scale; between two scales whose ratios are known it goes where a line
 * between them has a ratio of 1. Where no number of blocks brings kernels that compute near it, it
 * does the same with kernels that wait for a cache which other processes fill as well.
 */
#pragma once

#include <stdbool.h>

#include "common/status.h"

struct share {
    bool cached;         /* kernels are bound by the cache; they compute otherwise */
    double scale, ratio; /* of blocks; what the workload does by what the program does */
    double error;        /* of the ratio, as a share */
};

/* Sets the ratio of a workload with that scale and bound, and its error. STATUS_UNSUPPORTED: there
 * is no such workload here, nor one that is further from a scale of 1. */
typedef enum status (*share_measure)(void *data, struct share *share);

struct share_search {
    double least, most; /* scales that change something: least <= 1 <= most */
    bool can_load;      /* there are kernels that the cache can bind */
    double near_rel; /* near enough: within this share of a ratio of 1, and up to as much error */
    unsigned tries;  /* measurements at most of either kind, at least 1 */
    share_measure measure;
    void *data;
};

/* Less than this share of the way to a ratio of 1 is noise, and no reason for another workload. */
#define SHARE_HELPS_REL 0.5

/* The nearest of all that were measured, but bound by the cache only where that is clearly nearer.
 * Measures kernels that compute with a scale of 1 first. Errors of measure are handed on. */
enum status share_find(const struct share_search *search, struct share *out);
