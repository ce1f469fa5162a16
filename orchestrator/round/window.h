/*
 * What the time slices of a window show: from when on it was steady, how fast, and how sure that
 * is.
 */
#pragma once

#include "statistics/interval.h"
#include "shm/shm.h"

struct window {
    uint64_t steady_slice; /* the slices before it are a transient, and in no figure here */
    bool settled;          /* false: the level changed so late that nothing is left out */
    double before_rel;     /* throughput before the change against the rest, e.g. -0.2; 0 without */
    double drift_rel;      /* trend over the steady part, as a share; 0 where it may be chance */
    struct interval interval; /* of iterations a slice, all workers together */
};

/* Judges the first slices of a window, at most SHM_SLICES; they must not change any more. An
 * iteration is spread evenly over its slices, so that a batch shorter than an iteration would look
 * calmer than things are: each holds two of the slowest worker's at least. */
void window_judge(const struct shm *shm, uint64_t slices, struct window *out);

/* The same of a series of counts. */
void window_judge_series(const double *series, uint64_t slices, size_t shortest_batch,
                         struct window *out);

/* Whether a look at a growing window ends it; narrow as of interval_reached(). */
bool window_ends(const struct window *window, double goal_rel, unsigned *narrow);

/* How long a window that goes on is at its next look. */
uint64_t window_next(uint64_t length, uint64_t longest);

/* False: its level changed by more than a tenth, and so late that it may change again. */
bool window_is_plain(const struct window *window);

/* Over rounds, the one to warn of stays: the longest transient, the largest drift. The interval is
 * that of the newest. */
void window_merge(struct window *newest, const struct window *before);
