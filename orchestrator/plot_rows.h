/*
 * Figures of a row a point, from the top: their labels.
 */
#ifndef MPSWEEP_ORCHESTRATOR_PLOT_ROWS_H
#define MPSWEEP_ORCHESTRATOR_PLOT_ROWS_H

#include "orchestrator/plot_series.h"

/* A picture has at most so many: rows beyond it are left out, which the heading must say. */
#define PLOT_ROWS_MAX 250

size_t plot_rows_count(const struct series_table *table);

/* n_rows, and the array labels. */
void plot_rows_write_labels(FILE *file, const struct series_table *table);

#endif
