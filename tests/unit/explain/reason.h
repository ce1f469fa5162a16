/*
 * What explain writes of a point whose limit is given.
 */
#pragma once

#include "explain/words.h"

/* The reason of a ceiling that is the lowest, and of which nothing is lost by waiting. Returns
 * text. */
static inline const char *reason_of(enum ceiling_kind kind, const struct explain_point *point,
                                    const struct calibration *calibration, char text[1024])
{
    struct ceilings ceilings;
    const struct binding binding = {.kind = kind,
                                    .next = CEILING_KINDS,
                                    .lowest = kind,
                                    .passed = CEILING_KINDS,
                                    .waits_for = CEILING_KINDS};
    ceilings_compute(point, calibration, &ceilings);
    return binding_reason(&binding, &ceilings, point, calibration, text, 1024);
}
