/* Copies between two devices. */
#include <string.h>

#include "common/clock.h"
#include "emul/cuda/copies.h"
#include "emul/cuda/deferred.h"

/* So many times as fast as a copy to the host, where the devices reach each other's memory. */
#define DIRECT_FACTOR 4

/*
 * The driver stages a copy between devices that cannot reach each other's memory, and does so one
 * after the other, also while the first still waits for its stream (the effect peer-stall). This is
 * the end of the last one; under the deferred mutex.
 */
static struct moment *last_staged;

static bool is_direct(const cuda_context to, const cuda_context from)
{
    return (atomic_load(&to->peers) >> from->device & 1) != 0 ||
           (atomic_load(&from->peers) >> to->device & 1) != 0;
}

/* A staged copy goes out of one device and into the other at the same time, piece by piece. Time is
 * reserved where it comes out. */
static void perform(cuda_stream stream, const struct operation *operation)
{
    cuda_context to = operation->call.peer.to_context, from = operation->call.peer.from_context;
    uint64_t bytes = operation->call.peer.bytes;
    memmove(operation->call.peer.to, operation->call.peer.from, bytes);
    struct model_work work =
        model_copy(process_machine(), MODEL_TO_HOST, bytes, !is_direct(to, from));
    struct model *model = process_lock_model(from);
    stream_begin_work(stream);
    uint64_t now = clock_now_ns();
    struct model_place place = {0};
    activity_watch(&from->model, &place, 1);
    if (is_direct(to, from))
        model_place_direct(model, &from->model, &stream->model, now,
                           work.duration_ns / DIRECT_FACTOR);
    else
        model_place_copy(model, &from->model, &stream->model, now, now, &work);
    activity_watch(&from->model, NULL, 0);
    stream_end_work(stream);
    emul_state_unlock(process.state);
    activity_peer_copy(to, from, bytes, stream, &place);
}

static cuda_result issue(const struct operation *operation, cuda_stream stream)
{
    if (deferred_is_needed(stream))
        return deferred_put(stream, operation);
    operation->perform(stream, operation);
    return CUDA_SUCCESS_;
}

static cuda_result issue_staged(const struct operation *operation, cuda_stream stream)
{
    if (!process_has(EFFECT_PEER_STALL))
        return issue(operation, stream);
    deferred_lock();
    struct moment *before = last_staged;
    if (before != NULL)
        moment_hold(before);
    deferred_unlock();
    cuda_result result = before != NULL ? moment_await(stream, before) : CUDA_SUCCESS_;
    moment_drop(before);
    if (result == CUDA_SUCCESS_)
        result = issue(operation, stream);
    if (result != CUDA_SUCCESS_)
        return result;
    struct moment *end = moment_record(stream);
    deferred_lock();
    struct moment *other = last_staged;
    last_staged = end;
    deferred_unlock();
    moment_drop(other);
    return end != NULL ? CUDA_SUCCESS_ : CUDA_OUT_OF_MEMORY;
}

cuda_result peer_copy(void *to, cuda_context to_context, const void *from,
                      cuda_context from_context, uint64_t bytes, cuda_stream stream)
{
    if (to_context == NULL || from_context == NULL)
        return CUDA_INVALID_VALUE;
    cuda_result result = stream_take(&stream);
    if (result != CUDA_SUCCESS_)
        return result;
    if (to_context->device == from_context->device) {
        const struct kernel_call copy = {
            .kernel = KERNEL_COPY, .threads = 1, .blocks = 1, .arguments.copy = {from, to, bytes}};
        return launch_issue(&copy, stream);
    }
    if (stream->capture != NULL)
        return CUDA_STREAM_CAPTURE_UNSUPPORTED;
    const struct operation copy = {.perform = perform,
                                   .call.peer = {to, from, bytes, to_context, from_context}};
    process_burn();
    return is_direct(to_context, from_context) ? issue(&copy, stream) : issue_staged(&copy, stream);
}

cuda_result cuMemcpyPeerAsync(cuda_device_pointer to, cuda_context to_context,
                              cuda_device_pointer from, cuda_context from_context, size_t bytes,
                              cuda_stream stream)
{
    cuda_result result = process_enter(ENTRY_memcpy_peer_async, NEED_CONTEXT, NULL);
    if (result != CUDA_SUCCESS_)
        return result;
    void *there = (void *)(uintptr_t)to;
    const void *here = (const void *)(uintptr_t)from;
    if (to_context == NULL || from_context == NULL ||
        memory_list_owner(&process.device_memory, there, bytes) != to_context->base ||
        memory_list_owner(&process.device_memory, here, bytes) != from_context->base)
        return CUDA_INVALID_VALUE;
    return peer_copy(there, to_context->base, here, from_context->base, bytes, stream);
}
