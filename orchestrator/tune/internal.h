/*
 * Shared by the files that make up the tune command: what is asked for and the order of things
 * (tune.c), measuring (measure.c), what a record shows (observe.c), what it may take (pace.c),
 * several GPUs (gpus.c), what to report of it (record.c, words.c, report*.c). The room search/
 * decides what to measure.
 *
 * Where a status is returned, nothing has been printed.
 */
#pragma once

#include <stdio.h>

#include "orchestrator/campaign/campaign.h"
#include "orchestrator/round/measurement.h"
#include "orchestrator/tune/search/costs.h"
#include "orchestrator/tune/search/search.h"
#include "orchestrator/tune/space.h"

/* What is known of a point of the plan beside its record. */
struct tune_point {
    struct measurement *measurement; /* owned; NULL until it has one */
    enum tune_stage stage;           /* the last one in which it was measured */
    double window_s;                 /* that the last batch has asked for */
    size_t candidate;                /* of the search on all GPUs: tune_candidate_of_point() */
    size_t on_one;                   /* of a point on all GPUs: the point with its layout on one */
    struct saturation search;        /* of its rate, where one is searched for */
};

/* How the time is used. */
struct tune_pace {
    double budget_s; /* INFINITY: none */
    /* No window goes on beyond, and the session ends then: there is time left to end it and to
     * write what was found; 0: none. */
    uint64_t deadline_ns;
    uint64_t warmup_ns; /* of windows before the finals */
    double stop_s;      /* the longest time that workers were seen to take to stop, */
    unsigned stopped;   /* of this many processes */
    double iteration_s; /* mean time of an iteration where that is shortest; 0: not known */
    double ending_s;    /* of processes, to end; of a program the longest that was seen */
    struct start_costs starts;
    bool tried;         /* this run has begun to start processes */
    bool known;         /* a start was seen to get ready, in this run or an earlier one */
    bool streams_known; /* what streams take was seen, on processes that were there */
    size_t unready;     /* the last point that was not measured in time, or TUNE_NO_POINT */
    double unready_s;   /* how long it was waited for */
    bool was_ready;     /* that point was ready */
    double unended_s;   /* how long it did not end for after its window; 0: it had none */
};

/* Where layouts are measured now. With one GPU the search stays in the first phase. */
enum tune_phase {
    TUNE_ON_ONE_GPU,  /* the candidates of the search are the first points of the plan */
    TUNE_ON_ALL_GPUS, /* the best of these on all GPUs, in a search of their own */
};

struct tune {
    const char *program; /* mpsweep, as it was called */
    /* Job, session, results and records as a sweep has them; the plan is the space's. */
    struct campaign campaign;
    struct tune_space space;
    struct tune_search *search;
    enum tune_objective objective;
    struct tune_rules rules;
    uint64_t max_memory_bytes; /* 0: no such constraint */
    struct tune_pace pace;
    struct tune_costs costs;   /* for the search */
    struct tune_point *points; /* of the space, one each */
    unsigned order;            /* measurements so far, those of earlier runs included */
    unsigned batches;
    size_t failed;       /* the last point whose failure was printed, or TUNE_NO_POINT */
    size_t crew_for;     /* the candidate for which the campaign's crew was started */
    uint64_t best_units; /* the highest rate that a layout was seen to hold; 0: none */
    bool guided;         /* a calibration guides the search */
    bool unguided;       /* none does, since it took longer than its share of the budget */
    bool late;           /* the budget was over before the search was */
    bool interrupted;    /* a signal or an error ended the search */
    json_t *record;      /* of type tune; NULL until all is over */
    enum tune_phase phase;
    /* Of several GPUs. The topology and the mask of all CPUs are kept while the session has those
     * of one GPU; machine is NULL else. */
    struct bind_topology *machine;
    uint64_t cpus[BIND_WORDS];
    size_t *chosen;                      /* the point of each candidate on all GPUs */
    size_t chosen_count;                 /* of candidates on all GPUs */
    size_t chosen_layouts;               /* the first of them that may win; naive ones follow */
    struct tune_judgement judged_on_one; /* of the search on one */
};

