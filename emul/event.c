/* Entry points for events: moments of a stream, known as soon as they are recorded. */
#include "emul/process.h"

#include <stdlib.h>

#include "common/clock.h"

struct cuda_event_opaque {
    uint64_t when_ns; /* 0: not recorded */
};

cuda_result cuEventCreate(cuda_event *event, unsigned int flags)
{
    cuda_result result = process_enter(ENTRY_event_create, NEED_CONTEXT, NULL);
    if (result != CUDA_SUCCESS_)
        return result;
    if (event == NULL || flags != 0)
        return CUDA_INVALID_VALUE;
    *event = calloc(1, sizeof **event);
    return *event != NULL ? CUDA_SUCCESS_ : CUDA_OUT_OF_MEMORY;
}

cuda_result cuEventRecord(cuda_event event, cuda_stream stream)
{
    cuda_result result = process_enter(ENTRY_event_record, NEED_CONTEXT, NULL);
    if (result != CUDA_SUCCESS_)
        return result;
    if (event == NULL)
        return CUDA_INVALID_HANDLE;
    stream = process_stream(stream);
    if (stream->capture != NULL)
        return CUDA_STREAM_CAPTURE_UNSUPPORTED;
    emul_state_lock(process.state);
    uint64_t now = clock_now_ns();
    event->when_ns = stream->model.end_ns > now ? stream->model.end_ns : now;
    emul_state_unlock(process.state);
    return CUDA_SUCCESS_;
}

cuda_result cuEventElapsedTime(float *milliseconds, cuda_event begin, cuda_event end)
{
    cuda_result result = process_enter(ENTRY_event_elapsed_time, NEED_CONTEXT, NULL);
    if (result != CUDA_SUCCESS_)
        return result;
    if (milliseconds == NULL)
        return CUDA_INVALID_VALUE;
    if (begin == NULL || end == NULL || begin->when_ns == 0 || end->when_ns == 0)
        return CUDA_INVALID_HANDLE;
    uint64_t now = clock_now_ns();
    if (begin->when_ns > now || end->when_ns > now)
        return CUDA_NOT_READY;
    *milliseconds = (float)(((double)end->when_ns - (double)begin->when_ns) / 1e6);
    return CUDA_SUCCESS_;
}

cuda_result cuEventDestroy_v2(cuda_event event)
{
    cuda_result result = process_enter(ENTRY_event_destroy, NEED_CONTEXT, NULL);
    if (result != CUDA_SUCCESS_ && !process_is_breakage(result))
        return result;
    if (event == NULL)
        return CUDA_INVALID_HANDLE;
    free(event);
    return result;
}
