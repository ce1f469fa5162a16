/*
 * Which point of one results file is which of another: by all their settings, and never by place.
 */
#pragma once

#include <jansson.h>

#include "common/status.h"
#include "common/text.h"

struct compare_pair {
    json_t *base, *change; /* borrowed from the two arrays */
};

struct compare_match {
    struct compare_pair *pairs; /* in the order of the base's plan */
    size_t count;
    json_t *only_base, *only_change; /* arrays of the points without a partner, in plan order */
    size_t repeated; /* pairs whose settings other points of the same file have, too */
};

/* Points that repeat settings are paired by their section's name first, and then in plan order.
 * compare_match_release() frees what out has. */
enum status compare_match(const json_t *base, const json_t *change, struct compare_match *out);

/* Appends which settings keep points apart: "; --kernels: 220 in BASE, 40 in NEW" for each of which
 * the files have no value in common. */
void compare_match_unlike(const json_t *base, const json_t *change, struct text *out);

void compare_match_release(struct compare_match *match);
