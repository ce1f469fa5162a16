/*
 * Throughput against the number of workers; in an open loop, which does what is offered, against
 * the offered rate.
 */
#include "orchestrator/plot/internal.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "common/json.h"
#include "orchestrator/plot/facets.h"
#include "orchestrator/plot/series.h"
#include "orchestrator/results/rate.h"

static double half_width_ips(const json_t *point)
{
    double relative = point_half_rel(point);
    return isnan(relative) ? 0.0 : number_at(point, "throughput_ips") * relative;
}

static bool take(const json_t *point, double *x)
{
    double half = half_width_ips(point);
    json_int_t workers = integer_at(point, "workers");
    *x = (double)workers;
    return point_is_measured(point) && workers >= 1 && workers <= PLOT_WORKERS_MAX &&
           isfinite(half) && half >= 0;
}

static bool take_by_rate(const json_t *point, double *x)
{
    double workers;
    *x = series_offered_ips(point);
    return take(point, &workers) && *x > 0;
}

/* Of the rates that a search found, each is what its layout can serve. */
static bool take_given_rate(const json_t *point, double *x)
{
    return take_by_rate(point, x) && !point_rate_is_searched(point);
}

static void write_row(FILE *file, const struct series_row *row)
{
    fprintf(file, "%.10g %.6g %.6g\n", row->x, number_at(row->point, "throughput_ips"),
            half_width_ips(row->point));
}

/* The dotted line: what is offered, or N workers as fast as each of the fewest is in its best
 * layout. It is not an ideal: another layout may do more. */
static void write_line(FILE *file, double fewest, const json_t *best, bool by_rate)
{
    if (by_rate) {
        fputs("ideal_title = 'served = offered'\nideal_slope = 1\n\n", file);
        return;
    }
    char title[96], share[32] = "N";
    if (fewest > 1)
        snprintf(share, sizeof share, "N/%.10g", fewest);
    snprintf(title, sizeof title, "%s × the best of %.10g worker%s%s", share, fewest,
             fewest > 1 ? "s" : "",
             strcmp(text_at(best, "status"), "unconverged") == 0 ? ", unconverged" : "");
    plot_write_text(file, "ideal_title", title);
    fprintf(file, "ideal_slope = %.6g\n\n", number_at(best, "throughput_ips") / fewest);
}

static void write_ranges(FILE *file, const struct series_table *table, bool by_rate)
{
    double highest = 0, most = 0, fewest = INFINITY;
    const json_t *best = NULL;
    for (size_t i = 0; i < table->count; i++) {
        const struct series_row *row = &table->rows[i];
        double throughput = number_at(row->point, "throughput_ips");
        highest = fmax(highest, throughput + half_width_ips(row->point));
        most = fmax(most, row->x);
        if (row->x < fewest ||
            (row->x == fewest && throughput > number_at(best, "throughput_ips"))) {
            fewest = row->x;
            best = row->point;
        }
    }
    fprintf(file, "x_is_rate = %d\nx_max = %.10g\n", by_rate, most);
    fprintf(file, "throughput_max = %.6g\n", highest);
    write_line(file, fewest, best, by_rate);
}

/* Their bars are no confidence intervals. */
static void note_searched(const struct series_table *table, char *notes, size_t size)
{
    bool any = false;
    size_t length = strlen(notes);
    for (size_t i = 0; i < table->count; i++)
        any |= point_rate_is_searched(table->rows[i].point) &&
               isfinite(point_half_rel(table->rows[i].point));
    if (any)
        snprintf(notes + length, size - length, "Bars of searched rates: a step of the search. ");
}

/* Layouts that a tune looked at in short. */
static void note_least(const struct series_table *table, char *notes, size_t size)
{
    size_t count = 0, length = strlen(notes);
    for (size_t i = 0; i < table->count; i++)
        count += rate_is_least(json_object_get(table->rows[i].point, "rate"));
    if (count > 0)
        snprintf(notes + length, size - length,
                 "%zu point%s looked at in short, and may hold more. ", count,
                 count > 1 ? "s were" : " was");
}

enum status plot_throughput_write(const struct results *results, const char *path, FILE *file)
{
    struct series_table table;
    char notes[256] = "Error bars: 95% confidence intervals. ";
    struct series_figure figure = {
        .name = "throughput",
        .title = "Throughput by number of workers",
        .notes = notes,
        .needed = "to plot",
        .missing = "without a number",
        .take = take,
    };
    bool by_rate = series_takes_any(results, take_given_rate);
    if (by_rate) {
        figure.title = "Served rate by offered rate";
        figure.missing = "without a rate or a number";
        figure.take = take_by_rate;
        series_join_rates(&figure);
    }

    enum status status = series_table_make(&figure, results, path, &table);
    if (status != STATUS_OK)
        return status;
    if (table.unconverged > 0)
        snprintf(notes, sizeof notes,
                 "Error bars: 95%% confidence intervals; %d point%s unconverged. ",
                 table.unconverged, table.unconverged > 1 ? "s are" : " is");
    note_searched(&table, notes, sizeof notes);
    note_least(&table, notes, sizeof notes);
    status = series_write_heading(file, &figure, &table, results);
    if (status != STATUS_OK)
        goto out;
    plot_write_text(file, "xlabel",
                    by_rate ? "offered rate (iterations/s)"
                            : "workers (processes × threads × streams)");
    plot_write_text(file, "ylabel",
                    by_rate ? "served rate (iterations/s)" : "throughput (iterations/s)");
    write_ranges(file, &table, by_rate);
    series_write(file, &table,
                 by_rate ? "offered/s, served/s, half width of its 95% interval"
                         : "workers, iterations/s, half width of the 95% interval",
                 write_row);
    status = facets_write(file, &table);
out:
    series_table_release(&table);
    return status;
}
