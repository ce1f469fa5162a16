/*
 * Figures of the latency of an iteration, of a launch call, and of the phases of an iteration.
 */
#include "orchestrator/plot/internal.h"

#include <math.h>
#include <string.h>

#include "common/json.h"
#include "common/text.h"
#include "orchestrator/plot/panels.h"

/* -- percentiles of the latency, against the offered rate where there are points with one, else
 * against the number of workers ---------------------------------------------------------------- */

static const char *const percentiles[] = {"p50", "p90", "p99", "p999"};

static bool has_latency(const json_t *point)
{
    const json_t *latency = json_object_get(point, "latency_us");
    for (size_t i = 0; i < sizeof percentiles / sizeof *percentiles; i++)
        if (point_is_measured(point) && number_at(latency, percentiles[i]) > 0)
            return true;
    return false;
}

static bool take_by_workers(const json_t *point, double *x)
{
    *x = (double)integer_at(point, "workers");
    return has_latency(point) && *x >= 1 && *x <= PLOT_WORKERS_MAX;
}

static bool take_by_rate(const json_t *point, double *x)
{
    *x = series_offered_ips(point);
    return has_latency(point) && *x > 0;
}

static bool latency_value(const json_t *point, size_t panel, struct panel_value *out)
{
    const json_t *latency = json_object_get(point, "latency_us");
    const json_t *bounds = json_object_get(json_object_get(latency, "bounds"), percentiles[panel]);
    *out = (struct panel_value){
        number_at(latency, percentiles[panel]) / 1e3,
        json_number_value(json_array_get(bounds, 0)) / 1e3,
        json_number_value(json_array_get(bounds, 1)) / 1e3,
    };
    return out->value > 0;
}

/* The one that the rates of a search are to keep. */
static double latency_limit(const struct results *results, size_t panel)
{
    size_t index;
    const json_t *point;
    json_array_foreach(results->points, index, point)
    {
        const json_t *goal = json_object_get(json_object_get(point, "rate"), "goal");
        if (goal && strcmp(text_at(goal, "percentile"), percentiles[panel]) == 0)
            return number_at(goal, "us") / 1e3;
    }
    return 0;
}

enum status plot_latency_write(const struct results *results, const char *path, FILE *file)
{
    struct panels_form form = {
        .series =
            {
                .name = "latency",
                .title = "Latency of an iteration by number of workers",
                .notes = "Error bars: 95% confidence intervals of the percentiles, where the "
                         "results have them. ",
                .needed = "with latency percentiles",
                .missing = "without a latency",
                .take = take_by_workers,
            },
        .xlabel = "workers (processes × threads × streams)",
        .ylabel = "latency (ms)",
        .count = 4,
        .titles = {"median", "90th percentile", "99th percentile", "99.9th percentile"},
        .value = latency_value,
    };
    if (series_takes_any(results, take_by_rate)) {
        form.xlabel = "offered rate (iterations/s)";
        form.x_is_rate = true;
        form.series.title = "Latency from the planned start, by offered rate";
        form.series.missing = "without a rate or a latency";
        form.series.take = take_by_rate;
        form.series.notes = "Error bars: 95% confidence intervals of the percentiles, where the "
                            "results have them. Grey: overloaded, so that a latency shows only how "
                            "long the window was. ";
        series_join_rates(&form.series);
        form.faded = point_is_overloaded;
        form.limit = latency_limit;
    }
    return plot_panels_write(&form, results, path, file);
}

/* -- how long one launch call takes, against the number of workers: where it grows, they wait for
 * each other ------------------------------------------------------------------------------------
 */

/* Results without a time for each call have the time of all of an iteration's: a call a kernel, or
 * one for the graph. */
static double mean_of_phase(const json_t *point)
{
    double all = number_at(json_object_get(point, "phase_us"), "launch");
    double calls = strcmp(text_at(point, "launch"), "graph") == 0 ? 1 : number_at(point, "kernels");
    return all > 0 && calls >= 1 ? all / calls : NAN;
}

static bool launch_value(const json_t *point, size_t panel, struct panel_value *out)
{
    const json_t *call = json_object_get(json_object_get(point, "phases"), "launch_call");
    double number = number_at(call, panel == 0 ? "mean" : "p99");
    if (panel == 0 && !(number > 0))
        number = mean_of_phase(point);
    *out = (struct panel_value){number, number, number};
    return number > 0;
}

