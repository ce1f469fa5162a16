/*
 * Percentiles of the latency against load: against the offered rate where there are points with
 * one, else against the number of workers.
 */
#include "orchestrator/plot/internal.h"

#include <string.h>

#include "orchestrator/plot/panels.h"

static const char *const fields[] = {"p50", "p90", "p99", "p999"};

static bool has_latency(const json_t *point)
{
    const json_t *latency = json_object_get(point, "latency_us");
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (point_is_measured(point) && point_number(latency, fields[i]) > 0)
            return true;
    return false;
}

static bool take_by_workers(const json_t *point, double *x)
{
    *x = (double)point_integer(point, "workers");
    return has_latency(point) && *x >= 1 && *x <= PLOT_WORKERS_MAX;
}

static bool take_by_rate(const json_t *point, double *x)
{
    *x = point_number(json_object_get(point, "rate"), "offered_ips");
    return has_latency(point) && *x > 0;
}

static bool value(const json_t *point, size_t panel, struct panel_value *out)
{
    const json_t *latency = json_object_get(point, "latency_us");
    const json_t *bounds = json_object_get(json_object_get(latency, "bounds"), fields[panel]);
    *out = (struct panel_value){
        point_number(latency, fields[panel]) / 1e3,
        json_number_value(json_array_get(bounds, 0)) / 1e3,
        json_number_value(json_array_get(bounds, 1)) / 1e3,
    };
    return out->value > 0;
}

enum status plot_latency_write(const struct results *results, const char *path, FILE *file)
{
    struct panels_form form = {
        .figure = "latency",
        .title = "Latency of an iteration by number of workers",
        .xlabel = "workers (processes × threads)",
        .ylabel = "latency (ms)",
        .notes = "Error bars: 95% confidence intervals of the percentiles, where the results have "
                 "them. ",
        .missing = "without a latency",
        .needed = "latency percentiles",
        .series = {.take = take_by_workers},
        .count = 4,
        .titles = {"median", "90th percentile", "99th percentile", "99.9th percentile"},
        .value = value,
    };
    size_t index;
    const json_t *point;
    double rate;
    json_array_foreach(results->points, index, point)
    {
        if (!take_by_rate(point, &rate))
            continue;
        form.title = "Latency from the planned start, by offered rate";
        form.xlabel = "offered rate (iterations/s)";
        form.missing = "without a rate or a latency";
        form.series = (struct series_form){
            .take = take_by_rate, .ignored = 1u << POINT_RATE, .whole_names = true};
        break;
    }
    return plot_panels_write(&form, results, path, file);
}
