#include "orchestrator/plot_rows.h"

#include "orchestrator/plot_figure.h"

size_t plot_rows_count(const struct series_table *table)
{
    return table->count < PLOT_ROWS_MAX ? table->count : PLOT_ROWS_MAX;
}

void plot_rows_write_labels(FILE *file, const struct series_table *table)
{
    fprintf(file, "n_rows = %zu\narray labels[n_rows]\n", plot_rows_count(table));
    for (size_t i = 0; i < plot_rows_count(table); i++) {
        char label[POINT_TEXT_BYTES * (POINT_SETTINGS + 1)];
        series_label(table, &table->rows[i], label, sizeof label);
        fprintf(file, "labels[%zu] = ", i + 1);
        plot_write_string(file, label);
        fputc('\n', file);
    }
}
