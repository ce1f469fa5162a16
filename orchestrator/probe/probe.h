/*
 * mpsweep probe: the interference experiments.
 */
#pragma once

#include "orchestrator/console/invocation.h"

/* Runs the probe that the operand names, or 'all', prints what it found, and returns an exit
 * status. */
int probe_command(const struct invocation *invocation);
