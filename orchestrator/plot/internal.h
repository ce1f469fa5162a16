/*
 * Between the figures and what draws them: each figure writes its own gnuplot data file.
 */
#pragma once

#include <stdio.h>

#include "files/results_read.h"

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

/* explained: an array of one object a point, with id, limited_by, and ceilings: an array of objects
 * with name, title (or none), ips and binding, as `mpsweep explain --format json` prints it. */
enum status plot_ceilings_write(const struct results *results, const json_t *explained,
                                const char *path, FILE *file);

/* STATUS_USAGE: the output's extension names no format. */
enum status plot_check_output(const char *output);

/* Draws data with a script of plots/, as plot_write() does. */
enum status plot_draw(const char *script, const char *data, size_t bytes, const char *output);

/* A string as gnuplot takes it literally: in single quotes, without control characters. */
void plot_write_string(FILE *file, const char *text);

/* Beyond it a number of workers is none. */
#define PLOT_WORKERS_MAX 1000000

/* How every data file begins: the figure's name and title, whether the GPU is emulated, and the
 * caption: the machine, and notes (NULL: no memory for them). */
enum status plot_write_heading(FILE *file, const char *figure, const char *title,
                               const json_t *header, const char *notes);

/* captions[1..n_captions]: paragraphs, ended by NULL, broken into lines that fit the figure. */
void plot_write_captions(FILE *file, const char *const *paragraphs);

/* The machine and the program in one line, from a header. The caller frees it; NULL: no memory. */
char *plot_machine_text(const json_t *header);
