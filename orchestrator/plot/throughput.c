/*
 * Throughput against the number of workers.
 */
#include "orchestrator/plot/internal.h"

#include <math.h>
#include <stdbool.h>

#include "common/json.h"
#include "orchestrator/plot/series.h"

static double half_width_ips(const json_t *point)
{
    double relative = json_number_value(json_object_get(point, "ci95_rel"));
    return json_number_value(json_object_get(point, "throughput_ips")) * relative;
}

static bool take(const json_t *point, double *x)
{
    double half = half_width_ips(point);
    json_int_t workers = integer_at(point, "workers");
    *x = (double)workers;
    return point_is_measured(point) && workers >= 1 && workers <= PLOT_WORKERS_MAX &&
           isfinite(half) && half >= 0;
}

static void write_row(FILE *file, const struct series_row *row)
{
    fprintf(file, "%.0f %.6g %.6g\n", row->x, number_at(row->point, "throughput_ips"),
            half_width_ips(row->point));
}

static void write_ranges(FILE *file, const struct series_table *table)
{
    double highest = 0, most = 0, fewest = INFINITY, best = 0;
    for (size_t i = 0; i < table->count; i++) {
        const struct series_row *row = &table->rows[i];
        double throughput = number_at(row->point, "throughput_ips");
        highest = fmax(highest, throughput + half_width_ips(row->point));
        most = fmax(most, row->x);
        if (row->x < fewest || (row->x == fewest && throughput > best)) {
            fewest = row->x;
            best = throughput;
        }
    }
    fprintf(file, "workers_max = %.0f\n", most);
    fprintf(file, "throughput_max = %.6g\n", highest);
    fprintf(file, "# the best of the smallest number of workers, per worker\n");
    fprintf(file, "ideal_slope = %.6g\n\n", best / fewest);
}

enum status plot_throughput_write(const struct results *results, const char *path, FILE *file)
{
    struct series_table table;
    char notes[128] = "Error bars: 95% confidence intervals. ";
    const struct series_figure figure = {
        .name = "throughput",
        .title = "Throughput by number of workers",
        .notes = notes,
        .needed = "to plot",
        .missing = "without a number",
        .take = take,
    };

    enum status status = series_table_make(&figure, results, path, &table);
    if (status != STATUS_OK)
        return status;
    if (table.unconverged > 0)
        snprintf(notes, sizeof notes,
                 "Error bars: 95%% confidence intervals; wider than asked for at %d point%s. ",
                 table.unconverged, table.unconverged > 1 ? "s" : "");
    status = series_write_heading(file, &figure, &table, results);
    if (status != STATUS_OK)
        goto out;
    fputs("xlabel = 'workers (processes × threads × streams)'\nylabel = 'throughput "
          "(iterations/s)'\n",
          file);
    write_ranges(file, &table);
    series_write(file, &table, "workers, iterations/s, half width of the 95% interval", write_row);
out:
    series_table_release(&table);
    return status;
}
