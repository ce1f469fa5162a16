/*
 * Shared by the files that make up a round: assign (workers.c), supervise (round.c), collect
 * (collect.c).
 */
#ifndef MPSWEEP_ORCHESTRATOR_ROUND_INTERNAL_H
#define MPSWEEP_ORCHESTRATOR_ROUND_INTERNAL_H

#include "orchestrator/crew.h"
#include "orchestrator/round.h"

struct round {
    struct session *session;
    const struct point *point;
    const struct round_limits *limits;
    struct crew *crew;
    const struct turn *turn;
    struct shm shm;             /* the crew's, as are */
    struct gpu_child *children; /* these; those of the point come first */
    uint64_t spawn_ns;          /* when the first was started */
    bool gate_open;
    uint64_t slices; /* the window: so many from the end of the warm-up */
    struct round_result *result;
};

/* Makes the crew, unless one is reused, and hands the point out to it; its processes may still have
 * to be started. */
enum status workers_prepare(struct round *round);

/* cause.c: adds to the error of a failed round over MPS what the daemon knows of it: that it ended,
 * that a client's fault reached all of them, and what to do about an error of MPS's own. To be
 * called while the workers are not reaped. */
void round_add_cause(const struct round *round);

/* How many slices every worker has passed: what is counted in them does not change any more. */
uint64_t collect_slices_done(const struct shm *shm);

/* Fills the result from the drained workers' slots. */
enum status collect_result(const struct round *round);

#endif
