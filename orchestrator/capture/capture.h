/*
 * mpsweep record: runs a program alone, records a few of its iterations, and writes what an
 * iteration does as a described workload, which it then measures to report how alike they are.
 */
#pragma once

#include "orchestrator/console/invocation.h"

/* Prints, writes the job file, and returns an exit status. */
int capture_command(const struct invocation *invocation);
