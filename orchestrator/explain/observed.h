/*
 * What explain reports of the points of observed programs, for which there is no calibration: what
 * an iteration is, how much of a CPU it uses, and whether more workers do more.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* Whether any of the points has iterations that were observed, a number, and no open loop. */
bool explain_has_observed(const json_t *points);

/* One paragraph for each such point. A layout is compared with one worker, if the points have it.
 */
void explain_print_observed(FILE *out, const json_t *points);
