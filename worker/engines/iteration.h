/*
 * The built-in workloads: one unit of work on one stream.
 */
#pragma once

#include "worker/engines/engine.h"
#include "worker/engines/sampling.h"

extern const struct engine builtin_engine;

/* What one worker owns on the GPU and in host memory. */
struct iteration {
    const struct worker_process *process;
    const struct worker_context *context;
    cuda_stream stream;
    cuda_device_pointer device_in, device_out;
    int *host_in, *host_out;
    size_t elements; /* ints that the kernels work on */
    int *expected;   /* what comes out */
    size_t checked;  /* how many of its ints are checked, 0 where nothing is copied out */
    /* What it does next, in this order; without a wait between them, at once. */
    enum { ITERATION_BEGIN, ITERATION_COPY_OUT, ITERATION_CHECK } next;
    unsigned serial; /* goes in with each iteration and must come back */
    struct sampling sampling;
    uint64_t call_ns[SAMPLING_CALLS_MOST]; /* of the launch calls timed in this iteration */
    struct worker_graph graph;             /* with launch graph */
};
