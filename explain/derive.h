/*
 * The figures of a calibration that follow from its runs of the iteration. Pure functions.
 */
#pragma once

#include "explain/calibration.h"

/* Fills in those of one worker alone, of the crowd, and of pageable copies that wait, as far as the
 * runs have them. */
void derive_figures(struct calibration *calibration);

/* Takes what a number of threads of a process copy, bytes/s each way in pageable memory. Fewer
 * threads come first. */
void derive_staging(struct calibration *calibration, unsigned workers, double bytes_per_s);

/* The run in that layout, with those settings; NULL: there is none. */
const struct calibration_run *derive_run(const struct calibration *calibration,
                                         const struct calibration_run *like);
