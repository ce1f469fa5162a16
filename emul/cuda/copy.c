/* Entry points for copies. */

#include <string.h>

#include "common/clock.h"
#include "emul/cuda/copies.h"
#include "emul/cuda/deferred.h"
#include "emul/cuda/entries.h"
#include "emul/cuda/issue.h"

struct reserved {
    uint64_t now_ns, end_ns, duration_ns;
};

/* Reserves a copy's time, and records the copy for a tracer. */
static struct reserved reserve(const struct copy_call *copy, bool pageable, cuda_stream stream,
                               uint64_t *host_ns)
{
    struct model_work work = model_copy(process_machine(), copy->direction, copy->bytes, pageable);
    struct model_place place = {0};
    struct model_issue at = issue_begin(stream, stream->context, host_ns, &place, 1);
    uint64_t end = (pageable ? model_issue_pageable : model_issue_copy)(&at, &work);
    issue_end(stream, &at);
    activity_copy(copy, pageable, stream, &place);
    return (struct reserved){at.now_ns, end, work.duration_ns};
}

/* Until the stream has come to the copy, and it can go: then a copy to pageable memory on the
 * legacy default stream keeps the process's other launches back, as the driver was seen to do. */
static cuda_result run_pageable(const struct copy_call *copy, cuda_stream stream, bool corrupt,
                                struct copy_under_way *under_way)
{
    cuda_context context = stream->context;
    bool blocks = copy->direction == MODEL_TO_HOST && stream == &context->legacy &&
                  process_has(EFFECT_COPY_BLOCK);
    if (deferred_is_needed(stream)) {
        if (blocks)
            copies_hold_launches(under_way);
        deferred_wait(stream);
    }
    cuda_result result = copy_run(copy, corrupt);
    if (result != CUDA_SUCCESS_)
        return result;
    const struct reserved time = reserve(copy, true, stream, &process_host_ns);
    if (blocks && time.end_ns > time.now_ns + time.duration_ns) {
        if (!under_way->holds_launches)
            copies_hold_launches(under_way);
        process_sleep_until(time.end_ns - time.duration_ns);
    }
    copies_free_launches(under_way);
    return process_sleep_own(time.end_ns);
}

static cuda_result issue_pageable(const struct copy_call *copy, cuda_stream stream, bool corrupt)
{
    struct copy_under_way under_way;
    copies_begin(&under_way, copy->direction);
    cuda_result result = run_pageable(copy, stream, corrupt, &under_way);
    copies_end(&under_way);
    return result;
}

static cuda_result perform(cuda_stream stream, const struct operation *operation, uint64_t *host_ns)
{
    const struct copy_call *copy = &operation->call.copy.call;
    cuda_result result = copy_run(copy, operation->call.copy.corrupt);
    if (result != CUDA_SUCCESS_ && host_ns != NULL)
        return result;
    const struct reserved time = reserve(copy, false, stream, host_ns);
    if (host_ns != NULL)
        copies_note_pinned(copy->direction, time.end_ns);
    return result;
}

static cuda_result issue_pinned(const struct copy_call *copy, cuda_stream stream, bool corrupt)
{
    const struct operation operation = {.perform = perform, .call.copy = {*copy, corrupt}};
    const void *on_device = copy->direction == MODEL_TO_DEVICE ? copy->to : copy->from;
    if (!memory_list_holds(&process.device_memory, on_device, copy->bytes))
        return CUDA_INVALID_VALUE;
    return operation_issue(stream, &operation);
}

static cuda_result issue_copy(const struct copy_call *copy, cuda_stream stream)
{
    bool corrupt = process_corrupts;
    if (copy->to == NULL || copy->from == NULL)
        return CUDA_INVALID_VALUE;
    cuda_result result = stream_find(&stream, STREAM_FOR_WORK);
    if (result != CUDA_SUCCESS_)
        return result;
    if (stream->capture != NULL)
        return graph_add_copy(stream->capture, copy);
    const void *on_host = copy->direction == MODEL_TO_DEVICE ? copy->from : copy->to;
    process_burn();
    return memory_list_holds(&process.host_memory, on_host, copy->bytes)
               ? issue_pinned(copy, stream, corrupt)
               : issue_pageable(copy, stream, corrupt);
}

cuda_result cuMemcpyHtoDAsync_v2(cuda_device_pointer to, const void *from, size_t bytes,
                                 cuda_stream stream)
{
    ENTER_OR_RETURN(memcpy_htod_async, NEED_CONTEXT);
    return issue_copy(&(struct copy_call){MODEL_TO_DEVICE, (void *)(uintptr_t)to, from, bytes},
                      stream);
}

