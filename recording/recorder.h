/*
 * Records a worker's iterations in its slot: what stands beside the CUDA calls in the timed path.
 *
 * Order of calls, all by the worker's thread once it is released: recorder_init, and
 * recorder_release where that is later than the agreed start; for each iteration recorder_before,
 * then recorder_add, or recorder_add_bad, or neither where it is cancelled; recorder_end last.
 * None allocates or fails. Only recorder_before, at the end of the warm-up, and recorder_end make
 * system calls.
 */
#pragma once

#include "recording/cpu.h"
#include "recording/pace.h"

/* Moments of one iteration; a phase that the launch style hides takes no time. */
struct iteration_times {
    uint64_t begin_ns;
    uint64_t h2d_ns, launch_ns, sync_ns, d2h_ns; /* durations */
    uint64_t first_byte_ns;                      /* of the answer to a request; 0: it is none */
    uint64_t end_ns;
    const uint64_t *call_ns; /* of single launch calls: the workload's, until it runs again */
    unsigned calls;
};

struct recorder {
    struct shm_slot *slot;
    const struct shm_header *header;
    uint64_t start_ns;    /* agreed start */
    uint64_t last_end_ns; /* end of the iteration before, or the worker's release; from the agreed
                             start */
    const struct pace *pace; /* of an open loop, NULL in a closed one */
    uint64_t *progress_ns;   /* of all workers of the process, or NULL */
    bool without_phases;
    struct cpu_source cpu_source;
    bool in_window; /* the warm-up is over, and cpu was read then */
    struct cpu_reading cpu;
    uint64_t iterations; /* since then */
};

struct recorder_options {
    /* Of an open loop: where each iteration's planned start is from recorder_before() until it is
     * added, kept by the caller. NULL: a closed one. */
    const struct pace *pace;
    struct cpu_source cpu_source; /* all zero: the calling thread */
    /* Kept by the caller for all workers of a process that one thread serves: when an iteration of
     * any of them ended last, a moment of the clock. None stands still meanwhile. NULL: each counts
     * by itself. */
    uint64_t *progress_ns;
    bool without_phases; /* nothing is known of an iteration but begin and end */
};

/* Once the agreed start is known. */
void recorder_init(struct recorder *recorder, const struct shm *shm, struct shm_slot *slot,
                   const struct recorder_options *options);

/* Before the first iteration, where the worker is released later than at the agreed start: no time
 * before belongs to it. As clock_now_ns(). */
void recorder_release(struct recorder *recorder, uint64_t when_ns);

/* Called by recorder_before() when the warm-up is over: forgets the longest iterations so far and
 * reads the CPU times. */
void recorder_begin_window(struct recorder *recorder);

/* From the agreed start, as far as it is known. */
static inline uint64_t recorder_window_begin_ns(const struct recorder *recorder)
{
    return atomic_load_explicit(&recorder->header->window_begin_ns, memory_order_relaxed);
}

/* To be called before each iteration: notices the end of the warm-up. */
static inline void recorder_before(struct recorder *recorder)
{
    uint64_t at_ns = recorder->pace ? recorder->pace->planned_ns : recorder->last_end_ns;
    if (!recorder->in_window && at_ns >= recorder_window_begin_ns(recorder))
        recorder_begin_window(recorder);
}

/* Credits the iteration to the time slices, and its latency and phases to the histograms if it
 * began inside the window. Its end does not decide: the histograms would lack the slow iterations
 * that a window cuts. One that began in the warm-up and ended in the window is in the maximum
 * alone.
 */
void recorder_add(struct recorder *recorder, const struct iteration_times *times);

/* Counts an iteration that began then and has no good end: a request without an answer, or with a
 * wrong one. The first of them leaves its text. */
void recorder_add_bad(struct recorder *recorder, uint64_t begin_ns, bool wrong, const char *text);

/* Whether the worker's fixed work is done. */
static inline bool recorder_has_finished(const struct recorder *recorder)
{
    uint64_t wanted = recorder->header->settings.iterations;
    return wanted && recorder->in_window && recorder->iterations >= wanted;
}

/* How many the CPU times are for. */
static inline uint64_t recorder_iterations(const struct recorder *recorder)
{
    return recorder->in_window ? recorder->iterations : 0;
}

/* After the last iteration: publishes how long it took and what was used of a CPU. What a thread
 * used stands in the slot of the first of its workers alone. thread_iterations: of that one, the
 * sum of recorder_iterations() of them all; NULL of the others, whose slots have the process's use.
 * next: of an open loop, the thread's pace, at its next start; pace_backlog() comes later. */
void recorder_end(struct recorder *recorder, const struct pace *next,
                  const uint64_t *thread_iterations);
