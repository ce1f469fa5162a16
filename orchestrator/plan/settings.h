/*
 * The settings of a point, row by row of the option table: nothing here knows one by its name.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/text.h"
#include "job/point.h"

/* Room for the longest value: a list of sizes. */
#define SETTING_TEXT_BYTES (OPTION_MOST_SHARES * sizeof "1048576M")

/* The row of the next setting behind one, or behind NULL the first; NULL: there is none. */
const struct option_row *setting_next(const struct option_row *row);

/* Puts an option's item into its field. */
void setting_store(const struct option_row *row, const struct option_item *item,
                   struct point *point);

/* The field of a number, a choice, queues or a time. */
int64_t setting_number(const struct option_row *row, const struct point *point);

/* The fields of other types. */
const struct point_shares *setting_shares(const struct option_row *row, const struct point *point);
/* Of shares, how many of them may differ: processes, or threads. */
unsigned setting_entries(const struct option_row *row, const struct point *point);
const char *setting_string(const struct option_row *row, const struct point *point);

/* Whether the setting makes a difference to the point, and whether the point's record has it. */
bool setting_applies(const struct option_row *row, const struct point *point);
bool setting_is_recorded(const struct option_row *row, const struct point *point);

/* What a setting is for that makes a difference to none of these canonical points, as "layouts over
 * MPS"; NULL: it makes one. */
const char *setting_lacks(const struct option_row *row, const struct point *points, size_t count);

/* Of settings that make no difference, sets the neutral value: points that cannot differ become
 * equal. The workload must be known. */
void settings_make_canonical(struct point *point);

/* Whether two canonical points have the same value. */
bool setting_equal(const struct option_row *row, const struct point *a, const struct point *b);

/* Whether any share of a client is set. */
bool point_has_shares(const struct point *point);

/* Whether they are the same but for their place in a plan. Both are canonical. */
bool point_equal(const struct point *a, const struct point *b);

/* Equal points have equal ones. */
uint64_t point_hash(const struct point *point);

/* The value as the command line takes it: "pageable", "default/30", "hybrid:8x2". out has
 * SETTING_TEXT_BYTES. Returns out. */
const char *setting_words(const struct option_row *row, const struct point *point, char *out);

/* The word of a choice. */
const char *setting_word(enum option_id id, const struct point *point);

/* Whether it is what a point without options has. */
bool setting_is_initial(const struct option_row *row, const struct point *point);

/* What the environment of one of the point's processes has of it, numbered as on its GPU. False:
 * it has nothing, and the row's variable must not be set. */
bool setting_variable(const struct option_row *row, const struct point *point, unsigned number,
                      char *out, size_t size);

/* The same of a value: of shares OPTION_SHARE_DEFAULT, of others 0 sets nothing. */
bool setting_variable_text(const struct option_row *row, int64_t number, char *out, size_t size);

/* The row's key in records and CSV. out has room for 64 bytes; returns the key. */
#define SETTING_KEY_BYTES 64
const char *setting_key(const struct option_row *row, char *out);

/* A form of the row with the value in the place of its %s; NULL stands for "NAME %s". */
void setting_form_append(const struct option_row *row, const char *form, const char *value,
                         struct text *out);

/* A size of memory for people: "1.375 MiB". Returns out. */
const char *setting_size_text(uint64_t bytes, char *out, size_t size);
