/*
 * Warnings of a point: what makes its numbers doubtful or stands in the way of using them, each of
 * a kind and with a text that says what to do.
 */
#pragma once

#include <jansson.h>
#include <stdio.h>

/* Appends {"kind", "text"}. A NULL array is left alone. */
void warnings_add(json_t *array, const char *kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The array "warnings" of a point's record, made where there is none; borrowed. */
json_t *warnings_of(json_t *record);

/* A line for each different text, with the point that it is about, or how many points, after an
 * empty line; nothing where there is none. */
void warnings_print(FILE *out, const json_t *points);
