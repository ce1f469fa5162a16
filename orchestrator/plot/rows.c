#include "orchestrator/plot/rows.h"

#include "orchestrator/plot/internal.h"

size_t plot_rows_count(const struct series_table *table)
{
    return table->count < PLOT_ROWS_MAX ? table->count : PLOT_ROWS_MAX;
}

static void write_labels(FILE *file, const struct series_table *table)
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

enum status plot_rows_begin(FILE *file, const struct series_heading *heading,
                            const struct series_form *form, const struct results *results,
                            const char *path, const char *what, struct series_table *out)
{
    struct series_table table;
    struct series_heading limited = *heading;
    limited.rows_most = PLOT_ROWS_MAX;
    enum status status = series_table_need(results, form, path, what, &table);
    if (status != STATUS_OK)
        return status;
    status = series_write_heading(file, &limited, form, &table, results);
    if (status != STATUS_OK) {
        series_table_release(&table);
        return status;
    }
    write_labels(file, &table);
    *out = table;
    return STATUS_OK;
}
