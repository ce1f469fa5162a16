/*
 * Reading a results file (docs/results-format.md): JSON Lines, append only, valid up to its last
 * whole line however it was cut.
 *
 * Of the records' own fields only what puts them in their place (type, schema, a point's id) is
 * checked here, and the JSON types of a point's fields, also of those that are not read. The
 * callers that use a field check what it holds, and the types in other records. Any bytes are safe
 * to read.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "common/status.h"
#include "files/results_record.h"

#define RESULTS_SCHEMA 1

struct results {
    json_t *header; /* an object: the first one, with the last "other_machine" of any; NULL: see
                       results_load_begun() */
    json_t *points; /* an array of objects in the order of their first record; the last of an id */
    json_t *calibrations; /* an array of objects in their order */
    json_t *tune;         /* an object: the last record of a tune, or NULL */
    json_t *probes;       /* an array of objects in their order: records of probes */
    json_t *fleet;        /* an object: what a merge found of the nodes, or NULL */
    json_t *footer;       /* an object, or NULL if the last run was cut short */
    bool torn;            /* bytes after the last whole line were ignored */
    bool odd;             /* see results_make_displayable() */
    uint64_t whole_bytes; /* the length up to the end of the last whole line: append there */
};

/*
 * Loads a file; out is set only on success and then released with results_release(). Points have
 * only the fields that `needed` takes (NULL: all): see results_record().
 *
 * STATUS_NOT_FOUND, STATUS_SYSTEM: it cannot be opened or read. STATUS_USAGE: it is empty, not a
 * results file, of another schema, or a whole line in it is broken, or a field of a point is of
 * another type than docs/results-format.md has; the text names file, line and field.
 */
enum status results_load(const char *path, results_field *needed, struct results *out);

/* As results_load(), of a file that is open for reading; path is its name in
 * errors. A file that a kill or a full disk left without even its whole header loads, too, if it
 * looks like ours as far as it goes: then header is NULL, and whole_bytes 0. */
enum status results_load_begun(int fd, const char *path, results_field *needed,
                               struct results *out);

/* Replaces what a terminal does not only print in all texts (common/text.h). Call it before any of
 * them is shown; not where they go into a deployment, or are compared with this machine. */
void results_make_displayable(struct results *results);

/* Whether the points are of a tuning that was cut off before it could compare the best of them. */
bool results_are_of_cut_tune(const struct results *results);

/* Whether a tune wrote the file, whole or cut. */
bool results_are_of_tune(const struct results *results);

/* How many points of its plan a sweep's file does not hold; 0 of a tuning and of a shard, which are
 * to measure a part of it. */
size_t results_missing_points(const struct results *results);

/* How many of its points lack rounds: --resume measures them anew. */
size_t results_lacking_points(const struct results *results);

/* For commands that are about points: STATUS_USAGE of a file that has probes instead. */
enum status results_refuse_probes(const struct results *results, const char *path);

void results_release(struct results *results);
