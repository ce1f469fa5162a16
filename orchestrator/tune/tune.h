/*
 * mpsweep tune: the best layout for one workload, under constraints and within a time.
 */
#pragma once

#include "orchestrator/console/invocation.h"

/* Searches, prints what it found and its errors, and returns an exit status. */
int tune_command(const struct invocation *invocation);
