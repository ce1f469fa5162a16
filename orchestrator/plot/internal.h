/*
 * Between the figures and what draws them: each figure writes its own gnuplot data file.
 */
#pragma once

#include <stdio.h>

#include "files/results_read.h"
#include "orchestrator/plot/gnuplot.h"

/* Writes the data file of a figure. path is for the texts of errors. STATUS_USAGE: nothing to
 * draw. Errors of the file itself are left to ferror(). */
typedef enum status plot_write(const struct results *results, const char *path, FILE *file);

plot_write plot_throughput_write, plot_latency_write, plot_phases_write, plot_launch_write,
    plot_heatmap_write, plot_host_write;
plot_write plot_scaling_write, plot_gpus_write;       /* of points of several GPUs */
plot_write plot_probe_write, plot_probe_series_write; /* of probes: all arms; those of a series */
plot_write plot_search_write;                         /* of a tune */
plot_write plot_fleet_write;                          /* of merged results of a fleet */

/* The points' ceilings, once plot_explain() has given each its explanation: an object with id,
 * limited_by, and ceilings, an array of objects with name, title (or none), ips and binding, as
 * `mpsweep explain --format json` prints it. They come from the file `explained`, or from the
 * calibrations in the results where that is NULL. */
enum status plot_explain(const struct results *results, const char *path, const char *explained);
plot_write plot_ceilings_write;

/* Beyond it a number of workers is none. */
#define PLOT_WORKERS_MAX 1000000
