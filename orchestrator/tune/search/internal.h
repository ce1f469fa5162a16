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

/* The search looks at this many points at most. */
#define TUNE_LOOKS_MOST 200

/* Layouts that differ by less count as equal. */
#define TUNE_SAME 0.01

/* A process whose only worker never sleeps may be seen to use a little more than one CPU. */
#define TUNE_CPU_SLACK 1.02

enum tune_knowledge {
    TUNE_UNTRIED,     /* not measured */
    TUNE_KNOWN,       /* it gave a number */
    TUNE_NOT_WORKING, /* it was refused, or failed */
};

/* What the search knows of a point. */
struct tune_state {
    enum tune_knowledge knowledge;
    struct tune_observation seen; /* the last one */
    unsigned looks;               /* windows of a look */
    double looked;                /* sum of the weighted logarithms of the values of all looks */
    double look_weight;           /* sum of their weights, each the inverse of a variance */
    double look_squares;          /* sum of the weighted squares of the logarithms */
    double believed;              /* logarithm of its value, as tune_stand() has set it */
    double doubt;    /* standard deviation of its distance to the best, set there, too */
    bool dropped;    /* it failed once, though it may have worked before */
    unsigned rounds; /* of the finals */
    double values[TUNE_ROUNDS_MOST]; /* of these rounds */
};

/* A figure of all points that the search believes something of, as logarithms. */
enum tune_quantity { TUNE_VALUE, TUNE_P99, TUNE_CPUS, TUNE_QUANTITIES };
#define TUNE_NUMBERS 7 /* features that are numbers */
/* Where nothing is predicted: iterations in flight from which on more hardly do more, of all
 * processes together and of one. */
struct tune_knees {
    double all, each;
    /* The CPUs, where each thread keeps one busy: more threads at work than that do no more.
     * INFINITY: they sleep while they wait, or nothing was seen of it. */
    double cpus;
};
struct tune_belief {
    struct gp_point *points; /* of all candidates; NULL: the figure does not matter */
    struct gp_hyperparameters hyper;
    struct tune_knees knees;
    struct gp *gp;
    bool stale;         /* what gp has observed counts otherwise by now */
    size_t fitted;      /* points that were known when these were chosen */
    double least_scale; /* the signal scale is at least that */
};

struct tune_search {
    struct tune_candidate *candidates;
    struct tune_state *states; /* of the candidates, one each */
    size_t count;              /* of candidates */
    size_t *known; /* points that are TUNE_KNOWN, in the order in which they became it */
    size_t known_count;
    size_t *refused; /* points that are TUNE_NOT_WORKING, in the same order */
    size_t refused_count;
    struct tune_belief beliefs[TUNE_QUANTITIES];
    struct tune_rules rules;
    enum tune_stage stage;
    size_t looks;     /* windows before the finals */
    bool begun;       /* the finals have begun: final_s and finalists are set for them */
    size_t finalists; /* places in a round of the finals */
    double budget_s;  /* seconds that were left when the search began */
    double left_s;    /* seconds that are left now */
    double look_s;    /* length of a window of a look */
    double final_s;   /* length of a window of the finals */
    struct tune_costs costs;
    size_t held;       /* the point whose processes wait, or TUNE_NO_POINT */
    size_t held_looks; /* windows that they had, with the one that was asked for last */
    double surpassed;  /* the most that a layout did, as a multiple of its ceiling; at least 1 */
    bool cut;          /* time ended the search */
    bool reopened;     /* the finals went on once more, for an obvious layout */
    bool asked;        /* the last batch had points to measure */
    size_t noted;      /* observations since that batch */
};

/* -- belief.c -- */

/* Returns the streams of a thread, at least 1. */
static inline unsigned tune_streams_of(const struct tune_candidate *one)
{
    return one->streams > 1 ? one->streams : 1;
}

/* Returns the iterations that a layout has in flight. */
double tune_in_flight(const struct tune_candidate *one);

/* Makes the belief of a quantity for the points of a search, without an observation. STATUS_MEMORY
 * is the only error. tune_belief_release() takes what it owns. */
enum status tune_belief_init(const struct tune_search *search, enum tune_quantity quantity,
                             struct tune_belief *out);
