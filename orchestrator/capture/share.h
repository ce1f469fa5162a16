/*
 * How many blocks kernels need so that a workload does as much over MPS as a program: the search
 * for that number, by any way of measuring. Pure.
 *
 * The more blocks a kernel has, the less of the GPU it leaves to the kernels of other processes,
 * and the less all of them do together. So the ratio falls with the scale, and the search halves
 * the logarithm of the scale; between two scales whose ratios are known it goes where a line
 * between them has a ratio of 1.
 */
#pragma once

#include "common/status.h"

/* What the workload does by what the program does, with its blocks times this. STATUS_UNSUPPORTED:
 * there is no such workload here, nor one that is further from a scale of 1. */
typedef enum status (*share_measure)(void *data, double scale, double *ratio);

struct share_search {
    double least, most; /* scales that change something: least <= 1 <= most */
    double near_rel;    /* near enough: within this share of a ratio of 1 */
    unsigned tries;     /* measurements at most, at least 1 */
    share_measure measure;
    void *data;
};

struct share {
    double scale, ratio; /* of all that were measured the nearest */
};

/* Measures a scale of 1 first. Errors of measure are handed on. */
enum status share_find(const struct share_search *search, struct share *out);
