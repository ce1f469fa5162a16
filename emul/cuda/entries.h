/*
 * What the files of entry points do for each other.
 */
#pragma once

#include "emul/cuda/process.h"

/* What a call needs of its stream, as bits. */
enum stream_need {
    STREAM_FOR_WORK = 1,    /* work of the current context may be put into it */
    STREAM_NOT_CAPTURED = 2 /* a capture does not take the call */
};

/* Replaces a handle by the stream that it stands for in the current context: the default streams
 * have handles of their own. CUDA_OUT_OF_MEMORY: a thread's default stream cannot be made.
 * CUDA_INVALID_HANDLE, CUDA_STREAM_CAPTURE_UNSUPPORTED: it is not as the call needs it. */
cuda_result stream_find(cuda_stream *stream, unsigned needs);

/* Puts a kernel, or a copy within the device, into the stream. */
cuda_result launch_issue(const struct kernel_call *kernel, cuda_stream stream);

/* Waits until no kernel of this process holds the device, as allocations do. */
void hold_wait_idle(cuda_device device);

/* What a stream in capture does in place of running. */
cuda_result graph_add_kernel(struct graph *graph, const struct kernel_call *kernel);
cuda_result graph_add_copy(struct graph *graph, const struct copy_call *copy);
