/* Entry points for streams, and how they keep their order with the legacy default stream. */
#include "emul/cuda/process.h"

#include <stdlib.h>

#include "common/clock.h"
#include "emul/cuda/deferred.h"

/* -- order ------------------------------------------------------------------------------------- */

void stream_begin_work(cuda_stream stream)
{
    cuda_context context = stream->context;
    uint64_t after_ns = 0;
    if (stream == &context->legacy)
        after_ns = context->blocking_end_ns;
    else if (stream->blocking)
        after_ns = context->legacy.model.end_ns;
    if (stream->model.end_ns < after_ns)
        stream->model.end_ns = after_ns;
}

void stream_end_work(cuda_stream stream)
{
    cuda_context context = stream->context;
    if (stream->blocking && context->blocking_end_ns < stream->model.end_ns)
        context->blocking_end_ns = stream->model.end_ns;
}

cuda_result stream_take(cuda_stream *stream)
{
    cuda_stream found = process_stream(*stream);
    if (found == NULL)
        return CUDA_OUT_OF_MEMORY;
    if (found->context->base != process_current->base)
        return CUDA_INVALID_HANDLE;
    *stream = found;
    return CUDA_SUCCESS_;
}

cuda_stream stream_new(cuda_context context, bool blocking)
{
    cuda_stream made = calloc(1, sizeof *made);
    if (made == NULL)
        return NULL;
    made->context = context;
    made->blocking = blocking;
    emul_state_lock(process.state);
    model_stream_init(&context->model, &made->model);
    emul_state_unlock(process.state);
    deferred_link_stream(made);
    return made;
}

/* -- default streams --------------------------------------------------------------------------- */

/* Those of one thread: one in each context that it has used. */
#define PER_THREAD_STREAMS 16
static _Thread_local struct {
    cuda_context context;
    uint64_t opening; /* of the context, since it may be ended and opened again */
    cuda_stream stream;
} per_thread[PER_THREAD_STREAMS];

static cuda_stream per_thread_stream(cuda_context context)
{
    for (int i = 0; i < PER_THREAD_STREAMS; i++) {
        if (per_thread[i].context == context && per_thread[i].opening == context->opening)
            return per_thread[i].stream;
        if (per_thread[i].context != NULL && per_thread[i].context != context)
            continue;
        /* It is a blocking stream, as the programming guide says. */
        cuda_stream made = stream_new(context, true);
        if (made == NULL)
            return NULL;
        per_thread[i].context = context;
        per_thread[i].opening = context->opening;
        return per_thread[i].stream = made;
    }
    return NULL;
}

cuda_stream process_stream(cuda_stream stream)
{
    if (stream == NULL || stream == CUDA_STREAM_LEGACY)
        return &process_current->legacy;
    return stream == CUDA_STREAM_PER_THREAD ? per_thread_stream(process_current) : stream;
}

/* -- entry points ------------------------------------------------------------------------------ */

static cuda_result create(cuda_stream *stream, cuda_context context, unsigned int flags)
{
    if (stream == NULL || (flags & ~(unsigned)CUDA_STREAM_NON_BLOCKING) != 0)
        return CUDA_INVALID_VALUE;
    cuda_stream made = stream_new(context, (flags & CUDA_STREAM_NON_BLOCKING) == 0);
    if (made == NULL)
        return CUDA_OUT_OF_MEMORY;
    *stream = made;
    return CUDA_SUCCESS_;
}

cuda_result cuStreamCreate(cuda_stream *stream, unsigned int flags)
{
    cuda_result result = process_enter(ENTRY_stream_create, NEED_CONTEXT, NULL);
    return result == CUDA_SUCCESS_ ? create(stream, process_current, flags) : result;
}

/* A priority out of range is brought into it, as the driver does, and none changes anything. */
cuda_result cuStreamCreateWithPriority(cuda_stream *stream, unsigned int flags, int priority)
{
    (void)priority;
    cuda_result result = process_enter(ENTRY_stream_create_with_priority, NEED_CONTEXT, NULL);
    return result == CUDA_SUCCESS_ ? create(stream, process_current, flags) : result;
}

cuda_result cuStreamDestroy_v2(cuda_stream stream)
{
    cuda_result result = process_enter(ENTRY_stream_destroy, NEED_CONTEXT, NULL);
    if (result != CUDA_SUCCESS_ && !process_is_breakage(result))
        return result;
    if (stream == NULL || stream == CUDA_STREAM_LEGACY || stream == CUDA_STREAM_PER_THREAD)
        return CUDA_INVALID_HANDLE;
    deferred_free_stream(stream);
    return result;
}

/* Sleeps until the work is done and the thread's own time has come. */
static cuda_result wait_until(uint64_t end_ns)
{
    return process_sleep_until(end_ns > process_host_ns ? end_ns : process_host_ns);
}

static bool is_legacy(cuda_stream stream)
{
    return stream == &stream->context->legacy;
}

/* When all work of the stream is done, of which none is deferred. Whoever waits for the legacy one
 * waits for the blocking ones, but not the other way about. */
static uint64_t end_of(cuda_stream stream)
{
    emul_state_lock(process.state);
    if (is_legacy(stream))
        stream_begin_work(stream);
    uint64_t end = stream->model.end_ns;
    emul_state_unlock(process.state);
    return end;
}

cuda_result stream_wait(cuda_stream stream)
{
    if (!is_legacy(stream) || deferred_is_needed(stream))
        deferred_wait(stream);
    return wait_until(end_of(stream));
}

cuda_result cuStreamSynchronize(cuda_stream stream)
{
    cuda_result result = process_enter(ENTRY_stream_synchronize, NEED_CONTEXT, NULL);
    if (result != CUDA_SUCCESS_)
        return result;
    stream = process_stream(stream);
    if (stream == NULL)
        return CUDA_OUT_OF_MEMORY;
    if (stream->capture != NULL)
        return CUDA_STREAM_CAPTURE_UNSUPPORTED;
    process_burn();
    return stream_wait(stream);
}

cuda_result cuStreamQuery(cuda_stream stream)
{
    cuda_result result = process_enter(ENTRY_stream_query, NEED_CONTEXT, NULL);
    if (result != CUDA_SUCCESS_)
        return result;
    stream = process_stream(stream);
    if (stream == NULL)
        return CUDA_OUT_OF_MEMORY;
    if (stream->capture != NULL)
        return CUDA_STREAM_CAPTURE_UNSUPPORTED;
    bool deferred = atomic_load(&stream->deferred.pending) > 0 ||
                    (is_legacy(stream) && atomic_load(&stream->context->blocking_pending) > 0);
    return deferred || end_of(stream) > clock_now_ns() ? CUDA_NOT_READY : CUDA_SUCCESS_;
}

cuda_result cuGreenCtxStreamCreate(cuda_stream *stream, cuda_green_context green,
                                   unsigned int flags, int priority)
{
    (void)priority;
    cuda_result result = process_enter(ENTRY_green_ctx_stream_create, NEED_CONTEXT, NULL);
    if (result != CUDA_SUCCESS_)
        return result;
    cuda_context context = (cuda_context)(void *)green;
    if (context == NULL || !context->is_green || !atomic_load(&context->alive))
        return CUDA_INVALID_CONTEXT;
    if ((flags & CUDA_STREAM_NON_BLOCKING) == 0)
        return CUDA_INVALID_VALUE; /* the driver wants these to be non-blocking */
    return create(stream, context, flags);
}
