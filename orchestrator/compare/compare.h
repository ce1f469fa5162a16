/*
 * mpsweep compare: two results files, point by point, with a verdict on each (docs/compare.md).
 */
#pragma once

#include "orchestrator/console/invocation.h"

/* Compares, prints or draws the comparison, and returns an exit status: EXIT_REGRESSION if a point
 * is worse. */
int compare_command(const struct invocation *invocation);
