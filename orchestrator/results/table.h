/*
 * Results for people: the final table, and CSV.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "files/results_read.h"
#include "job/options.h"
#include "orchestrator/console/columns.h"

/* Prints the points as an aligned table under a heading that names the machine. Settings that are
 * the same in all points stand in the heading, the others have a column. */
void table_print(FILE *out, json_t *header, const json_t *points);

/* "NOT FINISHED: 6 of 32 points", with how to go on, where some of a sweep's plan are missing or
 * lack rounds, or a tuning was cut off; else "". Returns out. */
#define TABLE_UNFINISHED 160
const char *table_unfinished(const struct results *results, char out[TABLE_UNFINISHED]);

/* One line a point, all settings, fixed columns; empty where there is no number. */
void table_print_csv(FILE *out, const json_t *header, const json_t *points);

/* The records of a results file, a line each; tuning and footer may be NULL. */
void table_print_json(FILE *out, const json_t *header, const json_t *calibrations,
                      const json_t *points, const json_t *tuning, const json_t *footer);

/* What is planned, as CSV or JSON; plan, a record about all of it, may be NULL. False: the format
 * is for people. Takes over both. */
bool table_print_planned(FILE *out, const char *format, json_t *plan, json_t *planned);

/* Prints what was taken for an iteration of a program, a line; nothing of other points. */
void table_print_iteration(FILE *out, const json_t *point);

/* -- for other tables about points -- */

/* The settings in which points differ: those get a column. */
struct table_settings {
    const struct option_row *rows[64];
    size_t count;
    bool rates; /* and in the rate that was asked for, which has no row here */
};

/* Finds them; their rows are in the order of the settings table. */
void table_settings_find(const json_t *points, struct table_settings *out);

/* "P×T×S" where some thread has several streams, else "P×T". */
const char *table_shape_title(const json_t *points);

/* Adds their columns: text stands left, numbers right. */
void table_settings_add(struct columns *table, const struct table_settings *settings,
                        const json_t *points);

/* The title of a setting's column. */
const char *table_setting_title(const struct option_row *row);

/* The value of a cell: "-" where there is none. Returns out. */
const char *table_setting_text(const json_t *point, const struct option_row *row, char *out,
                               size_t size);

/* "hybrid 8×2, pageable, 4 queues, 400/s": a point among those of which `varying` is known. Returns
 * out. */
#define TABLE_LABEL 1024
const char *table_label(const json_t *point, const struct table_settings *varying,
                        char out[TABLE_LABEL]);

/* The machine, and the settings that are the same in all points. */
void table_print_heading(FILE *out, json_t *header, const json_t *points);
