/*
 * Between the figures and what draws them: each figure writes its own gnuplot data file.
 */
#pragma once

#include <stdio.h>

#include "files/results_read.h"
#include "orchestrator/plot/gnuplot.h"

/* Writes the data file of a figure. path is for the texts of errors. STATUS_USAGE: nothing to
 * draw. Errors of the file itself are left to ferror(). */
enum status plot_throughput_write(const struct results *results, const char *path, FILE *file);
enum status plot_latency_write(const struct results *results, const char *path, FILE *file);
enum status plot_phases_write(const struct results *results, const char *path, FILE *file);
enum status plot_launch_write(const struct results *results, const char *path, FILE *file);
enum status plot_heatmap_write(const struct results *results, const char *path, FILE *file);

/* Points of several GPUs: their sum by how many there are; and one beside the others. */
enum status plot_scaling_write(const struct results *results, const char *path, FILE *file);
enum status plot_gpus_write(const struct results *results, const char *path, FILE *file);

/* Results of probes: all arms; and those that are a series. */
enum status plot_probe_write(const struct results *results, const char *path, FILE *file);
enum status plot_probe_series_write(const struct results *results, const char *path, FILE *file);

/* Results of a tune. */
enum status plot_search_write(const struct results *results, const char *path, FILE *file);

/* Merged results of a fleet. */
enum status plot_fleet_write(const struct results *results, const char *path, FILE *file);

/* The points' ceilings, once plot_explain() has given each its explanation: an object with id,
 * limited_by, and ceilings, an array of objects with name, title (or none), ips and binding, as
 * `mpsweep explain --format json` prints it. They come from the file `explained`, or from the
 * calibrations in the results where that is NULL. */
enum status plot_explain(const struct results *results, const char *path, const char *explained);
enum status plot_ceilings_write(const struct results *results, const char *path, FILE *file);

/* Beyond it a number of workers is none. */
#define PLOT_WORKERS_MAX 1000000
