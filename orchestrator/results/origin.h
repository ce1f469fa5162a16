/*
 * On which GPUs the points and calibrations of a results file were measured. A file of one run has
 * one origin. In a merged one each record names its run (docs/results-format.md), and runs on the
 * same GPUs of the same host with the same driver have the same origin.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "common/status.h"

#define ORIGIN_NAME_TEXT 256
#define ORIGIN_SHORT_TEXT 24

struct origins {
    const json_t *merged; /* the header's; NULL: of one run */
    size_t *of_run;       /* of each run: the first run of that origin, which is its number */
    size_t runs;
};

/* header: of the results, borrowed; NULL: of one run. STATUS_MEMORY is the only error. */
enum status origins_make(const json_t *header, struct origins *out);
void origins_release(struct origins *origins);

/* The origin of a record; 0, that of the header, where it does not name its run. STATUS_USAGE:
 * there is no such run. */
enum status origin_of(const struct origins *origins, const json_t *record, size_t *out);

/* "GPU-1234… of host a" for sentences, and the first part of the UUID for tables. Both return
 * text. */
const char *origin_name(const struct origins *origins, size_t origin, char text[ORIGIN_NAME_TEXT]);
const char *origin_short(const struct origins *origins, size_t origin,
                         char text[ORIGIN_SHORT_TEXT]);

/* Whether the numbers below a header are of an emulated GPU; prints that in a line if they are. */
bool origin_is_emulated(const json_t *header);
void origin_print_emulated(FILE *out, const json_t *header);

/* The job file as it was given; files of earlier versions have only the last part of its path.
 * NULL: the command line alone. */
const char *origin_job_path(const json_t *header);

/* An array of texts, as record_differences() makes it, with "; " between them. The second is a
 * remark on a file that --force has resumed elsewhere; "" for others. Both return text. */
#define ORIGIN_TEXT 700
const char *origin_differences(const json_t *array, char text[ORIGIN_TEXT]);
#define ORIGIN_REMARK (ORIGIN_TEXT + 100)
const char *origin_remark(const json_t *header, char text[ORIGIN_REMARK]);
