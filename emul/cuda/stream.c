/* Entry points for streams. */
#include "emul/cuda/entries.h"

#include <stdlib.h>

#include "common/clock.h"
#include "emul/cuda/deferred.h"
#include "emul/cuda/issue.h"

static cuda_stream stream_new(cuda_context context, bool blocking)
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
        /* The programming guide makes it a blocking stream. */
        cuda_stream made = stream_new(context, true);
        if (made == NULL)
            return NULL;
        per_thread[i].context = context;
        per_thread[i].opening = context->opening;
        return per_thread[i].stream = made;
    }
    return NULL;
}

cuda_result stream_find(cuda_stream *stream, unsigned needs)
{
    if (*stream == NULL || *stream == CUDA_STREAM_LEGACY)
        *stream = &process_current->legacy;
    else if (*stream == CUDA_STREAM_PER_THREAD)
        *stream = per_thread_stream(process_current);
    if (*stream == NULL)
        return CUDA_OUT_OF_MEMORY;
    if ((needs & STREAM_FOR_WORK) != 0 && (*stream)->context->base != process_current->base)
        return CUDA_INVALID_HANDLE;
    if ((needs & STREAM_NOT_CAPTURED) != 0 && (*stream)->capture != NULL)
        return CUDA_STREAM_CAPTURE_UNSUPPORTED;
    return CUDA_SUCCESS_;
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
    ENTER_OR_RETURN(stream_create, NEED_CONTEXT);
    return create(stream, process_current, flags);
}

/* A priority out of range is brought into it, as the driver does, and none changes anything. */
cuda_result cuStreamCreateWithPriority(cuda_stream *stream, unsigned int flags, int priority)
{
    (void)priority;
    ENTER_OR_RETURN(stream_create_with_priority, NEED_CONTEXT);
    return create(stream, process_current, flags);
}

cuda_result cuStreamDestroy_v2(cuda_stream stream)
{
    ENTER_TO_DESTROY(stream_destroy);
    if (stream == NULL || stream == CUDA_STREAM_LEGACY || stream == CUDA_STREAM_PER_THREAD)
        return CUDA_INVALID_HANDLE;
    deferred_free_stream(stream);
    return result;
}

/* When all work of the stream is done, of which none is deferred. The legacy one waits for the
 * blocking ones, but not the other way about. */
static uint64_t end_of(cuda_stream stream)
{
    if (stream_is_legacy(stream))
        return issue_ordered_end(stream);
    emul_state_lock(process.state);
    uint64_t end = stream->model.end_ns;
    emul_state_unlock(process.state);
    return end;
}

cuda_result cuStreamSynchronize(cuda_stream stream)
{
    ENTER_OR_RETURN(stream_synchronize, NEED_CONTEXT);
    result = stream_find(&stream, STREAM_NOT_CAPTURED);
    if (result != CUDA_SUCCESS_)
        return result;
    process_burn();
    if (!stream_is_legacy(stream) || deferred_is_needed(stream))
        deferred_wait(stream);
    return process_sleep_own(end_of(stream));
}

cuda_result cuStreamQuery(cuda_stream stream)
{
    ENTER_OR_RETURN(stream_query, NEED_CONTEXT);
    result = stream_find(&stream, STREAM_NOT_CAPTURED);
    if (result != CUDA_SUCCESS_)
        return result;
    bool deferred =
        atomic_load(&stream->deferred.pending) > 0 ||
        (stream_is_legacy(stream) && atomic_load(&stream->context->blocking_pending) > 0);
    return deferred || end_of(stream) > clock_now_ns() ? CUDA_NOT_READY : CUDA_SUCCESS_;
}

cuda_result cuGreenCtxStreamCreate(cuda_stream *stream, cuda_green_context green,
                                   unsigned int flags, int priority)
{
    (void)priority;
    ENTER_OR_RETURN(green_ctx_stream_create, NEED_CONTEXT);
    cuda_context context = (cuda_context)(void *)green;
    if (context == NULL || !context->is_green || !atomic_load(&context->alive))
        return CUDA_INVALID_CONTEXT;
    if ((flags & CUDA_STREAM_NON_BLOCKING) == 0)
        return CUDA_INVALID_VALUE; /* the driver wants these to be non-blocking */
    return create(stream, context, flags);
}
