/*
 * Results for people: the final table, and CSV.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Prints the points as an aligned table under a heading that names the machine. Settings that are
 * the same in all points stand in the heading, the others have a column. */
void table_print(FILE *out, json_t *header, const json_t *points);

/* One line a point, all settings, fixed columns; empty where there is no number. */
void table_print_csv(FILE *out, const json_t *header, const json_t *points);

/* The records of a results file, a line each; tuning and footer may be NULL. */
void table_print_json(FILE *out, const json_t *header, const json_t *calibrations,
                      const json_t *points, const json_t *tuning, const json_t *footer);

/* -- for other tables about points -- */

/* The settings that get a column when they vary, by index; NULL past the last. */
const char *table_setting_title(size_t index);
const char *table_setting_key(size_t index); /* in the record */
bool table_setting_varies(const json_t *points, size_t index);

/* Whether it is text, which stands left. */
bool table_setting_is_text(const json_t *point, size_t index);
void table_setting_text(const json_t *point, size_t index, char *out, size_t size);

/* The machine, and the settings that are the same in all points. */
void table_print_heading(FILE *out, json_t *header, const json_t *points);
