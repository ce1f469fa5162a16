/*
 * Arms of probes that differ in one number, as the size of a copy: a panel for each probe, a curve
 * for each series, and the control as a line across. Where an arm is its own control, that is a
 * curve, too.
 */
#include "orchestrator/plot/internal.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "orchestrator/plot/series.h"
#include "orchestrator/results/point.h"
#include "orchestrator/results/probe_record.h"

#define PANELS_MOST 4
#define SERIES_MOST 12

/* The variant of a control's curve, and its dashes in plots/style.gp; those of a line across. */
#define CONTROL_VARIANT 3
#define CONTROL_DASH 4
#define LINE_DASH 2

struct curve {
    const char *name;
    size_t panel;
    const json_t *probe;
    size_t series;             /* which has the same colour */
    bool has_control, control; /* of arms that are their own: there is one, and this is it */
};

struct curves {
    struct curve at[2 * SERIES_MOST];
    size_t count, named;               /* those of controls follow those that the legend names */
    const json_t *panels[PANELS_MOST]; /* probes */
    size_t panel_count;
    double least, most, x_least, x_most;
};

static bool is_drawn(const json_t *arm)
{
    return *text_at(arm, "series") && number_at(arm, "x") > 0 && number_at(arm, "median_us") > 0;
}

static bool is_known(const struct curves *curves, size_t panel, const char *name)
{
    for (size_t i = 0; i < curves->count; i++)
        if (curves->at[i].panel == panel && strcmp(curves->at[i].name, name) == 0)
            return true;
    return false;
}

static void find_curves(const json_t *probes, struct curves *curves)
{
    size_t p, a;
    const json_t *probe, *arm;
    json_array_foreach(probes, p, probe)
    {
        size_t panel = curves->panel_count;
        const json_t *arms = json_object_get(probe, "arms");
        bool any = false;
        if (panel == PANELS_MOST)
            break;
        json_array_foreach(arms, a, arm)
        {
            const char *name = text_at(arm, "series");
            if (!is_drawn(arm) || is_known(curves, panel, name) || curves->count == SERIES_MOST)
                continue;
            bool control = probe_arm_own_control(probe, arm) != NULL;
            curves->at[curves->count] =
                (struct curve){name, panel, probe, curves->count, .has_control = control};
            curves->count++;
            any = true;
        }
        if (any)
            curves->panels[curves->panel_count++] = probe;
    }
    curves->named = curves->count;
    for (size_t i = 0; i < curves->named; i++) {
        if (!curves->at[i].has_control)
            continue;
        curves->at[curves->count] = curves->at[i];
        curves->at[curves->count++].control = true;
    }
}

static int by_x(const void *a, const void *b)
{
    double x = number_at(*(json_t *const *)a, "x"), y = number_at(*(json_t *const *)b, "x");
    return (x > y) - (x < y);
}

static enum status write_curve(FILE *file, size_t number, const struct curve *curve,
                               struct curves *curves)
{
    size_t count = 0, a;
    const json_t *arm;
    const json_t *arms = json_object_get(curve->probe, "arms");
    const json_t **found = calloc(json_array_size(arms), sizeof *found);
    if (found == NULL)
        return status_set(STATUS_MEMORY, "out of memory for a figure");
    json_array_foreach(arms, a, arm)
    {
        if (is_drawn(arm) && strcmp(text_at(arm, "series"), curve->name) == 0)
            found[count++] = arm;
    }
    qsort(found, count, sizeof *found, by_x);
    fprintf(file, "# x, median, low, high, 99th percentile (µs)\n$values_%zu << EOD\n", number);
    for (size_t i = 0; i < count; i++) {
        const json_t *times =
            curve->control ? probe_arm_own_control(curve->probe, found[i]) : found[i];
        double x = number_at(found[i], "x"), median = number_at(times, "median_us");
        const json_t *ci95 = json_object_get(times, "ci95_us");
        const json_t *ends[] = {json_array_get(ci95, 0), json_array_get(ci95, 1)};
        double low = json_is_number(ends[0]) ? json_number_value(ends[0]) : median;
        double high = json_is_number(ends[1]) ? json_number_value(ends[1]) : median;
        low = low > 0 ? low : median;
        fprintf(file, "%.10g %.6g %.6g %.6g %.6g\n", x, median, low, high,
                number_at(times, "p99_us"));
        curves->least = fmin(curves->least, low);
        curves->most = fmax(curves->most, high);
        curves->x_least = fmin(curves->x_least, x);
        curves->x_most = fmax(curves->x_most, x);
    }
    fputs("EOD\n", file);
    free(found);
    return STATUS_OK;
}

/* The control of the first arm of the panel that is drawn; 0 if that was not measured. */
static double control_of(const json_t *probe)
{
    const json_t *arms = json_object_get(probe, "arms"), *arm, *other;
    size_t a, o;
    json_array_foreach(arms, a, arm)
    {
        if (!is_drawn(arm) || probe_arm_own_control(probe, arm))
            continue;
        json_array_foreach(arms, o, other)
        {
            double median = number_at(other, "median_us");
            if (strcmp(text_at(other, "arm"), text_at(arm, "control")) == 0)
                return median > 0 ? median : 0;
        }
    }
    return 0;
}

