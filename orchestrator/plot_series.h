/*
 * Points as series of a figure over some x: a series is what shares every setting but x. Its title
 * names the settings in which the series differ, and the caption those that they share.
 */
#ifndef MPSWEEP_ORCHESTRATOR_PLOT_SERIES_H
#define MPSWEEP_ORCHESTRATOR_PLOT_SERIES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "common/status.h"
#include "orchestrator/point_text.h"

struct series_row {
    const json_t *point;
    json_int_t id;
    int layout; /* point_layout() */
    double x;
    char name[POINT_TEXT_BYTES]; /* layout, and for P×T the factor that the series keeps */
    char texts[POINT_SETTINGS][POINT_TEXT_BYTES];
    size_t series; /* from 0 */
};

struct series_table {
    struct series_row *rows; /* by series, x, place in the plan */
    size_t count;
    size_t series_count;
    bool varies[POINT_SETTINGS];
    int unconverged;
    bool hybrid_by_processes; /* P×T series keep P; otherwise they keep T */
};

struct series_form {
    /* True if the figure can draw the point; its place on the axis. */
    bool (*take)(const json_t *point, double *x);
    unsigned ignored; /* settings that are no part of a series, as bits 1 << POINT_… */
    bool whole_names; /* P×T points keep both factors: x is no count of workers */
};

/* Those of the points that form takes; series_table_release() frees the rows. */
enum status series_table_make(const json_t *points, const struct series_form *form,
                              struct series_table *out);
void series_table_release(struct series_table *table);

/* "threads, pageable, no sync" */
void series_title(const struct series_table *table, const struct series_row *row, char *title,
                  size_t size);

/* The same of one point: "threads 1×16, pageable, no sync", without launches by stream and CUDA's
 * own choice of waiting. */
void series_label(const struct series_table *table, const struct series_row *row, char *label,
                  size_t size);

/* n_series, and titles, layout_of and variant_of of each; behind the last the rows' data blocks
 * $series_N, each row written by write_row with its line's end. heading names the columns. Without
 * write_row there are no data blocks. */
void series_write(FILE *file, const struct series_table *table, const char *heading,
                  void (*write_row)(FILE *file, const struct series_row *row));

/* "All points: pinned, 220 kernels. ": what all series share; nothing if there is nothing. */
void series_shared_text(FILE *out, const struct series_table *table);

/* "Not drawn: 2 infeasible (threads+mps 1×48, …); 3 without WHAT (…)"; nothing if take() takes all
 * points. */
void series_missing_text(FILE *out, const json_t *points,
                         bool (*take)(const json_t *point, double *x), const char *what);

#endif
