/*
 * Which launch calls of an iteration are timed one by one: so few that it costs next to nothing,
 * and each of them in turn.
 *
 * Timing costs SAMPLING_SHARE of an iteration at most, by the shortest iteration seen so far. Most
 * workloads have a run of their calls timed in every iteration, so that no iteration differs from
 * another; where that share does not pay for one call, it is one call in every n-th iteration. The
 * next sample takes the calls that follow. No allocation, lock or system call.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Half of what recording as a whole may take; the rest is for the moments of the phases. */
#define SAMPLING_SHARE 0.0005

/* Calls timed in one iteration at most. */
#define SAMPLING_CALLS_MOST 256

struct sampling {
    unsigned of;         /* launch calls in an iteration */
    double cost_ns;      /* of timing and recording one call */
    uint64_t fastest_ns; /* iteration so far */
    unsigned calls;      /* timed in a sampled iteration; 0: nothing is */
    unsigned every;      /* n-th iteration is sampled */
    unsigned left;       /* iterations until the next sample */
    unsigned first;      /* call that it begins with */
};

/* Times nothing before sampling_adapt(), and nothing at all where an iteration has a single call:
 * the launch phase is that call. */
void sampling_init(struct sampling *sampling, unsigned calls_per_iteration, double cost_ns);

/* What timing and recording one call costs here, nanoseconds; takes a fraction of a millisecond. */
double sampling_measure_cost_ns(void);

/* Called by sampling_adapt(): sets how many calls are timed, from a new shortest iteration. */
void sampling_set_fastest(struct sampling *sampling, uint64_t took_ns);

/* Takes the time of each iteration. */
static inline void sampling_adapt(struct sampling *sampling, uint64_t took_ns)
{
    if (took_ns < sampling->fastest_ns)
        sampling_set_fastest(sampling, took_ns);
}

/* The calls to be timed in the iteration that begins: from <= call < to; false: none. */
bool sampling_next(struct sampling *sampling, unsigned *from, unsigned *to);
