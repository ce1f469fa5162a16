#include "emul/cuda/issue.h"

#include "common/clock.h"

static void begin_work(cuda_stream stream)
{
    cuda_context context = stream->context;
    uint64_t after_ns = 0;
    if (stream_is_legacy(stream))
        after_ns = context->blocking_end_ns;
    else if (stream->blocking)
        after_ns = context->legacy.model.end_ns;
    if (stream->model.end_ns < after_ns)
        stream->model.end_ns = after_ns;
}

static void end_work(cuda_stream stream)
{
    cuda_context context = stream->context;
    if (stream->blocking && context->blocking_end_ns < stream->model.end_ns)
        context->blocking_end_ns = stream->model.end_ns;
}

struct model_issue issue_begin(cuda_stream stream, cuda_context context, uint64_t *host_ns,
                               struct model_place *places, uint32_t room)
{
    struct model_issue at = {.model = process_lock_model(context),
                             .process = &context->model,
                             .stream = &stream->model,
                             .host_ns = host_ns};
    begin_work(stream);
    at.now_ns = clock_now_ns();
    activity_watch(at.process, places, room);
    return at;
}

void issue_end(cuda_stream stream, const struct model_issue *at)
{
    activity_watch(at->process, NULL, 0);
    end_work(stream);
    emul_state_unlock(process.state);
}

uint64_t issue_pay_launch(cuda_stream stream, uint64_t cost_ns)
{
    const struct model_issue at = {.model = process_lock_model(stream->context),
                                   .process = &stream->context->model,
                                   .now_ns = clock_now_ns(),
                                   .host_ns = &process_host_ns};
    model_pay_launch(&at, cost_ns);
    emul_state_unlock(process.state);
    return at.now_ns;
}

uint64_t issue_ordered_end(cuda_stream stream)
{
    emul_state_lock(process.state);
    begin_work(stream);
    uint64_t end = stream->model.end_ns;
    emul_state_unlock(process.state);
    return end;
}

void issue_raise_end(cuda_stream stream, uint64_t when_ns)
{
    emul_state_lock(process.state);
    if (stream->model.end_ns < when_ns)
        stream->model.end_ns = when_ns;
    end_work(stream);
    emul_state_unlock(process.state);
}
