/*
 * How long one launch call takes, against the number of workers: where it grows, they wait for each
 * other.
 */
#include "orchestrator/plot/internal.h"

#include <math.h>
#include <string.h>

#include "orchestrator/plot/panels.h"

/* Results without a time for each call have the time of all of an iteration's: a call a kernel, or
 * one for the graph. */
static double mean_of_phase(const json_t *point)
{
    double all = point_number(json_object_get(point, "phase_us"), "launch");
    double calls =
        strcmp(point_string(point, "launch"), "graph") == 0 ? 1 : point_number(point, "kernels");
    return all > 0 && calls >= 1 ? all / calls : NAN;
}

static bool value(const json_t *point, size_t panel, struct panel_value *out)
{
    const json_t *call = json_object_get(json_object_get(point, "phases"), "launch_call");
    double number = point_number(call, panel == 0 ? "mean" : "p99");
    if (panel == 0 && !(number > 0))
        number = mean_of_phase(point);
    *out = (struct panel_value){number, number, number};
    return number > 0;
}

static bool take(const json_t *point, double *x)
{
    struct panel_value unused;
    *x = (double)point_integer(point, "workers");
    return point_is_measured(point) && *x >= 1 && *x <= PLOT_WORKERS_MAX &&
           (value(point, 0, &unused) || value(point, 1, &unused));
}

enum status plot_launch_write(const struct results *results, const char *path, FILE *file)
{
    const struct panels_form form = {
        .figure = "launch",
        .title = "Time of one launch call by number of workers",
        .xlabel = "workers (processes × threads)",
        .ylabel = "launch call (µs)",
        .notes = "A call launches one kernel, or with graph launch the graph of an iteration. ",
        .missing = "without a launch time",
        .needed = "launch times (phases.launch_call or phase_us.launch)",
        .series = {.take = take},
        .count = 2,
        .titles = {"mean", "99th percentile"},
        .value = value,
    };
    return plot_panels_write(&form, results, path, file);
}
