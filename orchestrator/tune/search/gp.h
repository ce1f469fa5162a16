/*
 * A Gaussian process: what measurements of some points show of all of them. Each point has a prior
 * mean and standard deviation, and features that show how far it is from others. Pure functions of
 * numbers; usually these are logarithms.
 *
 * Measurements come one after the other: each is a row of the Cholesky factor over all points, so
 * that mean and variance of every point are known at any time. With n measurements of N points a
 * further one takes n × N multiplications.
 *
 * Order of calls: gp_new(), gp_observe() as often as there are rows, gp_free(). What
 * gp_condition_on_mean() adds gp_forget() takes away again.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/status.h"

#define GP_FEATURES 20

struct gp_point {
    double mean, sd;
    double features[GP_FEATURES]; /* numbers first, then classes */
};

/* Of the covariance function: how points go together. */
struct gp_hyperparameters {
    size_t numbers;           /* features of which the difference counts; */
    size_t features;          /* of the others, up to this number, only whether they are equal */
    double class_step;        /* how far unequal classes are apart */
    double interaction_share; /* of the variance, that does not add up feature by feature */
    double level;             /* standard deviation of what all points have in common */
    double shift;             /* and of what shifted measurements have in common */
    double signal_scale;      /* a factor of all points' sd */
    double length_scale;      /* distances are divided by it */
};

struct gp;

/* points are the caller's, and stay as they are. STATUS_MEMORY is the only error. */
enum status gp_new(const struct gp_point *points, size_t count,
                   const struct gp_hyperparameters *hyper, size_t rows_most, struct gp **out);
void gp_free(struct gp *gp);

/* A measurement of a point; ignored where there is no row left for it. shifted: all of those are
 * off by the same unknown amount, as rounds of finals may be against short windows. */
void gp_observe(struct gp *gp, size_t point, bool shifted, double value, double noise_sd);

/* As if the point had been measured and its mean were right: only variances change. A batch is
 * chosen so, one point after the other. */
void gp_condition_on_mean(struct gp *gp, size_t point, double noise_sd);

/* Takes back the last gp_condition_on_mean() calls until this many rows are left. */
size_t gp_rows(const struct gp *gp);
void gp_forget(struct gp *gp, size_t rows);

double gp_mean(const struct gp *gp, size_t point);
double gp_sd(const struct gp *gp, size_t point);

/* Standard deviation of the difference of two points. */
double gp_sd_between(const struct gp *gp, size_t a, size_t b);

/* The logarithm of the marginal likelihood of all measurements, without a constant: which
 * hyperparameters fit. */
double gp_log_likelihood(const struct gp *gp);
