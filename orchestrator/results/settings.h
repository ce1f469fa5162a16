/*
 * The settings of a point's record, row by row of the option table: as text for figures, tables and
 * CSV, as a key, and read back into a point. Any record is safe to read.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/status.h"
#include "job/options.h"
#include "job/point.h"

/* The next setting behind row (NULL: the first) that has a field of its own in a record; NULL past
 * the last. */
const struct option_row *settings_recorded(const struct option_row *row);

/* Figures, comparisons and keys have these, of which the ids are below SETTINGS_IDS; other ids have
 * no text. */
#define SETTINGS_IDS (OPTION_RATE + 1)
bool settings_is_shown(enum option_id id);

/* The number that the record holds of a setting; 0: none, or it was left to the driver. */
int64_t settings_number(const json_t *point, const struct option_row *row);

/* The value as it is, sizes with K, M or G if `sizes`; "" where there is none. Returns out. */
const char *settings_text(const json_t *point, const struct option_row *row, bool sizes, char *out,
                          size_t size);

#define SETTINGS_FIGURE_BYTES 64

/* "pageable", "no sync", "8 queues", "1.375 MiB each way", and for OPTION_RATE what was asked;
 * "" where a record has none, or where it makes no difference. Texts that differ belong to settings
 * that differ, and the other way round but for settings that change nothing. */
void settings_figure_text(const json_t *point, enum option_id id, char text[SETTINGS_FIGURE_BYTES]);

/* What a title leaves out. */
#define SETTINGS_DEFAULT_QUEUES "default queues"

/* All settings as one text: points with the same one are the same point. ignored: settings that
 * make no difference, as bits 1 << enum option_id. The caller frees it; NULL: no memory. */
char *settings_key(const json_t *point, uint64_t ignored);

/* A point with room for its lists of shares. */
struct settings_point {
    struct point point;
    int64_t values[4 * LAYOUT_MOST_WORKERS];
    size_t used;
};

/* Reads a record back into a point. It points into both the record and out, which must not be
 * copied. What a workload of the job file does is not in a record, nor is what the options give to
 * all points. STATUS_USAGE names the point and the field that is missing or invalid. */
enum status settings_read(const json_t *record, struct settings_point *out);
