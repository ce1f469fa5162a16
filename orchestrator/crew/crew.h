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
#include "orchestrator/crew/ports.h"
#include "orchestrator/plan/plan.h"
#include "orchestrator/session/session.h"
#include "shm/shm.h"

struct crew {
    struct pool pool; /* of its processes; empty in an empty crew */
    /* A copy; what it points to belongs to the job. */
    struct point started_for;
    struct shm shm;
    struct ports ports; /* a program's: one for each process; none until they are looked for */
    unsigned openmp_threads; /* of a program's pools, set before its start; 0: nothing is set */
};

#define CREW_EMPTY                                                                                 \
    {                                                                                              \
        .pool = POOL_EMPTY, .shm.fd = -1                                                           \
    }

/* Makes shared memory with room for slots_most workers a process, and descriptors; starts no
 * process. End the crew even after a failure. */
enum status crew_make(struct crew *crew, const struct point *point, unsigned slots_most,
                      const struct shm_settings *settings);

/* Starts process number index. */
enum status crew_spawn(struct crew *crew, const struct session *session, unsigned index);

/* Of a crew that has parked, before a further assignment is handed out: binds programs to the CPUs
 * of its workers. Workers of ours bind themselves. */
void crew_bind(struct crew *crew);

/* Whether it can serve the point now: the point fits, and all its processes and daemons are alive.
 */
bool crew_is_fit(struct crew *crew, struct session *session, const struct point *point);

/* Dismisses the processes and waits up to grace_ns for them to end; then the MPS way, then SIGKILL.
 * All have ended and are reaped on success. tainted is set when one had to be ended. */
enum status crew_end(struct crew *crew, struct session *session, uint64_t grace_ns, bool *tainted);

/* Of a crew that has parked, or is empty: ends it and makes it empty. What ended badly leaves its
 * daemon tainted. Errors as from crew_end(). */
enum status crew_dismiss(struct crew *crew, struct session *session, uint64_t grace_ns);

/* The same after a step that ended with `status`, which is returned with its whole text, unless the
 * crew cannot be ended. */
enum status crew_dismiss_after(struct crew *crew, struct session *session, uint64_t grace_ns,
                               enum status status);

/* After crew_end(): taints the daemons of those processes that had to be ended, of programs over
 * MPS that died of SIGTERM, and, with failures, of those that ended with another status than
 * success, too. Returns whether there was one. */
bool crew_taint(const struct crew *crew, struct session *session, bool failures);

/* After crew_end(): frees what it owns. It is empty then. */
void crew_release(struct crew *crew);