/* -- measure.c -- */

/* Measures a batch as far as there is time, writes the records, and notes them in the search.
 * Returns STATUS_INTERRUPTED after a signal; a point that fails has a record, and does not fail the
 * batch. */
enum status tune_measure(struct tune *tune, const struct tune_batch *batch);

/* Ends the workers that wait for the next batch, if there are any. Returns `status`, that of the
 * step before, unless they cannot be ended. */
enum status tune_dismiss(struct tune *tune, enum status status);

/* -- observe.c -- */

/* Returns the objective's value, the higher the better: of iterations/s, of the 99th percentile in
 * microseconds, or of joules an iteration; 0 where the one that it takes is not known. */
double tune_value_of(const struct tune *tune, double ips, double p99_us, double joules);

/* Makes an observation of a record. */
void tune_observe(const struct tune *tune, const json_t *record, struct tune_observation *out);

/* Keeps the rate that the point's record has, which was observed as `seen`, where a rate is
 * searched for: for the point's own finals, and as what other points have to beat. */
void tune_keep_rate(struct tune *tune, size_t point, const struct tune_observation *seen);

/* Notes in the search what the records of an earlier run hold. */
void tune_take_over(struct tune *tune);

/* -- gpus.c -- */

/* Make the session's topology, and the affinity of what is started, those of the first GPU's share
 * of the CPUs, and again those of the machine. With one GPU they do nothing. */
enum status tune_share_begin(struct tune *tune);
enum status tune_share_end(struct tune *tune);

/* Returns the seconds that the finals on all GPUs take longer than those on one would; 0 where
 * there are no such finals to come. */
double tune_confirm_s(const struct tune *tune);

/* Ends the search on one GPU, whose finals would begin with this batch, and begins the one among
 * its best on all GPUs. */
enum status tune_confirm_begin(struct tune *tune, const struct tune_batch *finals);

/* Translate between the index of a candidate in tune->search and that of its point in the plan. */
size_t tune_point_of_candidate(const struct tune *tune, size_t candidate);
size_t tune_candidate_of_point(const struct tune *tune, size_t point);

/* Judges what both searches have found, in points of the plan. */
void tune_judge(const struct tune *tune, struct tune_judgement *out);

/* -- tune.c -- */

/* Returns the limit under which a rate is searched for; permille 0: none is. */
const struct rate_goal *tune_goal(const struct tune *tune);

/* Reports whether a point is known not to work. */
bool tune_is_excluded(const struct tune *tune, size_t point);

/* -- pace.c -- */

/* Begins to count a budget from started_ns on; INFINITY: there is none. */
void tune_pace_init(double budget_s, uint64_t started_ns, struct tune_pace *out);

/* Returns what measurements are expected to cost before any is made. */
struct tune_costs tune_pace_first_costs(void);

/* Returns the seconds until the last window must have ended; INFINITY without a budget. */
double tune_seconds_left(const struct tune *tune);

/* Returns the same for the search: less what finals on all GPUs, and the end of workers that wait,
 * take. */
double tune_seconds_left_for_search(const struct tune *tune);

/* Returns how long a window of the point is to be, for which the search asks for window_s: long
 * enough for some iterations. */
double tune_pace_window_s(const struct tune *tune, const struct point *point, enum tune_stage stage,
                          double window_s);

/* Reports whether a start of the point that is not ready after that many seconds hangs, as far as
 * that can be known. */
bool tune_pace_hangs(const struct tune *tune, const struct point *point, double seconds);

/* Sets the limits of a window of the point that is to begin now, on workers that are to start for
 * it or wait. A look leaves the finals their time. Returns false where there is no time for it. */
bool tune_pace_limits(const struct tune *tune, const struct point *point, enum tune_stage stage,
                      bool starts, double window_s, struct round_limits *out);

