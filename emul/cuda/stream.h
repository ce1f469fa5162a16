/* The streams that the handles of calls stand for. */
#pragma once

#include "emul/cuda/process.h"

/* Replaces a handle by the stream that it stands for in the current context: the default streams
 * have handles of their own. CUDA_OUT_OF_MEMORY: a thread's default stream cannot be made. */
cuda_result stream_find(cuda_stream *stream);

/* The same for a call that puts work into the stream, which work of the current context must be
 * allowed to. */
cuda_result stream_take(cuda_stream *stream);

/* The same two for calls that a capture does not take. */
cuda_result stream_find_idle(cuda_stream *stream);
cuda_result stream_take_idle(cuda_stream *stream);
