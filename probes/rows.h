/*
 * The rows of all probes, each in the file of its name.
 */
#ifndef MPSWEEP_PROBES_ROWS_H
#define MPSWEEP_PROBES_ROWS_H

#include "probes/probe.h"

extern const struct probe probe_copy_block;
extern const struct probe probe_launch_delay;
extern const struct probe probe_lazy_load;

#endif
