/*
 * How a stream's work is placed in the model, and noted for a tracer.
 */
#pragma once

#include "emul/cuda/process.h"

/* Holds the model of the context's device until issue_end(); host_ns is that of struct model_issue.
 * The stream's work keeps its order with the legacy default stream. The model notes up to `room`
 * places of what is issued, if a tracer wants them. */
struct model_issue issue_begin(cuda_stream stream, cuda_context context, uint64_t *host_ns,
                               struct model_place *places, uint32_t room);
void issue_end(cuda_stream stream, const struct model_issue *at);

/* The host's side alone of a launch of that cost, whose place on the GPU is found later. Gives the
 * time of the call, for process_end_launch(). */
uint64_t issue_pay_launch(cuda_stream stream, uint64_t cost_ns);

/* The time when what is put into the stream now may begin. */
uint64_t issue_ordered_end(cuda_stream stream);

/* Has the stream's later work begin at when_ns at the earliest. */
void issue_raise_end(cuda_stream stream, uint64_t when_ns);

static inline bool stream_is_legacy(cuda_stream stream)
{
    return stream == &stream->context->legacy;
}
