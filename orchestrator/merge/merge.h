/*
 * mpsweep merge: one results file of the files of several shards, or of the nodes of a fleet.
 *
 * Files are read twice: first for a few numbers of each line, then to copy lines as they are. What
 * is in memory grows with the number of lines, by some 60 bytes each, and not with their length.
 */
#pragma once

#include "orchestrator/console/invocation.h"

/* Exit status: EXIT_ALL_MEASURED every point is there; EXIT_SOME_FAILED some are missing, and the
 * others are merged; EXIT_BAD_SETUP. */
int merge_command(const struct invocation *invocation);
