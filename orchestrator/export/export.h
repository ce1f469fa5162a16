/*
 * mpsweep export: the points of a results file for other programs, and as the table of a sweep.
 */
#pragma once

#include "files/results_read.h"
#include "orchestrator/console/invocation.h"

/* Prints a results file; returns an exit status. */
int export_command(const struct invocation *invocation);

/* Prints what is known of the run and of each point. results are displayable. */
void export_print_openmetrics(FILE *out, const struct results *results);
