#include "orchestrator/plot/panels.h"

#include <math.h>
#include <string.h>

#include "orchestrator/plot/internal.h"

/* The figure that is being written, for the rows. */
struct drawing {
    const struct panels_form *form;
    bool shown[PANELS_MAX];
    double limits[PANELS_MAX]; /* 0: none */
    double least, most;
    double x_most;
};

static struct panel_value value_of(const struct panels_form *form, const json_t *point,
                                   size_t panel)
{
    struct panel_value value;
    if (!form->value(point, panel, &value) || !(value.value > 0))
        return (struct panel_value){NAN, NAN, NAN};
    if (!(value.low > 0) || value.low > value.value)
        value.low = value.value;
    if (!(value.high >= value.value) || !isfinite(value.high))
        value.high = value.value;
    return value;
}

static void measure(struct drawing *drawing, const struct series_table *table,
                    const struct results *results)
{
    for (size_t i = 0; i < table->count; i++) {
        drawing->x_most = fmax(drawing->x_most, table->rows[i].x);
        for (size_t p = 0; p < drawing->form->count; p++) {
            struct panel_value value = value_of(drawing->form, table->rows[i].point, p);
            if (isnan(value.value))
                continue;
            drawing->shown[p] = true;
            drawing->least = fmin(drawing->least, value.low);
            drawing->most = fmax(drawing->most, value.high);
        }
    }
    for (size_t p = 0; p < drawing->form->count && drawing->form->limit; p++) {
        drawing->limits[p] = drawing->form->limit(results, p);
        if (drawing->limits[p] > 0 && drawing->shown[p])
            drawing->most = fmax(drawing->most, drawing->limits[p]);
    }
}

static bool is_faded(const struct drawing *drawing, const struct series_table *table, size_t row)
{
    return drawing->form->faded && drawing->form->faded(table->rows[row].point);
}

/* 2: grey; 1: not, but a line to one that is begins or ends there. */
static int fading(const struct drawing *drawing, const struct series_table *table, size_t row)
{
    if (is_faded(drawing, table, row))
        return 2;
    return (!series_begins_at(table, row) && is_faded(drawing, table, row - 1)) ||
           (!series_ends_at(table, row) && is_faded(drawing, table, row + 1));
}

/* The values of all panels, a block each series. */
static void write_blocks(FILE *file, const struct drawing *drawing,
                         const struct series_table *table)
{
    const char *separator = "# x";
    for (size_t p = 0; p < drawing->form->count; p++)
        if (drawing->shown[p]) {
            fprintf(file, "%s, %s, low, high", separator, drawing->form->titles[p]);
            separator = "";
        }
    fputc('\n', file);
    for (size_t i = 0; i < table->count; i++) {
        const struct series_row *row = &table->rows[i];
        if (series_begins_at(table, i))
            fprintf(file, "$values_%zu << EOD\n", row->series + 1);
        fprintf(file, "%.10g", row->x);
        for (size_t p = 0; p < drawing->form->count; p++) {
            struct panel_value value = value_of(drawing->form, row->point, p);
            if (!drawing->shown[p])
                continue;
            if (isnan(value.value))
                fputs(" NaN NaN NaN", file);
            else
                fprintf(file, " %.6g %.6g %.6g", value.value, value.low, value.high);
        }
        if (drawing->form->faded)
            fprintf(file, " %d", fading(drawing, table, i));
        fputc('\n', file);
        if (series_ends_at(table, i))
            fputs("EOD\n", file);
    }
}

static void write_panels(FILE *file, const struct drawing *drawing)
{
    size_t count = 0;
    for (size_t p = 0; p < drawing->form->count; p++)
        count += drawing->shown[p];
    fprintf(file, "n_panels = %zu\narray panel_titles[n_panels]\n", count);
    count = 0;
    for (size_t p = 0; p < drawing->form->count; p++)
        if (drawing->shown[p])
            plot_write_item(file, "panel_titles", ++count, drawing->form->titles[p]);
    fprintf(file, "has_fading = %d\narray limits[n_panels]\n", drawing->form->faded != NULL);
    count = 0;
    for (size_t p = 0; p < drawing->form->count; p++)
        if (drawing->shown[p])
            fprintf(file, "limits[%zu] = %.6g\n", ++count, drawing->limits[p]);
    fprintf(file, "x_max = %.6g\nvalue_min = %.6g\nvalue_max = %.6g\n", drawing->x_most,
            drawing->least, drawing->most);
}

enum status plot_panels_write(const struct panels_form *form, const struct results *results,
                              const char *path, FILE *file)
{
    struct series_table table = {0};
    struct drawing drawing = {.form = form, .least = INFINITY};

    enum status status = series_begin(file, &form->series, results, path, &table);
    if (status != STATUS_OK)
        return status;
    measure(&drawing, &table, results);
    plot_write_text(file, "xlabel", form->xlabel);
    plot_write_text(file, "ylabel", form->ylabel);
    fprintf(file, "x_is_rate = %d\n", form->x_is_rate);
    write_panels(file, &drawing);
    series_write(file, &table, NULL, NULL);
    write_blocks(file, &drawing, &table);
    series_table_release(&table);
    return STATUS_OK;
}