void tune_belief_release(struct tune_belief *belief);

/* Returns the standard deviation of log(value) of `seen`, the spread between sets of processes
 * included. */
double tune_noise_of(const struct tune_observation *seen);

/* Adds the last window of a look at a point to what is believed. */
void tune_belief_note(struct tune_search *search, size_t point);

/* Makes the beliefs that are missing, and makes one anew, with other hyperparameters, where more
 * than `growth` times as many points are known as when its own were chosen. */
#define TUNE_GROWTH 1.3
enum status tune_belief_renew(struct tune_search *search, double growth);

/* Believes half as firmly what is believed of the value, where no point seems to be worth a look
 * and there is time for more. Returns false where that was done often enough. */
bool tune_belief_doubt(struct tune_search *search);

/* Lists the best points that may win, up to TUNE_LOOKS_MOST, best first by what all windows and
 * rounds together show, and sets `believed` and `doubt` of each. Returns how many there are. */
size_t tune_stand(const struct tune_search *search, size_t *out);

/* -- eligible.c -- */

/* Reports whether a point may still be looked at: it was not tried, and is not ruled out by what
 * was found of others, by its ceiling beside the best, or by predictions. */
bool tune_is_open(const struct tune_search *search, size_t best, size_t point);

/* Reports whether a point has a setting with which no point has worked, for example a launch as a
 * graph of a workload that cannot be one, after a few failures: of a program one start that fails
 * is enough, if no other setting explains it. */
bool tune_has_dead_setting(const struct tune_search *search, size_t point);

/* Reports whether a refusal is not a limit: as many clients with as many queues have worked. */
bool tune_has_room(const struct tune_search *search, const struct tune_candidate *refused);

/* -- starts.c -- */

/* Reports whether a point has several threads, and no point that was measured had. */
bool tune_has_new_threads(const struct tune_search *search, size_t point);

/* Returns the most processes of all points that have worked, at least 1. */
unsigned tune_most_processes(const struct tune_search *search);

/* Returns the seconds that processes take to start for a point. */
double tune_start_seconds(const struct tune_search *search, size_t point);

/* Return the seconds that a window of a point takes, with all that comes with it: on processes that
 * start for it, and on some that are there. */
double tune_seconds_of(const struct tune_search *search, size_t point, double window_s);
double tune_held_seconds_of(const struct tune_search *search, size_t point, double window_s);

/* Return the same of a look, the search of a rate included. */
double tune_look_seconds(const struct tune_search *search, size_t point);
double tune_held_look_seconds(const struct tune_search *search, size_t point);

/* Orders layouts by processes, then by threads. Of several in a round the larger one starts first.
 */
bool tune_is_larger(const struct tune_candidate *one, const struct tune_candidate *other);

/* Reports whether a round of the finals has both on the same processes: of a program, where few of
 * them idle (TURNS_EQUAL). */
bool tune_may_share_round(const struct tune_search *search,
                          const struct tune_candidate *started_for,
                          const struct tune_candidate *one);

/* Reports whether the processes that wait serve the point. */
bool tune_is_held(const struct tune_search *search, size_t point);

/* Reports whether the processes of one point can serve another one, as far as numbers show
 * (turns.h). */
bool tune_may_serve(const struct tune_search *search, const struct tune_candidate *started_for,
                    const struct tune_candidate *one);

/* Reports whether processes may start for a point as far as its search has got: those of a program
 * wait until smaller layouts have worked, and where starts are dear until plainer ones have. */
bool tune_may_start(const struct tune_search *search, size_t point);

/* -- choose.c -- */

/* Adds points to look at next, which can share processes. A look that starts some takes at most
 * seconds_most, one that does not at most held_most. Returns false where no point is worth it;
 * *too_dear: one would be, with more time. */
bool tune_choose(struct tune_search *search, double seconds_most, double held_most,
                 struct tune_batch *batch, bool *too_dear);

/* Sets *chance to that of the likeliest point, of those not measured, to do better than the best by
 * `share`, and *seconds to what it takes to look at the likeliest until none has a chance above
 * `enough`. */
void tune_look_ahead(struct tune_search *search, double share, double enough, double *chance,
                     double *seconds);

/* Adds a point to a batch, once. */
void tune_add(struct tune_batch *batch, size_t point, double window_s);

