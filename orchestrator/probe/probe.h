/*
 * mpsweep probe: the interference experiments.
 */
#ifndef MPSWEEP_ORCHESTRATOR_PROBE_COMMAND_H
#define MPSWEEP_ORCHESTRATOR_PROBE_COMMAND_H

#include "job/options.h"

/* Runs the probe of that name, or 'all', prints what it found, and returns an exit status. NULL: no
 * name was given. */
int probe_command(const struct options *options, const char *name);

#endif
