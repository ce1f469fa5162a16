/*
 * Shared by the files of the search: what to measure next (tune_search.c), who lies near whom
 * (tune_near.c), what is better and how surely (tune_judge.c).
 */
#pragma once

#include "orchestrator/results/effect.h"
#include "orchestrator/tune/search.h"

#define TUNE_ROUNDS_MOST 64

/* Points that may be the best, at most. */
#define TUNE_CONTENDERS 64

/* Layouts that differ by less count as equal. */
#define TUNE_SAME 0.01

enum tune_knowledge { TUNE_UNTRIED, TUNE_KNOWN, TUNE_NOT_WORKING };

struct tune_state {
    enum tune_knowledge knowledge;
    struct tune_observation seen; /* the last one */
    unsigned looks;               /* windows of the halving */
    bool finalist, dropped;
    unsigned rounds; /* of the finals */
    double values[TUNE_ROUNDS_MOST];
};

struct tune_search {
    struct tune_candidate *candidates;
    struct tune_state *states;
    size_t count;
    size_t *known, *refused; /* points of that knowledge, in the order in which it came */
    size_t known_count, refused_count;
    size_t best; /* the first of the leaders, or TUNE_NO_POINT */
    struct tune_rules rules;
    enum tune_stage stage;
    bool looked;        /* the batches of TUNE_STAGE_LOOK are chosen */
    unsigned rungs;     /* of the halving */
    unsigned elections; /* of finalists */
    double budget_s;    /* seconds that were left at the begin */
    bool cut;           /* time ended the search */
    bool asked;         /* the last batch was not empty, */
    size_t noted;       /* and so much came of it */
};

/* -- judge.c -- */

/* Of what has a number and may win. */
bool tune_may_win(const struct tune_search *search, size_t point);

/* Iterations of a layout in flight. */
double tune_in_flight(const struct tune_candidate *one);

/* By what is known: surely within the constraints, surely not, and what is more likely. */
bool tune_meets(const struct tune_search *search, size_t point);
bool tune_breaks(const struct tune_search *search, size_t point);
bool tune_fits(const struct tune_search *search, size_t point);

/* Whether a is to be looked at before b: those that fit by their value, the others by how little
 * they miss. */
bool tune_better(const struct tune_search *search, size_t a, size_t b);

typedef bool (*tune_filter)(const struct tune_search *search, size_t point);
typedef bool (*tune_order)(const struct tune_search *search, size_t a, size_t b);

/* Puts a point into a list of `count` points, behind those that it does not come before, and keeps
 * the first `most` of them: list has room for one more. Returns how many there are then. */
size_t tune_rank(const struct tune_search *search, tune_order comes_first, size_t point,
                 size_t *list, size_t count, size_t most);

/* Ranks all points that are wanted. */
size_t tune_rank_all(const struct tune_search *search, tune_filter is_wanted,
                     tune_order comes_first, size_t *out, size_t most);

/* The best that may win, up to `most` of them, best first; how many. */
size_t tune_leaders(const struct tune_search *search, size_t *out, size_t most);

/* By rounds of the finals if there are two, else by the last window. */
struct estimate tune_estimate(const struct tune_search *search, size_t point);

/* Which of the others are worse than the best beyond doubt, all taken together. */
void tune_mark_worse(const struct tune_search *search, size_t best, const size_t *others,
                     size_t count, bool *worse);

/* How far beyond the constraints it was seen, as a ratio; 0: not known. */
double tune_excess(const struct tune_search *search, size_t point);

/* -- prefer.c -- */

/* Of `count` points, TUNE_CONTENDERS at most, that do as much as points[0], which does most: the
 * one with the fewest CPUs in use, of those with about as few the one with the lowest 99th
 * percentile, and then the one with the fewest processes. *reason: what points[0] has more of. */
size_t tune_prefer(const struct tune_search *search, const size_t *points, size_t count,
                   enum tune_reason *reason);

/* -- near.c -- */

/* Adds up to `room` points near the best to the batch; true if there were any. */
bool tune_add_near(const struct tune_search *search, size_t room, struct tune_batch *batch);

/* What to look at first. */
void tune_add_first(const struct tune_search *search, struct tune_batch *batch);

/* Adds a point once. */
void tune_add(struct tune_batch *batch, size_t point, double window_s);
