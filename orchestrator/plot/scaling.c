/*
 * Throughput against the number of GPUs N, with N times that of one GPU, and the share of it that
 * was reached.
 */
#include "orchestrator/plot/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "orchestrator/plot/series.h"
#include "orchestrator/results/scaling.h"
#include "orchestrator/results/settings.h"

/* What stands on one place of the axis. */
struct place {
    double ips, half_ips;
    double efficiency, low, high; /* NAN: not known */
};

static double half_width_ips(const json_t *point)
{
    double half = number_at(point, "throughput_ips") * number_at(point, "ci95_rel");
    return half >= 0 ? half : 0;
}

/* A point of one GPU has its place in the series of those of several that it goes with. */
static bool take(const json_t *point, double *x)
{
    *x = point_gpus_of(point);
    return point_is_closed(point) && *x > 1;
}

static bool take_any(const json_t *point, double *x)
{
    *x = point_gpus_of(point);
    return point_is_closed(point);
}

static struct place place_of(const json_t *singles, const json_t *point)
{
    struct scaling scaling;
    struct place place = {number_at(point, "throughput_ips"), half_width_ips(point), NAN, NAN, NAN};
    if (scaling_find(singles, point, &scaling)) {
        place.efficiency = scaling.efficiency;
        place.low = isnan(scaling.low) ? scaling.efficiency : scaling.low;
        place.high = isnan(scaling.high) ? scaling.efficiency : scaling.high;
    }
    return place;
}

static void write_place(FILE *file, double gpus, const struct place *place)
{
    fprintf(file, "%.0f %.6g %.6g", gpus, place->ips, place->half_ips);
    if (isnan(place->efficiency))
        fputs(" NaN NaN NaN\n", file);
    else
        fprintf(file, " %.6g %.6g %.6g\n", 100 * place->efficiency, 100 * place->low,
                100 * place->high);
}

/* Of a series without a point of one GPU ideal is what the fewest of its GPUs do each: then no
 * efficiency is drawn, since that is against one GPU. */
struct ranges {
    double gpus_most, ips_most, efficiency_most, efficiency_least;
};

static void widen(struct ranges *ranges, double gpus, const struct place *place)
{
    ranges->gpus_most = fmax(ranges->gpus_most, gpus);
    ranges->ips_most = fmax(ranges->ips_most, place->ips + place->half_ips);
    if (isnan(place->efficiency))
        return;
    ranges->efficiency_most = fmax(ranges->efficiency_most, 100 * place->high);
    ranges->efficiency_least = fmin(ranges->efficiency_least, 100 * place->low);
}

static void write_blocks(FILE *file, const struct series_table *table, const json_t *singles,
                         struct ranges *ranges)
{
    fprintf(file, "array ideal[n_series]\n# GPUs, iterations/s, half width of the 95%% interval, "
                  "efficiency in percent, low, high\n");
    for (size_t i = 0; i < table->count; i++) {
        const struct series_row *row = &table->rows[i];
        struct place place = place_of(singles, row->point);
        if (series_begins_at(table, i)) {
            struct scaling scaling;
            bool based = scaling_find(singles, row->point, &scaling);
            fprintf(file, "ideal[%zu] = %.6g\n$values_%zu << EOD\n", row->series + 1,
                    based ? scaling.base_ips : place.ips / row->x, row->series + 1);
            if (based) {
                struct place one = {scaling.base_ips, half_width_ips(scaling.base), 1, 1, 1};
                write_place(file, 1, &one);
                widen(ranges, 1, &one);
            }
        }
        write_place(file, row->x, &place);
        widen(ranges, row->x, &place);
        if (series_ends_at(table, i))
            fputs("EOD\n", file);
    }
}

static size_t bases_missing(const struct series_table *table, const json_t *singles)
{
    size_t missing = 0;
    struct scaling scaling;
    for (size_t i = 0; i < table->count; i++)
        if (series_begins_at(table, i))
            missing += !scaling_find(singles, table->rows[i].point, &scaling);
    return missing;
}

static const struct series_figure figure = {
    .name = "scaling",
    .title = "Throughput by number of GPUs",
    .needed = "of several GPUs: measure with --device all --gpus-per-point 1,2",
    .missing = "of an open loop or without a number",
    .take = take,
    .ignored = 1u << OPTION_GPUS_PER_POINT,
    .whole_names = true,
};

static enum status write_figure(const struct results *results, const struct series_table *table,
                                const json_t *singles, FILE *file)
{
    char notes[512];
    struct ranges ranges = {.efficiency_least = INFINITY};
    struct series_figure listed = figure;
    listed.take = take_any;
    listed.notes = notes;
    size_t missing = bases_missing(table, singles);
    int used = snprintf(notes, sizeof notes,
                        "P×T is the layout of each GPU. Dotted: N times one GPU, which is "
                        "100%% of efficiency. Error bars: 95%% confidence intervals. ");
    if (missing > 0)
        snprintf(notes + used, sizeof notes - (size_t)used,
                 "%zu series without a point of one GPU: dotted is what the fewest GPUs did each, "
                 "and there is no efficiency. ",
                 missing);
    enum status status = series_write_heading(file, &listed, table, results);
    if (status != STATUS_OK)
        return status;
    series_write(file, table, NULL, NULL);
    write_blocks(file, table, singles, &ranges);
    fprintf(file,
            "gpus_max = %.0f\nthroughput_max = %.6g\nhas_efficiency = %d\n"
            "efficiency_min = %.6g\nefficiency_max = %.6g\n",
            ranges.gpus_most, ranges.ips_most, isfinite(ranges.efficiency_least),
            isfinite(ranges.efficiency_least) ? ranges.efficiency_least : 0,
            ranges.efficiency_most);
    return STATUS_OK;
}

enum status plot_scaling_write(const struct results *results, const char *path, FILE *file)
{
    struct series_table table = {0};
    json_t *singles = scaling_singles(results->points);
    enum status status = STATUS_OK;
    if (singles == NULL)
        status = status_set(STATUS_MEMORY, "out of memory for the points of one GPU");
    if (status == STATUS_OK)
        status = series_table_make(&figure, results, path, &table);
    if (status == STATUS_OK)
        status = write_figure(results, &table, singles, file);
    series_table_release(&table);
    json_decref(singles);
    return status;
}
