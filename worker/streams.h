/*
 * The streams of a thread: each is a worker with a slot of its own and an iteration in flight.
 *
 * One alone is waited for in the driver. Several are polled: the thread continues the iterations
 * that have what they waited for, begins the next one where one has ended, and, when there is
 * nothing to do, waits as the schedule demands. In an open loop they share the thread's planned
 * starts: each goes to the next stream that is free.
 *
 * Order of calls, all by the thread with its context current: open all, run once, close each,
 * which is fine at any time.
 */
#pragma once

#include "worker/engines/engine.h"

struct stream {
    struct shm_slot *slot;
    void *work; /* the engine's */
    struct recorder recorder;
    struct pace pace;   /* of an open loop: of the start that the iteration was planned for */
    uint64_t begins_ns; /* not before; as clock_now_ns() */
    bool at_work, finished;
    struct iteration_times times;
    struct engine_wait wait;
};

/* Makes what each needs, and rehearses. On failure *failed is the stream that failed. */
enum status streams_open(struct stream *streams, unsigned count,
                         const struct worker_process *process, const struct worker_context *context,
                         const struct engine *engine, unsigned *failed);

/* Iterations until the stop flag is set or, with fixed work, all have done theirs. On failure
 * *failed is the stream whose iteration it was. */
enum status streams_run(struct stream *streams, unsigned count,
                        const struct worker_process *process, const struct engine *engine,
                        unsigned *failed);

void stream_close(struct stream *stream, const struct engine *engine);
