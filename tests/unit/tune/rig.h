/*
 * What tests of the tuner's search share: a space, surfaces that define what its points do, and a
 * run of the search over one, in time that is only counted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/random.h"
#include "orchestrator/tune/search/search.h"

#define RIG_MOST 512

struct tune_rig {
    struct tune_candidate space[RIG_MOST];
    size_t count;
    struct tune_search *search;
    unsigned asked[RIG_MOST];      /* how often each point was */
    unsigned first_step[RIG_MOST]; /* at which it first was */
    unsigned steps;
    uint64_t noise; /* state of the random numbers */
};

extern struct tune_rig rig;
extern const struct tune_costs rig_cheap;
extern const struct tune_rules rig_rules;

/* P and T of 1 to 16, MPS or not, two ways to launch; the first point is the naive one. */
void rig_make_space(void);

/* A space of a test's own, of which nothing was asked. */
void rig_take_space(const struct tune_candidate *space, size_t count);

/* A new search of it; rig_end() is the teardown of each test. */
void rig_begin(const struct tune_rules *with);
int rig_end(void **state);

double rig_random_share(void); /* 0 .. 1 */

/* Reports a point to the search: 0: refused, below 0: it fails. */
void rig_look(size_t point, double value, double spread, double p99_us, bool fresh);

/* Little's law: workers of the same speed. Microseconds. */
double rig_latency_of(size_t point, double value);

/* What a point does, as above. */
typedef double (*surface)(const struct tune_candidate *one);

/* Runs the search to its end; returns the seconds that it took. */
double rig_run(surface truth, double spread, double budget_s);

struct tune_judgement rig_judge(void);
size_t rig_points_asked(void);

/* One hill of height 1000, at 4x8 over MPS with launch 1, the place of which surface_is_top(). */
double surface_hill(const struct tune_candidate *one);
bool surface_is_top(const struct tune_candidate *one);
double surface_flat(const struct tune_candidate *one);
double surface_more_is_better(const struct tune_candidate *one);
double surface_refuses_many(const struct tune_candidate *one);
double surface_fails_as_graph(const struct tune_candidate *one);
double surface_fails_always(const struct tune_candidate *one);
