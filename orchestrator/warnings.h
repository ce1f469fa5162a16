/*
 * Warnings of a point: what was measured is right, and something stands in the way of using it.
 */
#ifndef MPSWEEP_ORCHESTRATOR_WARNINGS_H
#define MPSWEEP_ORCHESTRATOR_WARNINGS_H

#include <jansson.h>
#include <stdio.h>

/* Appends {"kind", "text"}; the text says what to do. NULL arrays are left alone. */
void warnings_add(json_t *array, const char *kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The array "warnings" of a point's record, made where there is none; borrowed. */
json_t *warnings_of(json_t *record);

/* Each warning of the points once, a line each, after an empty one; nothing where there is none. */
void warnings_print(FILE *out, const json_t *points);

#endif
