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

/* Text filled up to a width in columns, and what separates it from the next cell. */
void table_print_cell(FILE *out, const char *text, size_t width, bool left, bool last);

/* Text as a field of CSV, in quotes where it needs them. */
void table_print_csv_text(FILE *out, const char *text);
