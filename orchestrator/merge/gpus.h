/*
 * How far GPUs differ, from points that several of them have measured. Pure maths.
 *
 * The logarithm of a throughput is taken for the sum of what the point gives, what the GPU gives,
 * and chance. Least squares; a GPU's factor is relative to the geometric mean of all.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/status.h"

/* Factors this near to 1, as a share, do not matter. */
#define MERGE_GPUS_MATTERS 0.01

struct gpus_observation {
    size_t point, gpu;
    double log_ips;
    double half_rel; /* half width of its own 95% interval, as a share; not finite: unknown */
    bool one_round;  /* that interval does not know how runs differ */
};

struct gpus_factor {
    size_t observations; /* 0: nothing to compare it by, and factor is 1 */
    double factor;       /* its throughput over the mean of all GPUs */
    double low, high;    /* 95% interval; 0 and INFINITY where it is not known */
    bool differs;        /* by more than MERGE_GPUS_MATTERS, beyond chance among so many GPUs */
};

struct gpus_model {
    struct gpus_factor *gpus; /* one each */
    size_t count;
    size_t compared;    /* GPUs with points in common with the others */
    bool differ;        /* any does */
    double scatter_rel; /* standard deviation of one measurement */
    double degrees;     /* of freedom of that; 0: known from the measurements' own intervals only */
    bool within_runs_only; /* and those are of one round each */
};

/* Points and GPUs are numbers below the given counts. GPUs that are not linked by points to most
 * others are not compared. STATUS_MEMORY is the only error. */
enum status gpus_model_make(const struct gpus_observation *observations, size_t count,
                            size_t points, size_t gpus, struct gpus_model *out);
void gpus_model_release(struct gpus_model *model);
