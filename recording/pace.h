/*
 * The open loop: when each iteration of a worker is planned to start, and waiting for it.
 *
 * What is offered does not depend on how fast it is served. Constant arrivals: the starts of all
 * workers together are evenly spaced, each worker takes every W-th. Poisson arrivals: each worker
 * has gaps of its own with an exponential distribution, so that all together make one Poisson
 * process of the whole rate. Gaps are computed with whole numbers, comparisons and one
 * multiplication, so that a seed gives the same starts on every machine. Arrivals of a trace: each
 * worker takes every W-th.
 *
 * Order of calls: pace_begin, then for each iteration pace_wait and pace_next; pace_backlog last.
 */
#pragma once

#include <stdbool.h>

#include "job/arrivals.h"
#include "shm/shm.h"

struct pace {
    uint64_t planned_ns; /* start of the next iteration, from the agreed start */
    bool late;           /* that moment had passed already when the worker came to wait */

    uint64_t start_ns;                      /* the agreed start */
    uint32_t arrival, schedule;             /* as in struct shm_settings */
    uint64_t gap_ns, gap_part, part, parts; /* constant: gap_ns + gap_part/parts, exactly */
    double mean_gap_ns;                     /* poisson: the worker's; trace: of all workers */
    uint64_t random;
    const struct arrivals *trace;
    uint64_t next; /* trace: number of the next start, among those of all workers */
};

/* The last part of a wait is spent awake: so late may a sleeper wake. */
#define PACE_AWAKE_NS (200 * NS_PER_US)

/* The planned starts of worker number index of `workers`, the first one being the next. Needs a
 * rate in the settings; start_ns is left 0. trace: what settings with arrivals of one take, kept by
 * the caller; without it (NULL, or none in it) they are constant. */
void pace_init(struct pace *pace, const struct shm_settings *settings, const struct arrivals *trace,
               unsigned index, unsigned workers);

/* Goes on to the next planned start. */
void pace_next(struct pace *pace);

/* Counts the planned starts from the next one to until_ns, up to PACE_MOST_BACKLOG. The pace is
 * used up. */
#define PACE_MOST_BACKLOG 10000000
uint64_t pace_backlog(struct pace *pace, uint64_t until_ns);

/* As pace_init(), for the worker of a slot once it is released; sets start_ns. */
void pace_begin(struct pace *pace, const struct shm *shm, const struct shm_slot *slot,
                const struct arrivals *trace);

/* Waits for the planned start, asleep and at its end awake unless the schedule is to block; returns
 * at once when it has passed. False: stopped, and the iteration is not to begin. */
bool pace_wait(struct pace *pace, const struct shm *shm, struct shm_slot *slot);
