/*
 * What throughput is to be expected of a point. Ceilings are too high where two of them are near
 * each other: workers then wait in line. This is a closed queueing network: as many customers as
 * workers get on at once, a delay (one worker alone), and a line at each thing that they share
 * (launches, copy engines, staging, arithmetic, CPUs), solved by mean value analysis.
 */
#pragma once

#include "explain/ceilings.h"

/* Iterations/s, never above the lowest ceiling; 0 where the figure of one worker alone is not
 * known. */
double predict_ips(const struct explain_point *point, const struct calibration *calibration);

/* The same, but not kept below the ceilings, if what makes that ceiling were twice as fast;
 * CEILING_KINDS, or a kind that no worker waits for: as it is. */
double predict_relieved_ips(const struct explain_point *point,
                            const struct calibration *calibration, enum ceiling_kind kind);
