/*
 * Results for people: the final table, and CSV.
 */
#ifndef MPSWEEP_ORCHESTRATOR_TABLE_H
#define MPSWEEP_ORCHESTRATOR_TABLE_H

#include <jansson.h>
#include <stdio.h>

/* Prints the points as an aligned table under a heading that names the machine. Settings that are
 * the same in all points stand in the heading, the others have a column. */
void table_print(FILE *out, json_t *header, const json_t *points);

/* One line a point, all settings, fixed columns; empty where there is no number. */
void table_print_csv(FILE *out, const json_t *header, const json_t *points);

#endif
