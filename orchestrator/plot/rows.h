/*
 * Figures of a row a point, from the top: their labels.
 */
#pragma once

#include "orchestrator/plot/series.h"

/* A picture has at most so many: rows beyond it are left out. */
#define PLOT_ROWS_MAX 250

size_t plot_rows_count(const struct series_table *table);

/* How the figure's data file begins: the heading, which says here that rows are left out, n_rows,
 * and the array labels. The rest is written from the table, which the caller releases. path and
 * what: as for series_table_need(). */
enum status plot_rows_begin(FILE *file, const struct series_heading *heading,
                            const struct series_form *form, const struct results *results,
                            const char *path, const char *what, struct series_table *out);
