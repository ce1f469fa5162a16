/*
 * mpsweep probe: the interference experiments.
 */
#pragma once

#include "job/options.h"

/* Runs the probe of that name, or 'all', prints what it found, and returns an exit status. NULL: no
 * name was given. */
int probe_command(const struct options *options, const char *name);
