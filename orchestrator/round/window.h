/*
 * What the time slices of a window show: from when on it was steady, how fast, and how sure that
 * is.
 */
#pragma once

#include "statistics/interval.h"
#include "shm/shm.h"

/* Workers that stood still: an iteration took 5 times as long as all but the three longest of that
 * worker, a tenth of the window, and longer than a busy host keeps a thread from its CPU. Long
 * iterations that recur are the workload's own; one shows nothing of how often it occurs. A
 * connection to a server stands still while none of the same server has an answer: which of them
 * waits is the server's own choice. */
struct window_stall {
    unsigned workers;  /* 0: none stood still */
    unsigned worker;   /* the one that did so the longest, numbered process by process */
    uint64_t ns;       /* how long: until its iteration ended, or the end of what is judged */
    uint64_t usual_ns; /* its fourth longest iteration */
};

struct window {
    uint64_t steady_slice; /* the slices before it are a transient, and in no figure here */
    bool settled;          /* false: the level changed so late that nothing is left out */
    double before_rel;     /* throughput before the change against the rest, e.g. -0.2; 0 without */
    double drift_rel;      /* trend over the steady part, as a share; 0 where it may be chance */
    struct interval interval; /* of iterations a slice, all workers together */
    struct window_stall stall;
};

/* Adds a worker's iterations in the slices first to last - 1 to a series of them, where it is not
 * NULL, and returns their sum. The iteration that runs counts as if it ended after the worker's
 * mean time, or at the end of these slices if that is later: a worker that stands still adds next
 * to nothing. In an open loop it does not count. */
double window_iterations(const struct shm *shm, const struct shm_slot *slot, uint64_t first,
                         uint64_t last, double *series);

/* Judges the first slices of a window, at most SHM_SLICES, which have passed; the workers may still
 * be at work. An iteration is spread evenly over its slices, so that a batch shorter than an
 * iteration would look calmer than things are: each holds two of the slowest worker's at least. */
void window_judge(const struct shm *shm, uint64_t slices, struct window *out);

/* The same of a series of counts. */
void window_judge_series(const double *series, uint64_t slices, size_t shortest_batch,
                         struct window *out);

/* Whether a look at a growing window ends it; narrow as of interval_reached(). */
bool window_ends(const struct window *window, double goal_rel, unsigned *narrow);

/* Whether a window that is at least half as long as it may be would be far from the goal at its
 * longest, too: its interval narrows as the root of its length. Never where a change of level or a
 * stall is what keeps it open, which a longer window may leave behind. */
bool window_is_hopeless(const struct window *window, double goal_rel, uint64_t length,
                        uint64_t longest);

/* How long a window that goes on is at its next look. */
uint64_t window_next(uint64_t length, uint64_t longest);

/* False: a worker stood still, or the level changed by more than a tenth, and so late that it may
 * change again. */
bool window_is_plain(const struct window *window);

/* Over rounds, the one to warn of stays: the longest transient, the largest drift, the longest
 * stall. The interval is that of the newest. */
void window_merge(struct window *newest, const struct window *before);
