/*
 * What `mpsweep merge` prints of a fleet.
 */
#pragma once

#include "orchestrator/merge/internal.h"

/* Nodes and points, as far as they fit on a page, and all that stands out. */
void merge_print_fleet(const struct merge *merge);
