/*
 * A point's plug-in: where it is, and what it cannot do.
 */
#pragma once

#include <stddef.h>

#include "orchestrator/plan/plan.h"
#include "job/work.h"

/* What a worker needs to load a point's plug-in: its absolute path, and its options. STATUS_USAGE:
 * too long. All zero for a point of another workload. */
enum status plugin_of(const struct point *point, struct work_plugin *out);

/* Whether both are points of a plug-in, of the same one with the same options. */
bool plugin_is_same(const struct point *a, const struct point *b);

/* Whether the point's plug-in, as far as its capabilities are known, rules the point out; why then
 * gives the reason. */
bool plugin_rules_out(const struct point *point, char *why, size_t size);
