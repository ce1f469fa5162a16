/*
 * Which ceiling limits a point. The lowest one does, with one exception. The ceilings of workers
 * and of queues are those of workers who never wait. Where much of it is lost by waiting in a line,
 * and the ceiling of that line is nearer above than what is to be expected is below, the line is
 * the limit: more workers would mostly wait in it. A ceiling that the point was measured above is
 * none, unless it is that of time slicing, or no other one is near. Pure arithmetic.
 */
#pragma once

#include "explain/ceilings.h"

/* A point that does so much more than a ceiling is surely above it: calibrations are good to a few
 * percent. */
#define BINDING_PASSED 1.05

struct binding {
    enum ceiling_kind kind;   /* that limits; CEILING_KINDS where no ceiling is known */
    enum ceiling_kind next;   /* the lowest of the others that holds; CEILING_KINDS: none */
    enum ceiling_kind lowest; /* of those that hold */
    enum ceiling_kind passed; /* the lowest of all, if the point is surely above it by 5%; else
                                 CEILING_KINDS */
    /* What workers wait for most, CEILING_KINDS where for nothing; and the share of the lowest
     * ceiling that is lost by waiting, as predicted, or less where the point was measured to do
     * more. */
    enum ceiling_kind waits_for;
    double lost;
};

/* ceilings: those of the point. */
void binding_find(const struct explain_point *point, const struct calibration *calibration,
                  const struct ceilings *ceilings, struct binding *out);
