/*
 * mpsweep explain: what limits each point of a results file, and what would lift it.
 */
#pragma once

#include "orchestrator/console/invocation.h"

/* Prints errors; gives the exit status: EXIT_SOME_FAILED where a remedy was not confirmed. */
int explain_command(const struct invocation *invocation);
