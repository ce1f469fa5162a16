/*
 * A crew: the worker processes that serve one point or several, with their shared memory and the
 * descriptors that tie them to this process.
 *
 * Life: empty (CREW_EMPTY) -> made -> its processes started -> at work or parked, in turns -> ended
 * and empty again. A crew any of whose processes failed, hangs or ended unasked serves nothing
 * more; it is ended as a whole.
 */
#pragma once

#include "orchestrator/crew/pool.h"
#include "orchestrator/plan/plan.h"
#include "orchestrator/session/session.h"

struct crew {
    unsigned processes; /* 0: empty */
    /* A copy; what it points to belongs to the job. */
    struct point started_for;
    struct shm shm;
    int event_fd;     /* workers add to it at each change of a state */
    int life_read_fd; /* for the workers; */
    int life_fd;      /* its end tells them that this process is gone */
    struct gpu_child *children;
    unsigned port; /* a program's: the first of as many as there are processes; 0: none found yet */
};

#define CREW_EMPTY                                                                                 \
    {                                                                                              \
        .shm.fd = -1, .event_fd = -1, .life_read_fd = -1, .life_fd = -1                            \
    }

/* Makes shared memory with room for so many threads a process, and descriptors; no process is
 * started. On failure it is still to be ended. */
enum status crew_make(struct crew *crew, const struct point *point, unsigned threads_most,
                      const struct shm_settings *settings);

/* Starts process number index. */
enum status crew_spawn(struct crew *crew, const struct session *session, unsigned index);

/* Whether it can serve the point now: the point fits, and nobody and nothing of it has gone. */
bool crew_is_fit(struct crew *crew, struct session *session, const struct point *point);

/* Notices the processes that have ended. Returns the index of one that ended since, or -1. */
int crew_reap(struct crew *crew);

/* Dismisses the processes and waits up to grace_ns for them to end; then the MPS way, then SIGKILL.
 * All have ended and are reaped on success. tainted is set when one had to be ended. */
enum status crew_end(struct crew *crew, struct session *session, uint64_t grace_ns, bool *tainted);

/* Of a crew that has parked, or is empty: ends it and makes it empty. What ended badly leaves its
 * daemon tainted. Errors as from crew_end(). */
enum status crew_dismiss(struct crew *crew, struct session *session, uint64_t grace_ns);

/* The same after whatever ended with `status`, which is returned with its text as it was, unless
 * the crew cannot be ended. */
enum status crew_dismiss_after(struct crew *crew, struct session *session, uint64_t grace_ns,
                               enum status status);

/* After crew_end(): taints the daemons of those processes that had to be ended, or, with failures,
 * of those that ended with another status than success, too. Says whether there was one. */
bool crew_taint(const struct crew *crew, struct session *session, bool failures);

/* After crew_end(): frees what it owns. It is empty then. */
void crew_release(struct crew *crew);
