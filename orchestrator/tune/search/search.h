/*
 * The search for the best layout: decides from what is known what to measure next, and in the end
 * which point has won. It knows numbers only, no GPU, no file and no clock: the caller measures,
 * and notes what came of it.
 *
 * Order of calls: tune_search_new(), then tune_search_hold(), tune_search_next() and
 * tune_search_note() or tune_search_note_round() for each point of the batch, until a batch is
 * empty; at any time tune_search_judge(). A point of a batch need not be measured: one for which no
 * time was left is not noted. docs/search.md describes the method.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

/* Settings beside P and T, as numbers that are the same or are not. */
enum tune_axis {
    TUNE_AXIS_MPS,      /* 0 or 1 */
    TUNE_AXIS_LAUNCH,   /* enum work_launch */
    TUNE_AXIS_SHARE,    /* of the GPU that clients get */
    TUNE_AXIS_SCHEDULE, /* enum work_schedule */
    TUNE_AXIS_MEMORY,   /* enum work_memory */
    TUNE_AXIS_SYNC,     /* enum work_sync */
    TUNE_AXIS_QUEUES,   /* of a process; 0: at least one for each thread */
    TUNE_AXIS_PRIORITY, /* of clients */
    TUNE_AXIS_LIMIT,    /* on the memory of clients */
    TUNE_AXIS_BIND,     /* enum bind_policy */
    TUNE_AXIS_DAEMONS,  /* enum mps_daemons */
    TUNE_AXIS_SEVERAL,  /* a program's threads: 0: one, 1: several, which it need not have */
    TUNE_AXES
};

#define TUNE_NO_POINT SIZE_MAX

/* Two sets of processes of one layout differ by so much, as a share: that is more than the interval
 * of a window shows. */
#define TUNE_BETWEEN_REL 0.01

/* A point that can be measured. */
struct tune_candidate {
    unsigned processes, threads;
    unsigned streams;     /* of a thread; 0 counts as 1 */
    unsigned connections; /* hardware queues of a process */
    double start_weight;  /* what its processes weigh in what a start takes */
    uint32_t axes[TUNE_AXES];
    uint32_t share;       /* of the GPU that its processes start with, as a number of its own */
    double predicted;     /* of the objective, higher is better; 0: nothing is predicted */
    double predicted_rel; /* its likely error, as a share; 0: not known */
    double ceiling;       /* what it cannot exceed, in the same unit; 0: not known */
    double mean_us;       /* predicted mean latency, microseconds; 0: not known */
    double cpus;          /* that it is predicted to keep busy; 0: not known */
    bool naive;           /* always measured */
    bool outside;         /* of the space: it is there for comparison, and cannot win */
    bool excluded;        /* known not to work: never measured */
};

struct tune_rules {
    double max_p99_us, max_cpus;        /* 0: no such constraint */
    double cpus;                        /* that the workers may use */
    double window_s;                    /* of a first look */
    double final_s;                     /* of the finals */
    bool final_grows;                   /* a program's may be longer, to suit its start */
    unsigned rounds_least, rounds_most; /* of the finals */
    unsigned rounds_unsure;             /* as long as the best may or may not meet a limit */
    double budget_s;                    /* of all that was done and will be; 0: not known */
    bool latency;                       /* the value is the inverse of a latency */
    double resolution; /* the value is a rate that is searched for, known to this share; or 0 */
    bool exhaustive;   /* look at every point */
    bool predicted;    /* candidates have predictions, */
    bool trusted; /* and what few looks show of them is not doubted: other finals have the time */
    bool program; /* candidates are of a program: its starts may take long, and serve fewer */
    bool server;  /* the program is a server: threads are connections to it */
    bool fresh;   /* no processes serve two points */
    /* Its command has their number: a start serves no other one. */
    bool names_processes, names_threads;
    bool may_ignore_threads; /* nothing shows that it heeds their number: it may have one */
};

/* What a measurement costs beside its window, in seconds; the caller keeps it up to date. */
struct tune_costs {
    double point_s;   /* each, warm-up included */
    double window_s;  /* no window is shorter: it would hold too few iterations */
    double search_s;  /* each look beside its window, where a rate is searched for */
    double start_s;   /* of new worker processes, with their end: */
    double process_s; /* and for what they weigh; */
    /* But at least as long as CPUs load a program, for each process with one thread, and for each
     * further thread of it. */
    double load_s, load_thread_s;
    double stream_s; /* of a thread's streams each, on new processes and on others: its graph */
};

/* Of these the least that processes of a program take to start. threads: of each process. */
double tune_load_seconds(const struct tune_costs *costs, unsigned processes, unsigned threads);

/* Of these what a point's streams take: its threads get theirs ready at the same time, and those of
 * a program are its own business. */
double tune_streams_seconds(const struct tune_costs *costs, unsigned streams, bool program);

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
    bool beaten;                            /* it holds less than the best: the value is a guess */
    bool overloaded;                        /* it does not keep up with the rate that is offered */
    bool unready;                           /* TUNE_FAILED: its workers did not get ready */
    bool unattached;  /* TUNE_FAILED: it was, or was not, a client of MPS against its layout */
    unsigned threads; /* and a process of the program has no more than those; 0: not known */
    bool crowded;     /* TUNE_INFEASIBLE: over MPS the driver had no room for another client */
    bool full;        /* TUNE_INFEASIBLE: there was too little memory */
};

enum tune_stage {
    TUNE_STAGE_LOOK,  /* short windows of what is expected to gain most for its time */
    TUNE_STAGE_FINAL, /* rounds of the best, with fresh processes */
    TUNE_STAGE_NAIVE, /* the layouts that one would take without a search, for comparison */
    TUNE_STAGE_DONE,
};

