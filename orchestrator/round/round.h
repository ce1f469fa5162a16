/*
 * One round of one point: one window, on fresh worker processes or on those of the point before.
 *
 * States of a round, each with a deadline: spawning, getting ready, proving attachment, running,
 * draining. Whatever goes wrong, every worker process has ended when the round is over; the one
 * exception (a process that even SIGKILL does not end) is an error that names it. If all goes well,
 * workers that will serve the next point are parked.
 */
#pragma once

#include "orchestrator/crew/crew.h"
#include "orchestrator/plan/plan.h"
#include "orchestrator/plan/turns.h"
#include "orchestrator/round/result.h"
#include "orchestrator/session/session.h"

/* How long and how well to measure. */
struct round_limits {
    uint64_t duration_ns;     /* of the window */
    uint64_t max_duration_ns; /* of a window that does not converge, or that an iteration outlasts */
    bool fits_program;        /* a program's window is longer: it suits its iterations and start */
    double precision_rel;     /* 95% interval to reach, as a share */
    uint64_t timeout_ns;      /* without progress: hung */
    unsigned samples;         /* open loop: iterations to offer in a window */
    /* A window in which there was nothing to count is not a failure; it has no throughput. */
    bool needs_no_window;
    /* Workers that take longer end with STATUS_TIMEOUT, and no window that grows goes on for longer
     * than duration_ns beyond; 0: no such time. */
    uint64_t ready_by_ns;
    /* Workers may use this one of the parts of their process's CPUs, see bind_part(); 0 parts: the
     * CPUs that bind_plan() gives them. */
    unsigned cpu_part, cpu_parts;
};

/* Whether the settings of a point alone allow it, which takes no session: STATUS_INFEASIBLE. What a
 * round of such a point would end with. */
enum status round_check(const struct point *point);

/* The MPS daemons that a point needs, or none. */
enum status round_set_daemons(struct session *session, const struct point *point);

/*
 * Measures one round on fresh processes. The return value is about the session: OK if it can go on,
 * also when this point failed (see out->status); STATUS_INTERRUPTED after a signal; any other code
 * means that something could not be cleaned up or that the machine is out of resources. The caller
 * releases out in every case.
 */
enum status round_run(struct session *session, const struct point *point,
                      const struct round_limits *limits, struct round_result *out);

/*
 * The same on a crew, which may be empty: its workers serve the point if they can, else they are
 * ended and fresh ones are started. They are kept, parked, if the turn asks for it and nothing went
 * wrong; otherwise the crew is empty afterwards. What is infeasible on used workers is tried again
 * on fresh ones. The caller ends what is kept, with crew_dismiss().
 */
enum status round_run_on(struct session *session, const struct point *point,
                         const struct round_limits *limits, struct crew *crew,
                         const struct turn *turn, struct round_result *out);
