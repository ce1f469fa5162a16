/*
 * Shared by the files that make up a round: spawn (workers.c), supervise (round.c), collect
 * (collect.c).
 */
#ifndef MPSWEEP_ORCHESTRATOR_ROUND_INTERNAL_H
#define MPSWEEP_ORCHESTRATOR_ROUND_INTERNAL_H

#include "orchestrator/children.h"
#include "orchestrator/round.h"

struct round {
    struct session *session;
    const struct point *point;
    const struct round_limits *limits;
    struct shm shm;
    int event_fd;     /* workers add to it at each change of a state */
    int life_read_fd; /* for the workers; */
    int life_fd;      /* its end tells them that this process is gone */
    struct gpu_child *children;
    uint64_t spawn_ns; /* when the first was started */
    bool gate_open;
    uint64_t slices; /* the window: so many from the end of the warm-up */
    struct round_result *result;
};

/* Makes shared memory, masks and descriptors. */
enum status workers_prepare(struct round *round);

/* Starts process number index. */
enum status workers_spawn(struct round *round, unsigned index);

/* Stop flag, then up to grace_ns to drain; then the MPS way, then SIGKILL. All processes have
 * ended and are reaped on success. tainted is set when one had to be ended. */
enum status workers_end(struct round *round, uint64_t grace_ns, bool *tainted);

/* Notices the processes that have ended. Returns the index of one that ended since, or -1. */
int workers_reap(struct round *round);

void workers_release(struct round *round);

/* cause.c: adds to the error of a failed round over MPS what the daemon knows of it: that it ended,
 * that a client's fault reached all of them, and what to do about an error of MPS's own. To be
 * called while the workers are not reaped. */
void round_add_cause(const struct round *round);

/* How many slices every worker has passed: what is counted in them does not change any more. */
uint64_t collect_slices_done(const struct shm *shm);

/* Fills the result from the drained workers' slots. */
enum status collect_result(const struct round *round);

#endif
