/* Entry points for copies between host and device. */
#include "emul/cuda/process.h"

#include <string.h>

#include "common/clock.h"
#include "emul/cuda/copies.h"
#include "emul/cuda/deferred.h"

cuda_result copy_run(const struct copy_call *copy, bool corrupt)
{
    const void *on_device = copy->direction == MODEL_TO_DEVICE ? copy->to : copy->from;
    if (!memory_list_holds(&process.device_memory, on_device, copy->bytes))
        return CUDA_INVALID_VALUE;
    memcpy(copy->to, copy->from, copy->bytes);
    if (corrupt && copy->bytes > 0)
        *(unsigned char *)copy->to ^= 0x55;
    return CUDA_SUCCESS_;
}

static struct model_work cost_of(const struct copy_call *copy, bool pageable)
{
    return model_copy(process_machine(), copy->direction, copy->bytes, pageable);
}

struct reserved {
    uint64_t now_ns, end_ns, duration_ns;
};

/* A copy's time, and what is told of it. */
static struct reserved reserve(const struct copy_call *copy, bool pageable, cuda_stream stream)
{
    cuda_context context = stream->context;
    struct model_work work = cost_of(copy, pageable);
    struct model_place place = {0};
    struct model *model = process_lock_model(context);
    stream_begin_work(stream);
    uint64_t now = clock_now_ns();
    activity_watch(&context->model, &place, 1);
    uint64_t end = pageable ? model_issue_pageable(model, &context->model, &stream->model, now,
                                                   &process_host_ns, &work)
                            : model_issue_copy(model, &context->model, &stream->model, now,
                                               &process_host_ns, &work);
    activity_watch(&context->model, NULL, 0);
    stream_end_work(stream);
    emul_state_unlock(process.state);
    activity_copy(copy, pageable, stream, &place);
    return (struct reserved){now, end, work.duration_ns};
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
    const struct reserved time = reserve(copy, true, stream);
    if (blocks && time.end_ns > time.now_ns + time.duration_ns) {
        if (!under_way->holds_launches)
            copies_hold_launches(under_way);
        process_sleep_until(time.end_ns - time.duration_ns);
    }
    copies_free_launches(under_way);
    return process_sleep_until(time.end_ns > process_host_ns ? time.end_ns : process_host_ns);
}

static cuda_result issue_pageable(const struct copy_call *copy, cuda_stream stream, bool corrupt)
{
    struct copy_under_way under_way;
    copies_begin(&under_way, copy->direction);
    cuda_result result = run_pageable(copy, stream, corrupt, &under_way);
    copies_end(&under_way);
    return result;
}

static void perform(cuda_stream stream, const struct operation *operation)
{
    const struct copy_call *copy = &operation->call.copy.call;
    struct model_work work = cost_of(copy, false);
    cuda_result result = copy_run(copy, operation->call.copy.corrupt);
    if (result != CUDA_SUCCESS_)
        process_break(result);
    struct model *model = process_lock_model(stream->context);
    stream_begin_work(stream);
    uint64_t now = clock_now_ns();
    struct model_place place = {0};
    activity_watch(&stream->context->model, &place, 1);
    model_place_copy(model, &stream->context->model, &stream->model, now, now, &work);
    activity_watch(&stream->context->model, NULL, 0);
    stream_end_work(stream);
    emul_state_unlock(process.state);
    activity_copy(copy, false, stream, &place);
}

static cuda_result issue_pinned(const struct copy_call *copy, cuda_stream stream, bool corrupt)
{
    if (deferred_is_needed(stream)) {
        const void *on_device = copy->direction == MODEL_TO_DEVICE ? copy->to : copy->from;
        if (!memory_list_holds(&process.device_memory, on_device, copy->bytes))
            return CUDA_INVALID_VALUE;
        return deferred_put(stream,
                            &(struct operation){.perform = perform, .call.copy = {*copy, corrupt}});
    }
    cuda_result result = copy_run(copy, corrupt);
    if (result != CUDA_SUCCESS_)
        return result;
    copies_note_pinned(copy->direction, reserve(copy, false, stream).end_ns);
    return CUDA_SUCCESS_;
}

static cuda_result issue_copy(const struct copy_call *copy, cuda_stream stream, bool corrupt)
{
    if (copy->to == NULL || copy->from == NULL)
        return CUDA_INVALID_VALUE;
    cuda_result result = stream_take(&stream);
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
    bool corrupt;
    cuda_result result = process_enter(ENTRY_memcpy_htod_async, NEED_CONTEXT, &corrupt);
    if (result != CUDA_SUCCESS_)
        return result;
    const struct copy_call copy = {MODEL_TO_DEVICE, (void *)(uintptr_t)to, from, bytes};
    return issue_copy(&copy, stream, corrupt);
}

cuda_result cuMemcpyDtoHAsync_v2(void *to, cuda_device_pointer from, size_t bytes,
                                 cuda_stream stream)
{
    bool corrupt;
    cuda_result result = process_enter(ENTRY_memcpy_dtoh_async, NEED_CONTEXT, &corrupt);
    if (result != CUDA_SUCCESS_)
        return result;
    const struct copy_call copy = {MODEL_TO_HOST, to, (const void *)(uintptr_t)from, bytes};
    return issue_copy(&copy, stream, corrupt);
}
