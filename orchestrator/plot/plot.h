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

#include <stddef.h>
#include <stdio.h>

#include "common/status.h"

struct plot_request {
    const char *results; /* the results file */
    const char *figure;  /* its name, or "all" */
    const char *output; /* .svg, .png or .pdf: the picture; .gp: the data file alone; of all figures
                         * a directory, which is made */
    const char *explained; /* what explain printed, for the ceilings; NULL: computed from
                            * the calibrations in the results */
};

/*
 * Writes a figure. The output appears whole or not at all: an existing file is replaced only by a
 * finished one. Of all figures report says, a line each, which are drawn, and why others are not.
 *
 * STATUS_USAGE: unknown extension, a broken results file, nothing in it to draw.
 * STATUS_NOT_FOUND: no results file, no script, no gnuplot. STATUS_SYSTEM: gnuplot failed or the
 * output cannot be written.
 */
enum status plot_write(const struct plot_request *request, FILE *report);

/* The table's names, for help and validation: NULL past the last. */
const char *plot_figure_name(size_t index);
