/*
 * Which point of a results file is deployed, and which better ones are not, and why.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "common/status.h"
#include "files/results_read.h"
#include "orchestrator/emit/request.h"

enum {
    EMIT_SKIPPED_MOST = 3, /* better points that are named; further ones are counted */
    EMIT_WHY_BYTES = 224,
};

struct emit_rules {
    int64_t point;       /* asked for by its id; -1: the best one */
    double max_p99_us;   /* the 99th percentile is surely below it; 0: no limit */
    bool no_advice;      /* where there is no --point, which an error otherwise names */
    bool or_unconverged; /* without a limit the best point that is, where none is ok */
};

struct emit_choice {
    const json_t *point;                            /* of the results */
    char why[EMIT_WHY_BYTES];                       /* it is this one, in words */
    struct emit_skipped skipped[EMIT_SKIPPED_MOST]; /* better ones, the best first */
    size_t skipped_count, skipped_more;             /* those named, and how many more there are */
};

/*
 * The point of rules.point, or the winner of the tuning in the file, or the best point
 * (results/best.h) of those that can be deployed, meet the limit and, in a file with rates that
 * were searched under a limit, are such a rate, if one of them is ok.
 *
 * STATUS_USAGE: there is no such point, or rules.point has no measurement, cannot be deployed, or
 * does not meet the limit; or the rates were searched under several limits.
 */
enum status emit_choose(const struct results *results, const char *path,
                        const struct emit_rules *rules, struct emit_choice *out);