/* Returns when a search of a rate must end, a moment of the clock: there is time for its last
 * window then, and a look leaves the finals theirs. 0: never. */
uint64_t tune_pace_until_ns(const struct tune *tune, const struct point *point,
                            enum tune_stage stage, double window_s);

/* Learn from a window of window_s that took `seconds`, its start included; from a start that took
 * ready_s, and cpu_s of the CPUs, 0 where that is not known; and from how long it took to end some
 * processes, of our workers or of a program. */
void tune_pace_learn(struct tune *tune, const struct point *point, enum tune_stage stage,
                     const struct round_result *round, double window_s, double seconds);
void tune_pace_learn_start(struct tune *tune, const struct point *point, double ready_s,
                           double cpu_s);
void tune_pace_learn_stop(struct tune_pace *pace, bool program, unsigned processes, double seconds);

/* -- threads.c -- */

/* Reports whether something shows that the program of a point heeds how many threads it is to have:
 * its command, the files that this runs, or bounds that the user has given. */
bool tune_heeds_threads(const struct tune *tune, const struct point *point);

/* -- record.c -- */

/* Makes tune->record from what is known; STATUS_MEMORY is the only error. */
enum status tune_make_record(struct tune *tune);

/* Returns the point that stands for a naive layout: its own, or where that was not measured threads
 * over MPS, which serve the same. */
size_t tune_naive_point(const struct tune *tune, size_t naive);

/* Returns the array of the layouts that are as good, or NULL; earlier versions named it a tie. */
const json_t *tune_record_equals(const json_t *record);

/* Reports whether a record of an earlier run is about the same question, its search came to an end,
 * and all points that it names are in the plan. */
bool tune_record_answers(const struct tune *tune, const json_t *record);

/* -- words.c -- */

/* Return the words behind "mpsweep" of a sweep that measures this point, and of a tune that asks
 * the same with another budget, and continues the file; the caller frees them; NULL without memory.
 */
char *tune_sweep_words(const struct tune *tune, const struct point *point);
char *tune_again_words(const struct tune *tune, double budget_s);

/* -- report.c -- */

/* Prints a line of progress about a point that was measured, unless quiet. */
void tune_print_point(struct tune *tune, size_t point, enum tune_stage stage);

/* Prints the same about the point that was not measured in time, which has no record. */
void tune_print_unready(const struct tune *tune, enum tune_stage stage);

/* Prints what was found on standard output, in the format asked for. footer may be NULL. */
void tune_print(const struct tune *tune, const json_t *footer);

/* Writes the rate that was searched for, with its latency and the limit of that. */
void tune_write_rate(const struct tune *tune, const json_t *winner, FILE *out);

/* Returns whether more time "would probably" find a better layout, or "may": the chance is that of
 * the likeliest one, 0 where it is not known. */
const char *tune_would_find(double chance);

/* Returns a number as text, "-" of one that is not known. */
const char *tune_number_text(double value, char *out, size_t size);

/* -- report_table.c -- */

/* Prints the best layout, those that are as good, and the naive ones, a row each. */
void tune_print_table(const struct tune *tune);

/* -- report_none.c -- */

/* Reports whether a limit excludes layouts that work. */
bool tune_is_constrained(const struct tune *tune);

/* Whether a layout that was measured does not keep up with the rate that it is offered. */
bool tune_is_overloaded(const struct tune *tune);

/* Prints why no layout has a number that counts, one line. */
void tune_print_no_number(const struct tune *tune);

/* -- closing.c -- */

/* Prints the end of the text, after tune_print(): the best layout, the results file, and commands
 * for what comes next; in other formats only how to continue, on standard error. */
void tune_print_closing(const struct tune *tune);

/* -- dry_run.c -- */

/* Prints what --dry-run shows: the machine, the space, and what is measured first. */
void tune_print_plan(struct tune *tune);
