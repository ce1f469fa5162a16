/*
 * mpsweep trace: one point of a plan, run for a moment, with what its threads called and what the
 * GPU did for them.
 */
#pragma once

#include "orchestrator/console/invocation.h"

/* Prints, writes what was asked for, and returns an exit status. */
int trace_command(const struct invocation *invocation);
