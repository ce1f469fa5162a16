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

#include "common/status.h"
#include "files/results_read.h"
#include "orchestrator/console/invocation.h"

/* Draws a figure, or all that the results allow, and lists those; returns an exit status. A figure
 * appears whole or not at all: an existing file is replaced only by a finished one. */
int plot_command(const struct invocation *invocation);

/* Draws a figure of results that are displayable (results_make_displayable()) as SVG, a text that
 * the caller frees; path: theirs, for errors. STATUS_USAGE: there is no such figure, or the results
 * have nothing to draw in it. Others as of plot_end(). */
enum status plot_svg(const struct results *results, const char *path, const char *figure,
                     char **out);