static bool take_launch(const json_t *point, double *x)
{
    struct panel_value unused;
    *x = (double)integer_at(point, "workers");
    return point_is_measured(point) && *x >= 1 && *x <= PLOT_WORKERS_MAX &&
           (launch_value(point, 0, &unused) || launch_value(point, 1, &unused));
}

enum status plot_launch_write(const struct results *results, const char *path, FILE *file)
{
    static const struct panels_form form = {
        .series =
            {
                .name = "launch",
                .title = "Time of one launch call by number of workers",
                .notes = "A call launches one kernel, or with graph launch the graph of an "
                         "iteration. ",
                .needed = "with launch times (phases.launch_call or phase_us.launch)",
                .missing = "without a launch time",
                .take = take_launch,
            },
        .xlabel = "workers (processes × threads × streams)",
        .ylabel = "launch call (µs)",
        .count = 2,
        .titles = {"mean", "99th percentile"},
        .value = launch_value,
    };
    return plot_panels_write(&form, results, path, file);
}

/* -- where the time of an iteration goes: the share of each phase, a row for each point -------- */

enum { H2D, LAUNCH, SYNC, D2H, PHASES };

static const char *const phases[PHASES] = {"h2d", "launch", "sync", "d2h"};

/* Mean microseconds of an iteration in a phase; 0 where the launch style hides it. */
static double phase_us(const json_t *point, size_t phase)
{
    const json_t *recorded = json_object_get(json_object_get(point, "phases"), phases[phase]);
    double mean = number_at(recorded, "mean");
    if (!(mean >= 0))
        mean = number_at(json_object_get(point, "phase_us"), phases[phase]);
    return mean >= 0 ? mean : 0;
}

/* Mean latency; the phases' sum where there is none, or where sampling made it the larger one. */
static double total_us(const json_t *point)
{
    double sum = 0;
    for (size_t i = 0; i < PHASES; i++)
        sum += phase_us(point, i);
    double mean = number_at(json_object_get(point, "latency_us"), "mean");
    return mean > sum ? mean : sum;
}

static bool take_phases(const json_t *point, double *x)
{
    double sum = 0;
    *x = (double)integer_at(point, "workers");
    for (size_t i = 0; i < PHASES; i++)
        sum += phase_us(point, i);
    return point_is_measured(point) && sum > 0 && isfinite(total_us(point));
}

static bool take_graph_phases(const json_t *point, double *x)
{
    return take_phases(point, x) && strcmp(text_at(point, "launch"), "graph") == 0;
}

static void write_phases(FILE *file, const struct series_table *table)
{
    fputs("# row, then from left to right the end of each phase as a share of the iteration\n"
          "$rows << EOD\n",
          file);
    for (size_t i = 0; i < table->count; i++) {
        const json_t *point = table->rows[i].point;
        double end = 0, total = total_us(point);
        fprintf(file, "%zu 0", i + 1);
        for (size_t p = 0; p < PHASES; p++) {
            end += phase_us(point, p) / total;
            fprintf(file, " %.5f", fmin(end, 1));
        }
        fputs(" 1\n", file);
    }
    fputs("EOD\narray totals[n_rows]\n", file);
    for (size_t i = 0; i < table->count; i++) {
        char text[32];
        fprintf(file, "totals[%zu] = '%s ms'\n", i + 1,
                text_number(total_us(table->rows[i].point) / 1e3, text, sizeof text));
    }
}

enum status plot_phases_write(const struct results *results, const char *path, FILE *file)
{
    struct series_table table;
    const struct series_figure figure = {
        .name = "phases",
        .title = "Where the time of an iteration goes",
        .notes = series_takes_any(results, take_graph_phases)
                     ? "On the right: mean latency. With graph launch the copies are part of the "
                       "graph, and wait in the synchronisation. "
                     : "On the right: mean latency. ",
        .needed = "with the time of its phases (phases or phase_us)",
        .missing = "without phases",
        .take = take_phases,
        .has_rows = true,
    };

    enum status status = series_begin(file, &figure, results, path, &table);
    if (status != STATUS_OK)
        return status;
    write_phases(file, &table);
    series_table_release(&table);
    return STATUS_OK;
}
