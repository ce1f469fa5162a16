/*
 * The order in which the points of a round are measured, and which of them share a crew: worker
 * processes that serve one point after the other. Starting workers is the dearest part of a point,
 * since contexts are made one after the other.
 *
 * A process can serve whatever leaves its environment and its context as they are: any threads,
 * binding, schedule and workload; but points of a plug-in share processes only with those of the
 * same plug-in with the same options.
 *
 * A program of the user's serves the points of its own command, once the placeholders are filled
 * in, that differ in nothing that it was started with: environment, streams and binding. Threads
 * beyond those of a point are held (shm/shm.h), as processes are; a point with more of them needs
 * another start. With several streams, and of a server, the threads must be as many.
 *
 * Pure functions; no process is touched here.
 */
#pragma once

#include "orchestrator/plan/plan.h"

/* Which points share a crew, within the bounds of job/crew.h. A single process without MPS, which
 * starts fast, has none that idles beside it. */
enum turns_reuse {
    TURNS_FRESH,  /* none: each has workers of its own */
    TURNS_EQUAL,  /* those of which it gives what fresh workers give */
    TURNS_LARGEST /* all that it can serve */
};

struct turn {
    size_t point; /* index in the plan */
    bool starts;  /* with workers of its own; else those of the turn before serve it */
    bool keeps;   /* its workers serve the next turn */
    /* Workers of a process, at most, that this turn and those ask for that its workers serve next.
     */
    unsigned slots_most;
};

/* Whether a crew that was started for one point can serve another. */
bool turns_serves(const struct point *started_for, const struct point *point);

/*
 * Fills turns, which has room for all points of the plan, with those for which done is NULL or
 * false. Returns how many.
 *
 * Without reuse, and with seed 0, the order is that of plan_order(). With reuse, points that can
 * share a crew are brought together: the groups come in random order, the points within a group
 * too, but first those of more processes, and of programs those of more threads, which can serve
 * the others. With seed 0 reuse is between neighbours in the plan only. STATUS_MEMORY is the only
 * error.
 */
enum status turns_make(const struct plan *plan, const bool *done, unsigned seed, unsigned round,
                       enum turns_reuse reuse, struct turn *turns, size_t *count);
