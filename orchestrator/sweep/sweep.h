/*
 * The sweep command: every point of a plan, measured.
 */
#pragma once

#include "orchestrator/console/invocation.h"

/* Runs the sweep that the job describes. Prints progress and errors on standard error and the
 * results on standard output. Returns an exit status. */
int sweep_command(const struct invocation *invocation);
