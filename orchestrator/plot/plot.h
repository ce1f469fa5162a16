/*
 * Figures from a results file, drawn by gnuplot.
 *
 * A figure is a row of a table: a function here that turns results into a gnuplot data file, and
 * a script in plots/ that draws it. The script works by hand too:
 *
 *     mpsweep plot results.jsonl -o data.gp
 *     gnuplot -c plots/throughput.gp data.gp picture.svg
 */
#pragma once

#include "orchestrator/console/invocation.h"

/* Draws a figure, or all that the results allow, and lists those; returns an exit status. A figure
 * appears whole or not at all: an existing file is replaced only by a finished one. */
int plot_command(const struct invocation *invocation);
