/*
 * Progress on standard error: on a terminal a line that is rewritten, with the time left, under
 * the results so far; elsewhere one line a point.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "orchestrator/plan/plan.h"

struct progress {
    bool quiet;
    bool terminal;
    size_t total; /* rounds of points to measure, or steps */
    size_t done;
    uint64_t started_ns;
    double estimated_s; /* before anything is measured */
};

void progress_init(struct progress *progress, bool quiet, size_t total, double estimated_s);

/* Work that is no point and has steps of its own, `total` in number: the line is "[LABEL] 20 s
 * left: STEP". The caller sets done. */
void progress_other(const struct progress *progress, const char *label, const char *step);

/* A round of a point begins. */
void progress_begin(struct progress *progress, const struct point *point);

/* What is being done for it, while it is: shown on a terminal only. */
void progress_step(struct progress *progress, const struct point *point, const char *step);

/* It has ended; record is the point's, or NULL while more rounds are to come. */
void progress_end(struct progress *progress, const struct point *point, const json_t *record);

/* Takes the line away. */
void progress_finish(const struct progress *progress);
