/*
 * Series of a figure in several panels, where they are too many for one: by the setting, or the
 * two, that split them into the fewest panels of some series each.
 */
#pragma once

#include <stdio.h>

#include "orchestrator/plot/series.h"

/* Writes n_panels, panel_titles, and panel_of each series; and what the legend has in place of the
 * series: n_legend, legend_titles, legend_layout, legend_variant, and legend_of each series. Writes
 * nothing where one panel holds all, or no split helps. STATUS_MEMORY is the only error. */
enum status facets_write(FILE *file, const struct series_table *table);