/* What the probe times, where the name of its metric alone is not clear; NULL: it is. */
static const char *described(const json_t *probe)
{
    static const struct {
        const char *probe, *what;
    } known[] = {{"launch-gate", "time of 220 kernels of each worker"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].probe, text_at(probe, "probe")) == 0)
            return known[i].what;
    return NULL;
}

/* The title of one probe that is described: its panel needs none then. */
static const char *described_alone(const struct curves *curves)
{
    return curves->panel_count == 1 ? described(curves->panels[0]) : NULL;
}

static void panel_title(const struct curves *curves, size_t panel, char *title, size_t size)
{
    const json_t *probe = curves->panels[panel];
    const char *metric = text_at(json_object_get(probe, "effect"), "metric");
    const char *what = described(probe) ? described(probe) : metric;
    title[0] = '\0';
    if (!described_alone(curves))
        snprintf(title, size, "%s%s%s", text_at(probe, "probe"), *what ? ": " : "", what);
}

static void write_panels(FILE *file, struct curves *curves)
{
    fprintf(file,
            "n_panels = %zu\narray panel_titles[n_panels]\narray panel_xlabels[n_panels]\n"
            "array panel_control[n_panels]\n",
            curves->panel_count);
    for (size_t p = 0; p < curves->panel_count; p++) {
        double control = control_of(curves->panels[p]);
        char title[160];
        panel_title(curves, p, title, sizeof title);
        plot_write_item(file, "panel_titles", p + 1, title);
        plot_write_item(file, "panel_xlabels", p + 1, text_at(curves->panels[p], "xlabel"));
        fprintf(file, "panel_control[%zu] = %.6g\n", p + 1, control);
        if (control > 0) {
            curves->least = fmin(curves->least, control);
            curves->most = fmax(curves->most, control);
        }
    }
}

/* What the dashed lines are: of one probe what it calls them, less the name of what is solid. */
static const char *control_name(const struct curves *curves)
{
    const json_t *effect = json_object_get(curves->panels[0], "effect");
    const char *metric = text_at(effect, "metric"), *control = text_at(effect, "control_metric");
    size_t length = strlen(metric);
    if (curves->panel_count > 1 || *control == '\0')
        return "the control";
    return strncmp(control, metric, length) == 0 && control[length] == ' ' ? control + length + 1
                                                                           : control;
}

/* The last entry of the legend, where there are dashed lines, with a sample of theirs. */
static void write_control_entry(FILE *file, const struct curves *curves)
{
    char title[160];
    bool is_curve = curves->count > curves->named, any = is_curve;
    for (size_t p = 0; p < curves->panel_count; p++)
        any = any || control_of(curves->panels[p]) > 0;
    snprintf(title, sizeof title, "dashed: %s", control_name(curves));
    fprintf(file, "has_ideal = %d\n", any);
    plot_write_text(file, "ideal_title", any ? title : "");
    fprintf(file, "ideal_dash = %d\n", is_curve ? CONTROL_DASH : LINE_DASH);
}

static enum status write_heading(FILE *file, const struct curves *curves,
                                 const struct results *results)
{
    char title[160];
    const char *alone = described_alone(curves);
    snprintf(title, sizeof title, "%s", alone ? alone : "What the delay depends on");
    title[0] = (char)toupper((unsigned char)title[0]);
    return plot_write_heading(file, "probe-series", title, results->header,
                              "Median of the fresh processes' medians, with its 95% interval.");
}

enum status plot_probe_series_write(const struct results *results, const char *path, FILE *file)
{
    struct curves curves = {.least = INFINITY, .x_least = INFINITY};
    find_curves(results->probes, &curves);
    if (curves.count == 0)
        return status_set(STATUS_USAGE, "no probe in '%s' has arms that are a series", path);
    enum status status = write_heading(file, &curves, results);
    if (status != STATUS_OK)
        return status;
    write_control_entry(file, &curves);
    fprintf(file,
            "n_series = %zu\nn_named = %zu\narray titles[n_series]\narray panel_of[n_series]\n"
            "array layout_of[n_series]\narray variant_of[n_series]\n",
            curves.count, curves.named);
    for (size_t i = 0; i < curves.count && status == STATUS_OK; i++) {
        const struct curve *curve = &curves.at[i];
        plot_write_item(file, "titles", i + 1, curve->name);
        fprintf(file, "panel_of[%zu] = %zu\nlayout_of[%zu] = %zu\nvariant_of[%zu] = %d\n", i + 1,
                curve->panel + 1, i + 1, curve->series % 7 + 1, i + 1,
                curve->control ? CONTROL_VARIANT : (int)(curve->series / 7 + 1));
        status = write_curve(file, i + 1, curve, &curves);
    }
    if (status != STATUS_OK)
        return status;
    write_panels(file, &curves);
    fprintf(file, "us_min = %.6g\nus_max = %.6g\nx_min = %.10g\nx_max = %.10g\n", curves.least,
            curves.most, curves.x_least, curves.x_most);
    return STATUS_OK;
}
