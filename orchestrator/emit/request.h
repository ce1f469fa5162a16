/*
 * Deployments: a directory that runs the layout of a measured point, over an MPS daemon of its own
 * where the point was, without mpsweep being there.
 *
 * The directory appears whole or not at all. What every format has in common, and what each file is
 * for, is told in docs/deploying.md; a README.md in the directory tells the rest.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "files/results_read.h"
#include "common/status.h"

struct emit_request {
    const json_t *header;  /* the header record of the results */
    const json_t *point;   /* the point record: measured, so ok or unconverged */
    const char *results;   /* the results file, as people know it */
    const char *chosen;    /* why this point, in words; NULL: it was asked for */
    const char *format;    /* a name of emit_format_name() */
    const char *directory; /* must not exist, or be empty; its parent must exist */
    char *const *command;  /* a worker's words, ended by NULL, which may hold {process} {processes}
                            * {threads} {port} {seed} {gpu}, and '{{' for a brace; NULL or none: a
                            * placeholder to be replaced */
    int64_t port;          /* of the first worker, each next one has the next; 0: 8000 */
    const char *image;     /* of the workers' containers; NULL: a placeholder to be replaced */
};

/*
 * Writes the directory. It is made beside its place and renamed. SIGINT, SIGTERM and SIGHUP are
 * blocked meanwhile, and one that comes ends it.
 *
 * STATUS_USAGE: a bad record, format, directory or command. STATUS_NOT_FOUND: our own scripts are
 * not there. STATUS_SYSTEM: it cannot be written. STATUS_INTERRUPTED: a signal came. In all these
 * cases nothing is left behind, and an empty directory that was there is there as it was.
 */
enum status emit_write(const struct emit_request *request);

/* Whether emit_write() can do it, before a long measurement whose result is to go there: the
 * directory's place is free and its parent is there, and the format runs this command. What is
 * wrong with the point, or a port that is too high for its processes, is not known before.
 * STATUS_USAGE, STATUS_SYSTEM otherwise. */
enum status emit_check(const char *format_name, const char *directory, char *const *command);

/* The formats' names, for help and validation: NULL past the last. */
const char *emit_format_name(size_t index);

/*
 * The point of a results file to deploy: the one of an id, or with id -1 the winner of its tune
 * record, else the best ok point by throughput. chosen says which, in words. point belongs to
 * results. STATUS_USAGE: there is none, or it has no measurement.
 */
enum status emit_pick(const struct results *results, const char *path, int64_t id,
                      const json_t **point, char *chosen, size_t chosen_size);
