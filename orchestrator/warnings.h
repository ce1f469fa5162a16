/*
 * What a reader should know before trusting a number: a point's warnings, each of a kind and with a
 * text that says what to do.
 */
#ifndef MPSWEEP_ORCHESTRATOR_WARNINGS_H
#define MPSWEEP_ORCHESTRATOR_WARNINGS_H

#include <jansson.h>
#include <stdio.h>

/* Adds {"kind", "text"} to a point's array. */
void warnings_add(json_t *array, const char *kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Prints a line for each kind that some point has: how many have it, and the text of the first. */
void warnings_print(FILE *out, const json_t *points);

#endif
