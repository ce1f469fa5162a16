/*
 * What explain reports of points for which there is no calibration, those of programs, described
 * workloads and plug-ins: what an iteration is, where that was observed, how much of a CPU it uses,
 * whether more workers do more, and what the points of a file show together of what keeps them from
 * it.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* Whether any of the points is one of these, has a number, and is not an open loop. Servers, whose
 * workers are requests in flight, are left out. */
bool explain_has_programs(const json_t *points);

/* One paragraph for each such point, and what would help the best of them. */
void explain_print_programs(FILE *out, json_t *header, const json_t *points);

/* The same as an array, docs/results-format.md. NULL: out of memory. */
json_t *explain_programs_json(const json_t *header, const json_t *points);
