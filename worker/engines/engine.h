/*
 * A workload as the worker's life sees it: what one worker runs, iteration by iteration.
 *
 * Order of calls, all by the worker's own thread with the context current: open, then for each
 * iteration (rehearsals first) advance until it is done, close, which follows a failure, too. What
 * open returns belongs to the engine.
 */
#pragma once

#include <stddef.h>

#include "common/clock.h"
#include "recording/recorder.h"
#include "worker/engines/process.h"

/* Host memory that is copied from or to. */
struct engine_buffer {
    const void *memory;
    size_t bytes;
};
#define ENGINE_BUFFERS 2

/* What an iteration waits for before it can go on. */
struct engine_wait {
    enum { ENGINE_DONE, ENGINE_STREAM, ENGINE_CLOCK } what; /* DONE: for nothing, it has ended */
    cuda_stream stream; /* ENGINE_STREAM: until all that is in it has ended */
    uint64_t until_ns;  /* ENGINE_CLOCK: until then; as clock_now_ns() */
};

struct engine {
    /* Makes stream and buffers, and the graph if there is to be one. The context is current. */
    enum status (*open)(const struct worker_process *process, const struct worker_context *context,
                        const struct shm_slot *slot, void **out);
    /* Begins an iteration, or continues it after what it waited for, as far as it goes without a
     * wait; at its end its output has been checked: STATUS_WORKER if that is wrong. The caller sets
     * *wait to zero, and keeps *times for as long as the iteration lasts. times->end_ns is how far
     * its time has been accounted for: the engine's own until advance() returns, the caller's
     * for what it waits. */
    enum status (*advance)(void *work, struct iteration_times *times, struct engine_wait *wait);
    void (*close)(void *work);
    /* The stream that its work is in; NULL: it is unknown. */
    cuda_stream (*stream)(const void *work);
    /* What it copies from and to, NULL where it has none; NULL altogether: it is unknown. */
    void (*buffers)(const void *work, struct engine_buffer out[ENGINE_BUFFERS]);
};

/* The time since times->end_ns, which becomes now. */
static inline uint64_t engine_lap(struct iteration_times *times)
{
    uint64_t before_ns = times->end_ns;
    times->end_ns = clock_now_ns();
    return times->end_ns - before_ns;
}

/* One whole iteration: all of it has ended when this returns. */
enum status engine_run(const struct engine *engine, const struct worker_process *process,
                       void *work, struct iteration_times *times);

/* What is left of an iteration that waits for something. */
enum status engine_finish(const struct engine *engine, const struct worker_process *process,
                          void *work, struct iteration_times *times, struct engine_wait wait);

/* The engine of a workload; NULL for one that this program does not know. */
const struct engine *engine_for(const struct shm_settings *settings);