/* "look", "final", "naive", "done". */
const char *tune_stage_name(enum tune_stage stage);

struct tune_item {
    size_t point;
    double window_s;
};

#define TUNE_BATCH_MOST 64
struct tune_batch {
    enum tune_stage stage;
    bool fresh; /* on processes that start for the batch: each on its own, but those of a program
                   share them where few idle */
    size_t count;
    struct tune_item items[TUNE_BATCH_MOST];
};

/* From this budget on a calibration, which takes 9 to 15 s, leaves enough time. With 30 s it pays
 * on simulated machines and on an H100; with a limit on the latency the search needs it most
 * (docs/search.md). */
#define TUNE_CALIBRATION_LEAST_S 25.0

/* Windows of a rate that is searched for are as long as it takes to offer enough, but not longer
 * than this number of windows of the finals. */
#define TUNE_RATE_LONGEST 5.0

struct tune_search;

/* The candidates are copied. STATUS_MEMORY is the only error. */
enum status tune_search_new(const struct tune_candidate *candidates, size_t count,
                            const struct tune_rules *rules, struct tune_search **out);
void tune_search_free(struct tune_search *search);

/* Processes that were started for that point wait, to serve the next look; TUNE_NO_POINT: none do.
 */
void tune_search_hold(struct tune_search *search, size_t point);

/* What to measure next, with seconds_left (INFINITY: no bound); none when the search is
 * over, and then in TUNE_STAGE_DONE. */
void tune_search_next(struct tune_search *search, double seconds_left,
                      const struct tune_costs *costs, struct tune_batch *out);

/* Seconds that a look must leave for the finals, less if it starts no processes: what those of the
 * best until now take, as far as seconds_left allow them. 0: no layout is known to work, or there
 * is no time for any finals. */
double tune_search_reserve_s(const struct tune_search *search, double seconds_left,
                             const struct tune_costs *costs, bool starts);

/* The best point by what is known now, or TUNE_NO_POINT. It takes little, and changes nothing. */
size_t tune_search_best(const struct tune_search *search);

/* Whether the program is known to have fewer threads: it would fail in any stage. */
bool tune_search_lacks_threads(const struct tune_search *search, size_t point);

/* Whether the driver would refuse a point that was not tried, as it refused less: that may have
 * come to light since the batch was chosen. */
bool tune_search_is_beyond(const struct tune_search *search, size_t point);

/* What a window, or an earlier run, showed of a point. */
void tune_search_note(struct tune_search *search, size_t point,
                      const struct tune_observation *observation);

/* One round of the finals: value is the round's own, the percentiles are those of all rounds
 * together. */
void tune_search_note_round(struct tune_search *search, size_t point, double value,
                            const struct tune_observation *observation);

/* Its rounds until now held a higher rate than the one that is offered from now on: they count as
 * if they had held this one only. */
void tune_search_lower_rounds(struct tune_search *search, size_t point, double value);

enum tune_verdict {
    TUNE_WINNER,     /* better than all that was measured, beyond doubt */
    TUNE_EQUAL,      /* some others do as much, as far as the data show */
    TUNE_UNFINISHED, /* the best so far: more time would find a better one, or show whether it is */
    TUNE_NONE        /* no point that was measured meets the constraints */
};

/* "winner", "equal", "unfinished", "none". */
const char *tune_verdict_name(enum tune_verdict verdict);

/* Why one of several layouts that do the same within 1% is the winner. */
enum tune_reason {
    TUNE_MORE,
    TUNE_FEWER_CPUS,
    TUNE_WHOLE_GPU,
    TUNE_LOWER_P99,
    TUNE_FEWER_PROCESSES,
    TUNE_NO_DAEMON
};

/* "more", "cpus", "share", "p99", "processes", "mps". */
const char *tune_reason_name(enum tune_reason reason);

/* The chance of something much better from which on a search is not finished. */
#define TUNE_BETTER_CHANCE 0.06

#define TUNE_FINALISTS 4
#define TUNE_EQUAL_MOST 64

struct tune_judgement {
    enum tune_verdict verdict;
    size_t winner;           /* the best of those that meet the constraints, or TUNE_NO_POINT */
    enum tune_reason reason; /* why it is the winner */
    size_t most;             /* the one that does most */
    size_t next;             /* the best of the others, or TUNE_NO_POINT */
    size_t closest; /* without a winner: who came closest to the constraints, or TUNE_NO_POINT */
    double value, low, high;                /* of the winner, with its 95% interval */
    double margin, margin_low, margin_high; /* winner / next - 1; NAN without a next one */
    unsigned rounds;                        /* of the finals; 0: judged by single windows */
    /* The measured points that are as good as the best, as far as the data show, and beside such
     * the finalists that may be: the winner first, then the one to be preferred among the others,
     * and so on; the winner alone with TUNE_WINNER, none with TUNE_NONE. */
    size_t equal_count;
    size_t equal[TUNE_EQUAL_MOST];
    double reached_share;   /* of the highest prediction, or of the highest ceiling; 0: not known */
    double better_chance;   /* that something unmeasured does more than 5% more, 0 .. 1 */
    bool open;              /* TUNE_UNFINISHED only since another measured one may be as good */
    double enough_budget_s; /* of TUNE_UNFINISHED: what would probably suffice; 0: not known */
    double finals_budget_s; /* without time for finals: what holds the shortest; 0: not known */
    size_t measured;        /* points of the space that gave a number or were found not to work */
    bool complete; /* all that the search wanted to know was measured, and something worked */
    bool cut;      /* time ended the search */
};

void tune_search_judge(struct tune_search *search, struct tune_judgement *out);
