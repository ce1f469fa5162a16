/*
 * Progress on standard error: on a terminal a line that is rewritten, with the time left, under
 * the results so far; elsewhere one line for each result and each round, and the line with the time
 * left where none comes for a while.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/clock.h"

#define PROGRESS_SUBJECT 2048
#define PROGRESS_EVERY_NS (15 * NS_PER_S)

struct progress {
    bool quiet;
    bool terminal;
    size_t total, done; /* steps */
    uint64_t started_ns;
    uint64_t printed_ns; /* when the last line was printed */
    uint64_t every_ns;   /* elsewhere than on a terminal: PROGRESS_EVERY_NS */
    double estimated_s;  /* of all steps, before any is done */
    char subject[PROGRESS_SUBJECT];
};

/* Of `total` steps that take so long together; quiet: none is shown. */
void progress_init(struct progress *progress, bool quiet, size_t total, double estimated_s);

/* Begins a step on subject. The line is "[3/9] 20 s left: SUBJECT". */
void progress_begin(struct progress *progress, const char *subject);

/* Shows what is being done for the subject: "[3/9] 20 s left: SUBJECT: STEP". */
void progress_step(struct progress *progress, const char *step);

/* Shows a step under a label of its own: "[LABEL] 20 s left: STEP". The caller counts done. */
void progress_show(struct progress *progress, const char *label, const char *step);

/* Prints what the steps so far have done, "[3/9] 20 s left: WHAT", however short ago the last line
 * was; only in a log, since a terminal shows each step. */
void progress_pass(struct progress *progress, const char *what);

/* Ends a step, and prints its result: "[3/9] SUBJECT: RESULT"; nothing if result is NULL. */
void progress_end(struct progress *progress, const char *result);

/* Takes the line away. */
void progress_clear(const struct progress *progress);