cuda_result cuMemcpyDtoHAsync_v2(void *to, cuda_device_pointer from, size_t bytes,
                                 cuda_stream stream)
{
    ENTER_OR_RETURN(memcpy_dtoh_async, NEED_CONTEXT);
    return issue_copy(&(struct copy_call){MODEL_TO_HOST, to, (const void *)(uintptr_t)from, bytes},
                      stream);
}

/* -- within and between devices ---------------------------------------------------------------- */

/* How many times as fast as a copy to the host, where the devices reach each other's memory. */
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
 * reserved where it comes out, and costs the host nothing. */
static cuda_result perform_peer(cuda_stream stream, const struct operation *operation,
                                uint64_t *host_ns)
{
    cuda_context to = operation->call.peer.to_context, from = operation->call.peer.from_context;
    uint64_t bytes = operation->call.peer.bytes;
    memmove(operation->call.peer.to, operation->call.peer.from, bytes);
    struct model_work work =
        model_copy(process_machine(), MODEL_TO_HOST, bytes, !is_direct(to, from));
    struct model_place place = {0};
    struct model_issue at = issue_begin(stream, from, NULL, &place, 1);
    (void)host_ns;
    if (is_direct(to, from))
        model_issue_direct(&at, work.duration_ns / DIRECT_FACTOR);
    else
        model_issue_copy(&at, &work);
    issue_end(stream, &at);
    activity_peer_copy(to, from, bytes, stream, &place);
    return CUDA_SUCCESS_;
}

static cuda_result issue_staged(const struct operation *operation, cuda_stream stream)
{
    if (!process_has(EFFECT_PEER_STALL))
        return operation_issue(stream, operation);
    deferred_lock();
    struct moment *before = last_staged;
    if (before != NULL)
        moment_hold(before);
    deferred_unlock();
    cuda_result result = before != NULL ? moment_await(stream, before) : CUDA_SUCCESS_;
    moment_drop(before);
    if (result == CUDA_SUCCESS_)
        result = operation_issue(stream, operation);
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

static cuda_result peer_copy(void *to, cuda_context to_context, const void *from,
                             cuda_context from_context, uint64_t bytes, cuda_stream stream)
{
    if (to_context == NULL || from_context == NULL)
        return CUDA_INVALID_VALUE;
    cuda_result result = stream_find(&stream, STREAM_FOR_WORK);
    if (result != CUDA_SUCCESS_)
        return result;
    if (to_context->device == from_context->device) {
        const struct kernel_call copy = {
            .kernel = KERNEL_COPY, .threads = 1, .blocks = 1, .arguments.copy = {from, to, bytes}};
        return launch_issue(&copy, stream);
    }
    if (stream->capture != NULL)
        return CUDA_STREAM_CAPTURE_UNSUPPORTED;
    const struct operation copy = {.perform = perform_peer,
                                   .call.peer = {to, from, bytes, to_context, from_context}};
    process_burn();
    return is_direct(to_context, from_context) ? operation_issue(stream, &copy)
                                               : issue_staged(&copy, stream);
}

cuda_result cuMemcpyPeerAsync(cuda_device_pointer to, cuda_context to_context,
                              cuda_device_pointer from, cuda_context from_context, size_t bytes,
                              cuda_stream stream)
{
    ENTER_OR_RETURN(memcpy_peer_async, NEED_CONTEXT);
    void *there = (void *)(uintptr_t)to;
    const void *here = (const void *)(uintptr_t)from;
    if (to_context == NULL || from_context == NULL ||
        memory_list_owner(&process.device_memory, there, bytes) != to_context->base ||
        memory_list_owner(&process.device_memory, here, bytes) != from_context->base)
        return CUDA_INVALID_VALUE;
    return peer_copy(there, to_context->base, here, from_context->base, bytes, stream);
}

/* Within the device, what moves the bytes is a kernel of the driver's. */
cuda_result cuMemcpyDtoDAsync_v2(cuda_device_pointer to, cuda_device_pointer from, size_t bytes,
                                 cuda_stream stream)
{
    ENTER_OR_RETURN(memcpy_dtod_async, NEED_CONTEXT);
    void *there = (void *)(uintptr_t)to;
    const void *here = (const void *)(uintptr_t)from;
    return peer_copy(there, memory_list_owner(&process.device_memory, there, bytes), here,
                     memory_list_owner(&process.device_memory, here, bytes), bytes, stream);
}
