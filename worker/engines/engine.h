/*
 * A workload as the worker's life sees it: what one worker runs, iteration by iteration.
 *
 * Order of calls, all by the worker's own thread with the context current: open, run for each
 * iteration (rehearsals first), close, which follows a failed run, too. What open returns belongs
 * to the engine.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"
#include "shm/shm.h"

struct worker_process;

/* Moments of one iteration; a phase that the launch style hides takes no time. */
struct iteration_times {
    uint64_t begin_ns;
    uint64_t h2d_ns, launch_ns, sync_ns, d2h_ns; /* durations */
    uint64_t end_ns;
    const uint64_t
        *call_ns; /* of so many single launch calls: the workload's, until it runs again */
    unsigned calls;
};

/* Host memory that is copied from or to. */
struct engine_buffer {
    const void *memory;
    size_t bytes;
};
#define ENGINE_BUFFERS 2

struct engine {
    const char *name;
    /* Makes stream and buffers, and the graph if there is to be one. */
    enum status (*open)(const struct worker_process *process, const struct shm_slot *slot,
                        void **out);
    /* One iteration, all of it done when this returns, and its output checked: STATUS_WORKER if
     * that is wrong. */
    enum status (*run)(void *work, struct iteration_times *times);
    void (*close)(void *work);
    /* What it copies from and to, NULL where it has none; NULL altogether: the engine cannot tell.
     */
    void (*buffers)(const void *work, struct engine_buffer out[ENGINE_BUFFERS]);
};

/* NULL for a workload that this program does not know. */
const struct engine *engine_for(const struct shm_settings *settings);
