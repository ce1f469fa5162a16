/*
 * Layouts as text: "threads:1-16", "processes+mps:1,2,4", "hybrid:8x2,16x2", several in one text
 * ("threads:1-4,processes:1-4").
 */
#pragma once

#include "job/options.h"

/* Most workers of one point. */
#define LAYOUT_MOST_WORKERS 1024

/* Appends an item a worker count to out. Counts at the beginning, without a NAME, belong to kind:
 * the one that a line before ended with, or LAYOUT_KINDS where there was none. On an error out may
 * hold the items before it. */
enum status layout_parse(const char *text, enum layout_kind kind, struct option_value *out);

/* Appends a copy of item with its own copy of text. Shared with the option parser. */
enum status option_value_add(struct option_value *value, const struct option_item *item,
                             const char *text);
