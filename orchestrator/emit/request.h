/*
 * What a deployment is asked for.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

enum { EMIT_REASON_BYTES = 160 };

/* A better point, and why it is not taken: "is unconverged", "has ...". */
struct emit_skipped {
    const json_t *point;
    char reason[EMIT_REASON_BYTES];
};

struct emit_request {
    const json_t *header;               /* of the results, as of the run that measured the point */
    const json_t *point;                /* the point record: measured, so ok or unconverged */
    const char *results;                /* the results file's name, for people */
    const char *chosen;                 /* why this point, in words */
    const struct emit_skipped *skipped; /* better points that were not taken, the best first */
    size_t skipped_count, skipped_more; /* those named, and how many more there are */
    const char *format;                 /* a name of emit_format_name() */
    const char *directory;              /* must not exist, or be empty; its parent must exist */
    char *const *command; /* a worker's words, ended by NULL, which may hold {process} {processes}
                           * {threads} {streams} {port} {seed} {gpu}, and '{{' for a brace; NULL or
                           * none: a placeholder to be replaced */
    int64_t port;         /* of the first worker, each next one has the next; 0: 8000 */
    const char *image;    /* of the workers' containers; NULL: a placeholder to be replaced */
};
