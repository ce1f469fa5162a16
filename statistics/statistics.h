/*
 * The little statistics that the results need.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Quantile 0.975 of the normal distribution. */
#define STATISTICS_NORMAL_975 1.959963984540054

/* The share of the standard normal distribution that is below x. */
double statistics_normal_below(double x);

/* The mean; 0 of no values. */
double statistics_mean(const double *values, size_t count);

/* Sorts the values, the smallest first. */
void statistics_sort(double *values, size_t count);

/* The median, between the middle two of an even number. Sorts the values; count > 0. */
double statistics_median(double *values, size_t count);

/* Quantile 0.975 of Student's t with N degrees of freedom, within 0.1% (Abramowitz and
 * Stegun 26.7.5, exact for 1 and 2). */
double statistics_t975(size_t degrees);

/* Half width of the 95% confidence interval of the mean of independent values, as a share of the
 * mean. INFINITY for fewer than two values or a mean of zero. */
double statistics_ci95_rel(const double *values, size_t count);

/* The ranks (1 .. count) of the order statistics between which the quantile of the given share (0
 * .. 1, exclusive) lies with 95% confidence, 2.5% on each side, whatever the distribution of count
 * independent values: exact, from the binomial distribution. False where there are too few values
 * for either rank to exist. */
bool statistics_rank_bounds(uint64_t count, double share, uint64_t *lower, uint64_t *upper);

/* Jain's fairness index, 1/count .. 1 (Jain, Chiu, Hawe 1984); 0 if all values are zero. */
double statistics_jain(const double *values, size_t count);
