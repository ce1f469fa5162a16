/*
 * Numbers for what a probe tells beside its verdict, from the samples of an arm.
 */
#pragma once

#include "probes/probe.h"

/* Microseconds. NAN where the arm was not measured, or has no sample of the metric. */

/* As it stands in the table: the geometric mean of the rounds' medians. */
double told_median_us(const struct probe_outcome *outcome, const char *arm, unsigned metric);

/* A quantile of the samples of all rounds together. */
double told_quantile_us(const struct probe_outcome *outcome, const char *arm, unsigned metric,
                        double share);
