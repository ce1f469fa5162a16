/* Entry points for events: moments of a stream, known at once unless deferred work comes first. */
#include <stdlib.h>

#include "common/clock.h"
#include "emul/cuda/deferred.h"
#include "emul/cuda/entries.h"

#define EVENT_FLAGS ((unsigned)CUDA_EVENT_BLOCKING_SYNC | CUDA_EVENT_DISABLE_TIMING)

struct cuda_event_opaque {
    pthread_mutex_t mutex;
    bool has_timing;
    struct moment *moment; /* of the latest record, NULL: none yet */
};

cuda_result cuEventCreate(cuda_event *event, unsigned int flags)
{
    ENTER_IF_VALID(event_create, NEED_CONTEXT, event != NULL && (flags & ~EVENT_FLAGS) == 0);
    cuda_event made = calloc(1, sizeof *made);
    if (made == NULL)
        return CUDA_OUT_OF_MEMORY;
    pthread_mutex_init(&made->mutex, NULL);
    made->has_timing = (flags & CUDA_EVENT_DISABLE_TIMING) == 0;
    *event = made;
    return CUDA_SUCCESS_;
}

/* A reference to the latest record, or NULL. */
static struct moment *latest(cuda_event event)
{
    pthread_mutex_lock(&event->mutex);
    struct moment *moment = event->moment;
    if (moment != NULL)
        moment_hold(moment);
    pthread_mutex_unlock(&event->mutex);
    return moment;
}

cuda_result cuEventRecord(cuda_event event, cuda_stream stream)
{
    ENTER_OR_RETURN(event_record, NEED_CONTEXT);
    if (event == NULL)
        return CUDA_INVALID_HANDLE;
    result = stream_find(&stream, STREAM_FOR_WORK | STREAM_NOT_CAPTURED);
    if (result != CUDA_SUCCESS_)
        return result;
    struct moment *moment = moment_record(stream);
    if (moment == NULL)
        return CUDA_OUT_OF_MEMORY;
    pthread_mutex_lock(&event->mutex);
    struct moment *before = event->moment;
    event->moment = moment;
    pthread_mutex_unlock(&event->mutex);
    moment_drop(before);
    return CUDA_SUCCESS_;
}

cuda_result cuStreamWaitEvent(cuda_stream stream, cuda_event event, unsigned int flags)
{
    ENTER_OR_RETURN(stream_wait_event, NEED_CONTEXT);
    if (event == NULL)
        return CUDA_INVALID_HANDLE;
    if (flags != 0)
        return CUDA_INVALID_VALUE;
    result = stream_find(&stream, STREAM_NOT_CAPTURED);
    if (result != CUDA_SUCCESS_)
        return result;
    struct moment *moment = latest(event);
    if (moment == NULL)
        return CUDA_SUCCESS_;
    result = moment_await(stream, moment);
    moment_drop(moment);
    return result;
}

cuda_result cuEventQuery(cuda_event event)
{
    ENTER_OR_RETURN(event_query, NEED_CONTEXT);
    if (event == NULL)
        return CUDA_INVALID_HANDLE;
    struct moment *moment = latest(event);
    bool ready =
        moment == NULL || (atomic_load(&moment->known) && moment->when_ns <= clock_now_ns());
    moment_drop(moment);
    return ready ? CUDA_SUCCESS_ : CUDA_NOT_READY;
}

cuda_result cuEventSynchronize(cuda_event event)
{
    ENTER_OR_RETURN(event_synchronize, NEED_CONTEXT);
    if (event == NULL)
        return CUDA_INVALID_HANDLE;
    struct moment *moment = latest(event);
    if (moment == NULL)
        return CUDA_SUCCESS_;
    moment_wait_known(moment);
    result = process_sleep_own(moment->when_ns);
    moment_drop(moment);
    return result;
}

cuda_result cuEventElapsedTime(float *milliseconds, cuda_event begin, cuda_event end)
{
    ENTER_IF_VALID(event_elapsed_time, NEED_CONTEXT, milliseconds != NULL);
    if (begin == NULL || end == NULL || !begin->has_timing || !end->has_timing)
        return CUDA_INVALID_HANDLE;
    struct moment *from = latest(begin), *to = latest(end);
    uint64_t now = clock_now_ns();
    if (from == NULL || to == NULL)
        result = CUDA_INVALID_HANDLE;
    else if (!atomic_load(&from->known) || !atomic_load(&to->known) || from->when_ns > now ||
             to->when_ns > now)
        result = CUDA_NOT_READY;
    else
        *milliseconds = (float)(((double)to->when_ns - (double)from->when_ns) / 1e6);
    moment_drop(from);
    moment_drop(to);
    return result;
}

cuda_result cuEventDestroy_v2(cuda_event event)
{
    ENTER_TO_DESTROY(event_destroy);
    if (event == NULL)
        return CUDA_INVALID_HANDLE;
    moment_drop(event->moment);
    pthread_mutex_destroy(&event->mutex);
    free(event);
    return result;
}
