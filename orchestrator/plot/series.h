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

struct series_form {
    /* True if the figure can draw the point; its place on the axis. */
    bool (*take)(const json_t *point, double *x);
    unsigned ignored; /* settings that do not separate series, as bits 1 << POINT_… */
    bool whole_names; /* P×T points keep both factors: x does not count workers */
};

/* Those of the points that form takes; series_table_release() frees the rows. */
enum status series_table_make(const json_t *points, const struct series_form *form,
                              struct series_table *out);
/* The same of results at path, of which there must be one at least: else STATUS_USAGE, with "'PATH'
 * has no measured point WHAT" ("of several GPUs: measure with ..."). */
enum status series_table_need(const struct results *results, const struct series_form *form,
                              const char *path, const char *what, struct series_table *out);
void series_table_release(struct series_table *table);

/* n_series, and titles, layout_of and variant_of of each; behind the last the rows' data blocks
 * $series_N, each row written by write_row with its line's end. heading names the columns. Without
 * write_row there are no data blocks. */
void series_write(FILE *file, const struct series_table *table, const char *heading,
                  void (*write_row)(FILE *file, const struct series_row *row));

/* What stands above and below a figure of series. */
struct series_heading {
    const char *figure, *title; /* as in the table of figures; the picture's heading */
    const char *notes;          /* sentences of the caption, a blank behind each */
    const char *missing;        /* "without phases": of a measured point that is not drawn */
    size_t rows_most;           /* at most this many points are drawn; 0: all */
};

/* How the figure's data file begins (plot_write_heading()). The caption lists what all series
 * share, then the notes, then what is not drawn and why. */
enum status series_write_heading(FILE *file, const struct series_heading *heading,
                                 const struct series_form *form, const struct series_table *table,
                                 const struct results *results);

/* -- figures of a row for each point, from the top: their labels -- */

/* A picture has at most this many rows. */
#define PLOT_ROWS_MAX 250

size_t plot_rows_count(const struct series_table *table);

/* How the figure's data file begins: the heading, with the number of rows left out, n_rows,
 * and the array labels. The rest is written from the table, which the caller releases. path and
 * what: as for series_table_need(). */
enum status plot_rows_begin(FILE *file, const struct series_heading *heading,
                            const struct series_form *form, const struct results *results,
                            const char *path, const char *what, struct series_table *out);
