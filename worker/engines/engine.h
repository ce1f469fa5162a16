/*
 * A workload as the worker's life sees it: what one worker runs, iteration by iteration.
 *
 * Order of calls, all by the worker's own thread with the context current: open, run for each
 * iteration (rehearsals first), close, which follows a failed run, too. What open returns belongs
 * to the engine.
 */
#pragma once

#include <stddef.h>

#include "recording/record.h"
#include "worker/engines/process.h"

/* Host memory that is copied from or to. */
struct engine_buffer {
    const void *memory;
    size_t bytes;
};
#define ENGINE_BUFFERS 2

struct engine {
    /* Makes stream and buffers, and the graph if there is to be one. */
    enum status (*open)(const struct worker_process *process, const struct shm_slot *slot,
                        void **out);
    /* One iteration, all of it done when this returns, and its output checked: STATUS_WORKER if
     * that is wrong. */
    enum status (*run)(void *work, struct iteration_times *times);
    void (*close)(void *work);
    /* What it copies from and to, NULL where it has none; NULL altogether: it is unknown. */
    void (*buffers)(const void *work, struct engine_buffer out[ENGINE_BUFFERS]);
};

/* The engine of a workload; NULL for one that this program does not know. */
const struct engine *engine_for(const struct shm_settings *settings);
