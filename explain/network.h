/*
 * Where workers wait, and for how long. Ceilings are too high where two of them are near each
 * other: workers then wait in line. This is a closed queueing network: as many customers as workers
 * get on at once, a delay (one worker alone), and a line at each thing that they share (launches,
 * copy engines, staging, arithmetic, CPUs), solved by mean value analysis.
 */
#pragma once

#include "explain/ceilings.h"

/* Iterations/s, not kept below the ceilings, if what makes the ceiling `relieved` were twice as
 * fast; CEILING_KINDS, or a kind that no worker waits for: as it is. 0 where the figure of one
 * worker alone is not known. */
double network_ips(const struct explain_point *point, const struct calibration *calibration,
                   enum ceiling_kind relieved);