/* -- judge.c -- */

/* Reports whether a point has a number and may win. */
bool tune_may_win(const struct tune_search *search, size_t point);

/* Report how a point stands to the constraints, by what is known: it surely meets them, it surely
 * breaks them, it more likely meets them than not. */
bool tune_meets(const struct tune_search *search, size_t point);
bool tune_breaks(const struct tune_search *search, size_t point);
bool tune_fits(const struct tune_search *search, size_t point);

/* Report whether a is to be looked at before b: points that fit come first, by their value, the
 * others by how little they miss; with values of the caller's, and with what was seen of them. */
bool tune_better_by(const struct tune_search *search, size_t a, size_t b, double a_value,
                    double b_value);
bool tune_better(const struct tune_search *search, size_t a, size_t b);

typedef bool (*tune_filter)(const struct tune_search *search, size_t point);
typedef bool (*tune_order)(const struct tune_search *search, size_t a, size_t b);

/* Puts a point into a list of `count` points, behind those that it does not come before, and keeps
 * the first `most` of them, for which list has room. Returns how many there are then. */
size_t tune_rank(const struct tune_search *search, tune_order comes_first, size_t point,
                 size_t *list, size_t count, size_t most);

/* Ranks all points that are wanted. Returns how many there are, at most `most`. */
size_t tune_rank_all(const struct tune_search *search, tune_filter is_wanted,
                     tune_order comes_first, size_t *out, size_t most);

/* Lists the best that may win, up to `most` of them, best first. Returns how many there are. */
size_t tune_leaders(const struct tune_search *search, size_t *out, size_t most);

/* Reports whether a point is surely less than the best, or surely about as good, by what
 * tune_stand() has set. */
bool tune_is_told_apart(const struct tune_search *search, size_t best, size_t point);

/* The least that its looks together or one of its rounds showed. */
double tune_least_shown(const struct tune_search *search, size_t point);

/* Reports whether the looks and the rounds of a program's layout are all below those of the best,
 * and leave it so little chance that it needs no further round. best may be TUNE_NO_POINT. */
bool tune_is_beaten(const struct tune_search *search, size_t best, size_t point);

/* Reports whether another one of `count` points, best first, is surely about as good as it. */
bool tune_has_equal(const struct tune_search *search, const size_t *points, size_t count);

/* Lists those of `count` points that had rounds and are, taken together, neither worse than the
 * best beyond doubt nor as good: up to TUNE_EQUAL_MOST. Returns how many there are. */
size_t tune_rivals(const struct tune_search *search, size_t best, const size_t *points,
                   size_t count, size_t *out);

/* Returns how far beyond the constraints a point was seen, as a ratio; 0: not known. */
double tune_excess(const struct tune_search *search, size_t point);

/* -- finals.c -- */

/* Returns the seconds that a look has to leave for the finals, less where it starts no
 * processes. */
double tune_reserve_s(const struct tune_search *search, bool starts);

/* Reports whether finals of a point have their time after a start for it, or no finals of the best
 * have any now. */
bool tune_leaves_finals(const struct tune_search *search, size_t point);

/* Returns the seconds of the shortest finals that compare layouts; 0: no layout works. */
double tune_least_finals_s(const struct tune_search *search);

/* Returns the seconds that all rounds of the best layouts probably take; 0: no layout works. */
double tune_whole_finals_s(const struct tune_search *search);

/* Returns the budget of which the shortest finals may take their share; 0: any. */
double tune_least_budget_s(const struct tune_search *search);

/* Adds one round of those that may still win, as many as there are places and time for. Returns
 * false where the finals are over. */
bool tune_add_round(struct tune_search *search, struct tune_batch *batch);

/* -- prefer.c -- */

/* Returns the one to be preferred of `count` points, TUNE_EQUAL_MOST at most, that do as much as
 * points[0], which does most: the one with the fewest CPUs in use; of those with about as few one
 * that is not held to a share of the GPU, then the one with the lowest 99th percentile, the one
 * with the fewest processes, and one without a daemon. *reason: what points[0] has more of. */
size_t tune_prefer(const struct tune_search *search, const size_t *points, size_t count,
                   enum tune_reason *reason);
