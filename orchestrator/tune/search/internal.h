/*
 * Shared by the files of the search: its stages (search.c), what is believed of all points
 * (belief.c), which of them may be looked at (eligible.c), what that takes (starts.c), which of
 * them to look at next (choose.c), the finals (finals.c), what is better and how surely (judge.c),
 * and which of equals is preferred (prefer.c).
 */
#pragma once

#include "orchestrator/tune/search/gp.h"
#include "orchestrator/tune/search/search.h"

#define TUNE_ROUNDS_MOST 64

/* Points that are looked at, at most. */
#define TUNE_LOOKS_MOST 200

/* Layouts that differ by less count as equal. */
#define TUNE_SAME 0.01

/* A process whose only worker never sleeps may be seen to use a little more than one CPU. */
#define TUNE_CPU_SLACK 1.02

enum tune_knowledge { TUNE_UNTRIED, TUNE_KNOWN, TUNE_NOT_WORKING };

struct tune_state {
    enum tune_knowledge knowledge;
    struct tune_observation seen; /* the last one */
    double looked, look_weight;   /* sum of the logarithms of all windows of a look, by variance, */
    double look_squares;          /* and of their squares */
    unsigned looks;
    double believed; /* tune_stand(): logarithm of its value, */
    double doubt;    /* and standard deviation of its distance to the best */
    bool dropped;
    unsigned rounds; /* of the finals */
    double values[TUNE_ROUNDS_MOST];
};

/* What is believed of a figure of all points, as logarithms. */
enum tune_quantity { TUNE_VALUE, TUNE_P99, TUNE_CPUS, TUNE_QUANTITIES };
#define TUNE_NUMBERS 7 /* features that are numbers */
struct tune_belief {
    struct gp_point *points; /* NULL: it does not matter */
    struct gp_shape shape;
    struct gp *gp;
    bool stale;         /* gp: what it observed counts otherwise by now */
    size_t fitted;      /* points known when the shape was chosen, */
    double least_scale; /* which has at least this scale */
};

struct tune_search {
    struct tune_candidate *candidates;
    struct tune_state *states;
    size_t count;
    size_t *known, *refused; /* points of that knowledge, in the order in which it came */
    size_t known_count, refused_count;
    struct tune_belief beliefs[TUNE_QUANTITIES];
    struct tune_rules rules;
    enum tune_stage stage;
    size_t looks;     /* windows before the finals */
    bool begun;       /* the finals are: final_s is known, */
    size_t finalists; /* and how many at a time there is time for */
    double budget_s;  /* seconds that were left at the begin, */
    double left_s;    /* and are left */
    double look_s;    /* window of a look, */
    double final_s;   /* and of the finals */
    struct tune_costs costs;
    size_t held;      /* whose processes wait, or TUNE_NO_POINT */
    double surpassed; /* the most that a layout did, as a multiple of its ceiling; at least 1 */
    bool cut;         /* time ended the search */
    bool reopened;    /* the finals: an obvious layout seemed better than all finalists */
    bool asked;       /* the last batch was not empty, */
    size_t noted;     /* and so much came of it */
};

/* -- belief.c -- */

/* Streams of a thread. */
static inline unsigned tune_streams_of(const struct tune_candidate *one)
{
    return one->streams > 1 ? one->streams : 1;
}

/* Iterations of a layout in flight. */
double tune_in_flight(const struct tune_candidate *one);

enum status tune_belief_init(const struct tune_search *search, enum tune_quantity quantity,
                             struct tune_belief *out);
void tune_belief_release(struct tune_belief *belief);

/* Of the logarithm of what a window showed, from one set of processes to the next included. */
double tune_noise_of(const struct tune_observation *seen);

/* Adds the last window of a look to what is believed. */
void tune_belief_note(struct tune_search *search, size_t point);

/* Makes beliefs that there are not yet; and anew, with another shape, where more than `growth`
 * times as many points are known as when the shape was chosen. */
#define TUNE_GROWTH 1.3
enum status tune_belief_renew(struct tune_search *search, double growth);

/* Believes half as firmly what is believed of the value: where nothing seems to be worth a look,
 * and there is time for more. False: that was done often enough. */
bool tune_belief_doubt(struct tune_search *search);

/* The best of what may win, up to TUNE_LOOKS_MOST, best first by what all windows and rounds
 * together show: sets `believed` and `doubt` of each. Returns how many. */
size_t tune_stand(const struct tune_search *search, size_t *out);

/* -- eligible.c -- */

/* Not tried, not ruled out by what was found of others, by its ceiling or by predictions. */
bool tune_is_open(const struct tune_search *search, size_t best, size_t point);

/* A setting with which nothing has worked: for example a workload that cannot be a graph. A start
 * of a program that hangs is too dear to be tried as often. */
