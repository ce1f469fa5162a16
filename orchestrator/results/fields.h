/*
 * Which fields of a point's record the readers need: a point of many workers has many more.
 */
#pragma once

#include <stdbool.h>

#include <jansson.h>

/* Each is a results_field (files/results_record.h). */
bool fields_of_tables(const char *key);
bool fields_of_figures(const char *key); /* with what explains them */
bool fields_of_comparisons(const char *key);
bool fields_of_explanations(const char *key);

/* Whether the list has the field of a record, needed or not. */
bool fields_are_listed(const char *key);

/* Removes what tables do not need. */
void fields_keep_for_tables(json_t *record);
