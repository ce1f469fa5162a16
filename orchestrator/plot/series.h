/*
 * Points as series of a figure over some x: a series is what shares every setting but x. Its title
 * names the settings in which the series differ, and the caption those that they share.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "files/results_read.h"
#include "common/status.h"
#include "orchestrator/results/point.h"
#include "orchestrator/results/settings.h"

struct series_row {
    const json_t *point;
    json_int_t id;
    int layout; /* point_layout() */
    double x;
    char name[POINT_TEXT_BYTES]; /* layout, and for P×T the factor that the series keeps */
    char texts[SETTINGS_IDS][POINT_TEXT_BYTES];
    size_t series; /* from 0 */
};

struct series_table {
    struct series_row *rows; /* by series, x, place in the plan */
    size_t count;
    size_t series_count;
    bool varies[SETTINGS_IDS];
    int unconverged;
    bool hybrid_by_processes; /* P×T series keep P; otherwise they keep T */
};

/* A figure of series, and what stands above and below it. */
struct series_figure {
    const char *name, *title; /* as in the table of figures; the picture's heading */
    const char *notes;        /* sentences of the caption, a blank behind each */
    const char *needed;       /* "of several GPUs: measure with ...": what no point is */
    const char *missing;      /* "without phases": of a measured point that is not drawn */
    /* True if the figure can draw the point; its place on the axis. */
    bool (*take)(const json_t *point, double *x);
    unsigned ignored; /* settings that do not separate series, as bits 1 << enum option_id */
    bool whole_names; /* P×T points keep both factors: x does not count workers */
    bool has_rows;    /* a row for each point, from the top */
};

/* Whether any point of the results is one that take() takes. */
bool series_takes_any(const struct results *results, bool (*take)(const json_t *point, double *x));

/* Lets rates of an open loop be no settings that separate series: the layouts do, in full. */
void series_join_rates(struct series_figure *figure);

/* The rate that the point's open loop offered; NAN: it has none. */
double series_offered_ips(const json_t *point);

/* Those of the points that the figure takes; series_table_release() frees the rows. STATUS_USAGE:
 * none; path is that of the results. */
enum status series_table_make(const struct series_figure *figure, const struct results *results,
                              const char *path, struct series_table *out);
void series_table_release(struct series_table *table);

/* How the figure's data file begins (plot_write_heading()). The caption lists what all series
 * share, then the notes, then what is not drawn and why. */
enum status series_write_heading(FILE *file, const struct series_figure *figure,
                                 const struct series_table *table, const struct results *results);

/* A picture has at most this many rows. */
#define PLOT_ROWS_MAX 250

/* Makes the table and writes the heading. Of a figure of rows n_rows and the array labels follow,
 * and the table keeps only the points that are drawn. */
enum status series_begin(FILE *file, const struct series_figure *figure,
                         const struct results *results, const char *path, struct series_table *out);

/* Whether the row at index is the first, or the last, of its series. */
bool series_begins_at(const struct series_table *table, size_t index);
bool series_ends_at(const struct series_table *table, size_t index);

/* n_series, and titles, layout_of and variant_of of each; behind the last the rows' data blocks
 * $series_N, each row written by write_row with its line's end. heading names the columns. Without
 * write_row there are no data blocks. */
void series_write(FILE *file, const struct series_table *table, const char *heading,
                  void (*write_row)(FILE *file, const struct series_row *row));
