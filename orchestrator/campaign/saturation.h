/*
 * The highest rate that a point serves with a percentile of its latency under a limit.
 *
 * The closed loop's throughput bounds it from above. From there the rate is halved until it holds,
 * and then bisected until it is known to BRACKET_WIDTH; each step is a round of its own, on
 * the same workers, with a window of at most --duration. A closed loop whose requests failed shows
 * no bound, since they kept the server busy: from its throughput the rate is doubled while it
 * holds. What is found is measured again with a full window, which may show that the short one
 * promised too much: then it goes down by the bracket, a few times.
 */
#pragma once

#include "orchestrator/round/measurement.h"
#include "orchestrator/round/round.h"

/* Called before each step with what it is, in a few words. */
typedef void (*saturation_progress)(void *data, const char *step);

/* What the rounds of one point have in common, and what is asked of its search. */
struct searching {
    struct session *session;
    const struct point *point;
    const struct round_limits *limits;
    struct crew *crew;
    saturation_progress progress;
    void *data; /* of progress */
    struct saturation *search;
    uint64_t until_ns; /* no step begins later; 0: at any time */
    bool lowers;       /* a found rate is lowered where a later round does not hold it */
    bool quick;        /* a coarse search does; its last step that held is the round */
};

/*
 * Runs round number `round` of a point, in a closed or an open loop. The first round of a point
 * with a goal searches its rate before, and notes its steps in the search. The result, *out and the
 * crew are as after round_run_on(). out->status is STATUS_INFEASIBLE where not even the lowest rate
 * holds, or where the rate to be beaten (search->beat_units), which is tried first, does not.
 * STATUS_TIMEOUT: until_ns came before any rate held.
 */
enum status saturation_run(const struct searching *searching, const struct turn *turn,
                           unsigned round, struct round_result *out);

/* About how many rounds saturation_run() makes, for an estimate. */
unsigned saturation_rounds(const struct point *point);
