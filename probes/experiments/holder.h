/*
 * A kernel that keeps blocks of a GPU until the arm ends it: what others are measured beside.
 *
 * Nothing waits for it for ever: it ends by itself when its bound is over. All memory is allocated
 * by probe_holder_open(), since an allocation beside such a kernel may wait for it.
 */
#pragma once

#include "probes/probe.h"

struct probe_holder_words; /* in mapped host memory */

struct probe_holder {
    struct probe_run *run;
    cuda_context context;
    cuda_function hold;
    cuda_stream stream; /* the caller's */
    struct probe_holder_words *words;
    cuda_device_pointer flag, out; /* in them, as the GPU sees them */
    bool running;
};

/* For kernels in a stream of this context, which must be current; hold is a function of a module in
 * it. To be closed in every case, before the stream is destroyed. */
enum status probe_holder_open(struct probe_run *run, cuda_context context, cuda_function hold,
                              cuda_stream stream, struct probe_holder *out);

/* Enqueues a kernel and returns at once; the one before must have ended. Its context must be
 * current, as below. */
enum status probe_holder_launch(struct probe_holder *holder, unsigned blocks, unsigned threads,
                                uint64_t bound_ns);

/* Ends one that runs, starts another, and returns when that has begun. Threads of a block take
 * their places, but only one of them does anything. */
enum status probe_holder_start(struct probe_holder *holder, unsigned blocks, unsigned threads,
                               uint64_t bound_ns);

/* Ends it and waits until it has. Fine where none runs. */
enum status probe_holder_end(struct probe_holder *holder);

/* Makes its context current to do so, and leaves it. */
void probe_holder_close(struct probe_holder *holder);
