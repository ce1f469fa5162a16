/*
 * Figures of several panels beside each other: one figure of a point in each, over the same x, with
 * the same series and the same logarithmic axis.
 */
#pragma once

#include "orchestrator/plot/series.h"

#include "files/results_read.h"

#define PANELS_MAX 4

/* A value and the ends of its 95% interval: the value itself where it has none. */
struct panel_value {
    double value, low, high;
};

struct panels_form {
    struct series_figure series;
    const char *xlabel, *ylabel;
    bool x_is_rate;
    size_t count;
    const char *titles[PANELS_MAX];
    /* False where the point has no such positive number. */
    bool (*value)(const json_t *point, size_t panel, struct panel_value *out);
    /* Whether its values are no figures of the layout: grey. NULL: no point's. */
    bool (*faded)(const json_t *point);
    /* What the values of a panel are to stay below: a line; 0: there is none. NULL: in no panel. */
    double (*limit)(const struct results *results, size_t panel);
};

/* Panels in which no point has a value are left out. STATUS_USAGE: nothing to draw. */
enum status plot_panels_write(const struct panels_form *form, const struct results *results,
                              const char *path, FILE *file);
