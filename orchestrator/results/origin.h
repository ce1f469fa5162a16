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

/* The fields of a header that are about its run alone; ended by NULL. A merged file's header has
 * those of the first run, and each run's in 'merged'. */
extern const char *const origin_fields[];

/* The header with those of the run that measured a record. To be released; NULL: no memory. */
json_t *origin_header_of(json_t *header, const json_t *record);

/* The node's name for Slurm, which may have several on a host, or else the host's, of a header or
 * of a run in 'merged'; "" without one. */
const char *origin_host(const json_t *run);

/* The different hosts of a header's runs, and the UUIDs of their first GPUs: "a, b, c", with " and
 * 9 more" behind the first ORIGIN_LISTED. Both return how many there are. */
#define ORIGIN_LISTED 8
#define ORIGIN_LIST 600
size_t origin_hosts(const json_t *header, char text[ORIGIN_LIST]);
size_t origin_uuids(const json_t *header, char text[ORIGIN_LIST]);

/* "4 hosts: a, b, c, d" of a merged file; of a fleet also which node's record a row is; "" of one
 * run. Returns text. */
#define ORIGIN_MACHINES (ORIGIN_LIST + 120)
const char *origin_machines(const json_t *header, char text[ORIGIN_MACHINES]);

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