bool tune_has_dead_setting(const struct tune_search *search, size_t point);

/* Whether a refusal is not a limit: as many clients with as many queues have worked. */
bool tune_has_room(const struct tune_search *search, const struct tune_candidate *refused);

/* -- starts.c -- */

/* Seconds of a window of a point with processes of its own, and on some that there are. */
double tune_seconds_of(const struct tune_search *search, size_t point, double window_s);
double tune_held_seconds_of(const struct tune_search *search, size_t point, double window_s);

/* Of a look, the search of a rate included; and of one on processes that there are. */
double tune_look_seconds(const struct tune_search *search, size_t point);
double tune_held_look_seconds(const struct tune_search *search, size_t point);

/* By processes, then by threads: the larger of several is started for. */
bool tune_is_larger(const struct tune_candidate *one, const struct tune_candidate *other);

/* Whether a round of the finals has both on the same processes: of a program, where few of them
 * idle (TURNS_EQUAL). */
bool tune_may_share_round(const struct tune_search *search,
                          const struct tune_candidate *started_for,
                          const struct tune_candidate *one);

/* Whether processes that wait serve the point. */
bool tune_is_held(const struct tune_search *search, size_t point);

/* Whether the processes of one point can serve another one, as far as numbers show (turns.h). */
bool tune_may_serve(const struct tune_search *search, const struct tune_candidate *started_for,
                    const struct tune_candidate *one);

/* Whether processes may start for a point as far as its search has got: a program's wait until
 * smaller layouts have worked, and where starts are dear until plainer ones have. */
bool tune_may_start(const struct tune_search *search, size_t point);

/* -- choose.c -- */

/* Adds what to look at next, points that can share processes, of which a look that starts some and
 * one that does not take at most as many seconds as is given; false: there is nothing that is worth
 * it. *too_dear: something would be, with more time. */
bool tune_choose(struct tune_search *search, double seconds_most, double held_most,
                 struct tune_batch *batch, bool *too_dear);

/* The chance of the likeliest that something unmeasured does better than the best by a share, and
 * the seconds that it takes to look at all that may. */
void tune_look_ahead(struct tune_search *search, double share, double *chance, double *seconds);

/* Adds a point once. */
void tune_add(struct tune_batch *batch, size_t point, double window_s);

/* -- judge.c -- */

/* Of what has a number and may win. */
bool tune_may_win(const struct tune_search *search, size_t point);

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
 * the first `most` of them, for which list has room. Returns how many there are then. */
size_t tune_rank(const struct tune_search *search, tune_order comes_first, size_t point,
                 size_t *list, size_t count, size_t most);

/* Ranks all points that are wanted. */
size_t tune_rank_all(const struct tune_search *search, tune_filter is_wanted,
                     tune_order comes_first, size_t *out, size_t most);

/* The best that may win, up to `most` of them, best first; how many. */
size_t tune_leaders(const struct tune_search *search, size_t *out, size_t most);

/* By what tune_stand() left: surely less than the best, or surely about as good. */
bool tune_is_told_apart(const struct tune_search *search, size_t best, size_t point);

/* Neither worse beyond doubt nor as good. */
bool tune_is_rival(const struct tune_search *search, size_t best, size_t point);

/* How far beyond the constraints it was seen, as a ratio; 0: not known. */
double tune_excess(const struct tune_search *search, size_t point);

/* -- finals.c -- */

/* What a look has to leave for the finals: less if processes that wait serve it. */
double tune_reserve_s(const struct tune_search *search, bool starts);

/* Whether there is time for finals of a point after a start for it, or for none of the best now. */
bool tune_leaves_finals(const struct tune_search *search, size_t point);

/* Seconds of the shortest finals that compare layouts. 0: nothing works. */
double tune_least_finals_s(const struct tune_search *search);

/* Seconds that all rounds of the best layouts probably take. 0: nothing works. */
double tune_whole_finals_s(const struct tune_search *search);

/* The budget of which these may take their share; 0: any. */
double tune_least_budget_s(const struct tune_search *search);

/* One round of those that may still win, as many as there are places and time for. False: it is
 * over. */
bool tune_add_round(struct tune_search *search, struct tune_batch *batch);

/* -- prefer.c -- */

/* Of `count` points, TUNE_EQUAL_MOST at most, that do as much as points[0], which does most: the
 * one with the fewest CPUs in use; of those with about as few one that is not held to a share of
 * the GPU, then the one with the lowest 99th percentile, the one with the fewest processes, and one
 * without a daemon. *reason: what points[0] has more of. */
size_t tune_prefer(const struct tune_search *search, const size_t *points, size_t count,
                   enum tune_reason *reason);
