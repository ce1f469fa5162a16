/*
 * Shared by the files that make up the tune command: what is asked for and the order of things
 * (tune.c), measuring (measure.c), what to report of it (record.c, report.c). search.h
 * decides what to measure.
 *
 * Where a status is returned, nothing has been printed.
 */
#pragma once

#include "orchestrator/campaign/campaign.h"
#include "orchestrator/tune/search.h"
#include "orchestrator/tune/space.h"

/* What is known of a point beside its record. */
struct tune_point {
    struct measurement *measurement; /* owned; NULL until it has one */
    enum tune_stage stage;           /* the last one in which it was measured */
    double window_s;                 /* of the batch */
};

struct tune {
    /* Job, session, results and records as a sweep has them; the plan is the space's. */
    struct campaign campaign;
    struct tune_space space;
    struct tune_search *search;
    enum tune_objective objective;
    struct tune_rules rules;
    uint64_t max_memory_bytes; /* 0: no such constraint */
    double budget_s;           /* INFINITY: none */
    uint64_t deadline_ns;      /* 0: none */
    uint64_t look_warmup_ns;   /* of windows before the finals */
    struct tune_costs costs;
    struct tune_point *points; /* of the space, one each */
    unsigned order;            /* measurements so far, those of earlier runs included */
    unsigned batches;
    bool guided; /* by a calibration */
    bool interrupted;
    json_t *record; /* of type tune, NULL until all is over */
};

/* -- measure.c -- */

/* Measures a batch as far as there is time, writes the records, and notes them in the search. The
 * status is about the whole: STATUS_INTERRUPTED after a signal. */
enum status tune_measure(struct tune *tune, const struct tune_batch *batch);

/* Notes in the search what the records of an earlier run hold. */
void tune_take_over(struct tune *tune);

/* Seconds until the budget ends; INFINITY without one. */
double tune_seconds_left(const struct tune *tune);

/* -- record.c -- */

/* Makes tune->record from what is known; STATUS_MEMORY is the only error. */
enum status tune_make_record(struct tune *tune);

/* Whether a record of an earlier run is about the same question, and its search came to an end. */
bool tune_record_answers(const struct tune *tune, const json_t *record);

/* -- report.c -- */

/* On standard output, in the format asked for. footer may be NULL. */
void tune_print(const struct tune *tune, const json_t *footer);

/* What --dry-run prints. */
void tune_print_plan(struct tune *tune);

/* A line of progress, unless quiet. */
void tune_tell(const struct tune *tune, size_t point, enum tune_stage stage);
