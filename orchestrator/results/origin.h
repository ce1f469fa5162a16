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

#define EXPLAIN_ORIGIN_TEXT 256
#define EXPLAIN_ORIGIN_SHORT 24

struct explain_origins {
    const json_t *merged; /* the header's; NULL: of one run */
    size_t *of_run;       /* of each run: the first run of that origin, which is its number */
    size_t runs;
};

/* header: of the results, borrowed; NULL: of one run. STATUS_MEMORY is the only error. */
enum status explain_origins_make(const json_t *header, struct explain_origins *out);
void explain_origins_release(struct explain_origins *origins);

/* The origin of a record; 0, that of the header, where it does not name its run. STATUS_USAGE:
 * there is no such run. */
enum status explain_origin_of(const struct explain_origins *origins, const json_t *record,
                              size_t *out);

/* "GPU-1234… of host a" for sentences, and the first part of the UUID for tables. Both return
 * text. */
const char *explain_origin_name(const struct explain_origins *origins, size_t origin,
                                char text[EXPLAIN_ORIGIN_TEXT]);
const char *explain_origin_short(const struct explain_origins *origins, size_t origin,
                                 char text[EXPLAIN_ORIGIN_SHORT]);

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
