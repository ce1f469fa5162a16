/*
 * The search for the best layout: decides from what is known what to measure next, and in the end
 * which point has won. It knows numbers only, no GPU, no file and no clock: the caller measures,
 * and notes what came of it.
 *
 * Order of calls: tune_search_new(), then tune_search_next() and tune_search_note() or
 * tune_search_note_round() for each point of the batch, until a batch is empty; at any time
 * tune_search_judge(). A point of a batch need not be measured: one for which no time was left is
 * not noted. docs/tuning.md describes the method.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

/* Settings beside P and T, as numbers that are the same or are not. */
#define TUNE_AXES 12
#define TUNE_AXIS_MPS 0      /* 0 or 1 */
#define TUNE_AXIS_LAUNCH 1   /* enum work_launch */
#define TUNE_AXIS_SHARE 2    /* of the GPU that clients get */
#define TUNE_AXIS_SCHEDULE 3 /* enum work_schedule */
#define TUNE_AXIS_DAEMONS 10 /* enum mps_daemons */

/* A point that can be measured. */
struct tune_candidate {
    unsigned processes, threads;
    unsigned streams;     /* of a thread; 0 counts as 1 */
    unsigned connections; /* hardware queues of a process */
    uint32_t axes[TUNE_AXES];
    double predicted; /* of the objective, higher is better; 0: nothing is predicted */
    double ceiling;   /* what it cannot exceed, in the same unit; 0: not known */
    double mean_us;   /* predicted mean latency, microseconds; 0: not known */
    double cpus;      /* that it is predicted to keep busy; 0: not known */
    bool naive;       /* always measured */
    bool outside;     /* of the space: it is there for comparison, and cannot win */
    bool excluded;    /* known not to work: never measured */
};

struct tune_rules {
    double max_p99_us, max_cpus;        /* 0: no such constraint */
    double window_s;                    /* of a first look */
    double final_s;                     /* of the finals */
    unsigned rounds_least, rounds_most; /* of the finals */
    bool exhaustive;                    /* look at every point */
    bool predicted;                     /* candidates have predictions */
};

/* What a measurement costs beside its window, in seconds; the caller keeps it up to date. */
struct tune_costs {
    double point_s;   /* each, warm-up included */
    double start_s;   /* of new worker processes: */
    double process_s; /* and for each of them */
};

enum tune_outcome {
    TUNE_MEASURED,
    TUNE_INFEASIBLE, /* the driver refuses it, or it takes too much memory: so would larger ones */
    TUNE_FAILED,
};

/* A measurement. Of the objective the higher is the better: iterations/s, 1/s of the 99th
 * percentile, iterations/J. An end of an interval that is not known is 0 or INFINITY. */
struct tune_observation {
    enum tune_outcome outcome;
    double value, low, high;
    double p99_us, p99_low_us, p99_high_us; /* of the latency; 0 where it is not known */
    double ips;                             /* iterations/s: how long to look for a percentile */
    double cpus;                            /* in use; 0: not known */
};

enum tune_stage {
    TUNE_STAGE_NAIVE, /* the layouts that one would take without a search */
    TUNE_STAGE_LOOK,  /* short windows of what is predicted best, or of a coarse design */
    TUNE_STAGE_NEAR,  /* and of what lies near the best */
    TUNE_STAGE_HALVE, /* longer windows of those that are not surely worse */
    TUNE_STAGE_FINAL, /* rounds of the best, each with fresh processes */
    TUNE_STAGE_DONE,
};

/* "naive", "look", "near", "halve", "final", "done". */
const char *tune_stage_name(enum tune_stage stage);

struct tune_item {
    size_t point;
    double window_s;
};

#define TUNE_BATCH_MOST 64
struct tune_batch {
    enum tune_stage stage;
    bool fresh; /* each on processes of its own, in random order */
    size_t count;
    struct tune_item items[TUNE_BATCH_MOST];
};

struct tune_search;

/* The candidates are copied. STATUS_MEMORY is the only error. */
enum status tune_search_new(const struct tune_candidate *candidates, size_t count,
                            const struct tune_rules *rules, struct tune_search **out);
void tune_search_free(struct tune_search *search);

/* What to measure next, with seconds_left (INFINITY: no bound); none when the search is
 * over, and then in TUNE_STAGE_DONE. */
void tune_search_next(struct tune_search *search, double seconds_left,
                      const struct tune_costs *costs, struct tune_batch *out);

/* What a window, or an earlier run, showed of a point. */
void tune_search_note(struct tune_search *search, size_t point,
                      const struct tune_observation *observation);

/* One round of the finals: value is the round's own, the percentiles are those of all rounds
 * together. */
void tune_search_note_round(struct tune_search *search, size_t point, double value,
                            const struct tune_observation *observation);

enum tune_verdict {
    TUNE_WINNER, /* better than every other finalist beyond doubt */
    TUNE_TIE,    /* some others may be as good */
    TUNE_NONE    /* no point that was measured meets the constraints */
};

/* "winner", "tie", "none". */
const char *tune_verdict_name(enum tune_verdict verdict);

/* Why one of several layouts that do the same within 1% is the winner. */
enum tune_reason { TUNE_MORE, TUNE_FEWER_CPUS, TUNE_LOWER_P99, TUNE_FEWER_PROCESSES };

/* "more", "cpus", "p99", "processes". */
const char *tune_reason_name(enum tune_reason reason);

#define TUNE_NO_POINT SIZE_MAX
#define TUNE_FINALISTS 4
#define TUNE_TIED_MOST 16

struct tune_judgement {
    enum tune_verdict verdict;
    size_t winner;           /* the best of those that meet the constraints, or TUNE_NO_POINT */
    enum tune_reason reason; /* why it is the winner */
    size_t most;             /* the one that does most */
    size_t equals;           /* finalists that do the same as that one, itself included */
    size_t next;             /* the best of the others, or TUNE_NO_POINT */
    size_t closest; /* without a winner: who came closest to the constraints, or TUNE_NO_POINT */
    double value, low, high;                /* of the winner, with its 95% interval */
    double margin, margin_low, margin_high; /* winner / next - 1; NAN without a next one */
    unsigned rounds;                        /* of the finals; 0: judged by single windows */
    size_t tied_count;                      /* of a tie: the winner and who may do as much */
    size_t tied[TUNE_TIED_MOST];
    size_t measured; /* points that gave a number or were found not to work */
    bool complete;   /* all that the search wanted to know was measured, and something worked */
    bool cut;        /* time ended the search */
};

void tune_search_judge(const struct tune_search *search, struct tune_judgement *out);
