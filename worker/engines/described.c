#include "worker/engines/described.h"

#include "common/clock.h"
#include "common/host_work.h"

/* Of a step of the host: nanoseconds, or turns, which take about as long. */
#define HOST_PART (50 * NS_PER_US)

/* What a block of any kernel may have; more must be asked for. */
#define SHARED_ALWAYS (48 * 1024)

/* Of the cache, a working set. Where the cache has two halves, each keeps what its multiprocessors
 * load, so that a half has to hold the set of a worker, and does not hold those of two. */
#define SET_CACHE_REL (1.0 / 3.0)
/* On a GPU that reports no cache. */
#define SET_VECTORS_LEAST 65536u

static cuda_function function_of(const struct worker_context *context,
                                 const struct workload_step *step)
{
    return step->kind == STEP_MEMORY   ? context->streaming
           : step->kind == STEP_CYCLES ? context->delay
           : step->kind == STEP_CACHE  ? context->load
                                       : context->compute;
}

enum status described_allow_shared(const struct worker_process *process,
                                   const struct worker_context *context,
                                   const struct workload_step *step)
{
    const struct cuda_driver *driver = &process->driver;
    int most;
    if (!workload_step_is_kernel(step) || step->shared <= SHARED_ALWAYS)
        return STATUS_OK;
    enum status status = CUDA_CALL(driver, device_get_attribute, &most,
                                   CUDA_ATTRIBUTE_SHARED_MEMORY_OPTIN, process->device);
    if (status != STATUS_OK)
        return status;
    if (step->shared > (uint32_t)most)
        return status_set(STATUS_INFEASIBLE,
                          "a block has up to %d bytes of shared memory on this GPU, and not %u",
                          most, step->shared);
    /* The most for all: the context's other steps and threads have the same function. */
    return CUDA_CALL(driver, func_set_attribute, function_of(context, step),
                     CUDA_FUNCTION_DYNAMIC_SHARED, most);
}

enum status described_set_open(const struct worker_process *process,
                               const struct workload_step *step, struct described_set *set)
{
    int cache = 0;
    if (step->kind != STEP_CACHE || set->memory)
        return STATUS_OK;
    enum status status = CUDA_CALL(&process->driver, device_get_attribute, &cache,
                                   CUDA_ATTRIBUTE_L2_CACHE_BYTES, process->device);
    set->vectors = (unsigned)(SET_CACHE_REL * cache / WORK_VECTOR_BYTES);
    if (set->vectors < SET_VECTORS_LEAST)
        set->vectors = SET_VECTORS_LEAST;
    if (status == STATUS_OK)
        status = CUDA_CALL(&process->driver, mem_alloc, &set->memory,
                           (size_t)set->vectors * WORK_VECTOR_BYTES);
    return status;
}

cuda_result described_launch(const struct worker_process *process,
                             const struct worker_context *context, cuda_stream stream,
                             const struct workload_step *step, const struct described_set *set,
                             cuda_device_pointer from, cuda_device_pointer to)
{
    cuda_device_pointer loaded = set->memory;
    unsigned set_vectors = set->vectors;
    int added = 1, elements = (int)(workload_worked_bytes(step) / sizeof(int));
    int length = (int)step->amount;
    unsigned long long total = step->amount,
                       vectors = workload_worked_bytes(step) / WORK_VECTOR_BYTES;
    /* A kernel that computes takes the first five. */
    void *computes[] = {&from, &to, &added, &elements, &length, &loaded, &set_vectors};
    void *streams[] = {&from, &to, &added, &vectors, &total};
    void *waits[] = {&total};
    void **parameters = step->kind == STEP_MEMORY   ? streams
                        : step->kind == STEP_CYCLES ? waits
                                                    : computes;
    if (step->kind == STEP_MEMORY)
        total /= WORK_VECTOR_BYTES;
    return process->driver.launch_kernel(function_of(context, step), step->blocks, 1, 1,
                                         step->threads, 1, 1, step->shared, stream, parameters,
                                         NULL);
}

/* Kernels take one side to the other, but for those that only wait. */
static uint32_t other_side(const struct workload_step *step, uint32_t side)
{
    return step->kind == STEP_CYCLES ? side : side ^ 1;
}

static enum status launch(struct described *described, const struct described_step *at)
{
    const struct workload_step *step = &at->step;
    uint32_t side = at->side;
    bool sampled = false;
    uint64_t last = 0;
    for (uint32_t n = 0; n < step->count; n++) {
        unsigned call = described->launched++;
        bool timed = call >= described->sampled_from && call < described->sampled_to;
        if (timed && !sampled)
            last = clock_now_ns();
        sampled = timed;
        cuda_result result =
            described_launch(described->process, described->context, described->stream, step,
                             &described->set, described->sides[side], described->sides[side ^ 1]);
        if (result != CUDA_SUCCESS_)
            return cuda_check(&described->process->driver, result, "cuLaunchKernel");
        if (timed) {
            uint64_t moment = clock_now_ns();
            described->call_ns[call - described->sampled_from] = moment - last;
            last = moment;
        }
        side = other_side(step, side);
    }
    return STATUS_OK;
}

enum status described_issue(struct described *described, const struct described_step *at)
{
    const struct cuda_driver *driver = &described->process->driver;
    const struct workload_step *step = &at->step;
    const cuda_device_pointer *sides = described->sides;
    enum status status = STATUS_OK;
    if (workload_step_is_kernel(step))
        return launch(described, at);
    for (uint32_t n = 0; n < step->count && status == STATUS_OK; n++) {
        uint32_t side = at->side;
        if (step->kind == STEP_COPY_IN)
            status = CUDA_CALL(driver, memcpy_htod_async, sides[side], described->host_in,
                               step->amount, described->stream);
        else if (step->kind == STEP_COPY_OUT)
            status = CUDA_CALL(driver, memcpy_dtoh_async, at->host, sides[side], step->amount,
                               described->stream);
        else
            status = CUDA_CALL(driver, memcpy_dtod_async, sides[side ^ 1 ^ (n & 1)],
                               sides[side ^ (n & 1)], step->amount, described->stream);
    }
    return status;
}

/* Where the time of a step of the GPU goes. */
static uint64_t *phase_of(struct iteration_times *times, uint32_t kind, bool graphs)
{
    switch (kind) {
    case STEP_COPY_IN:
        return graphs ? &times->launch_ns : &times->h2d_ns;
    case STEP_COPY_OUT:
        return graphs ? &times->launch_ns : &times->d2h_ns;
    default:
        return &times->launch_ns;
    }
}

/* The number of the iteration goes in with the data, so that an output left over from an earlier
 * one cannot pass for a new one. */
static void stamp(struct described *described)
{
    described->serial++;
    if (described->host_in)
        described->host_in[0] = (int)described->serial;
}

static enum status check_outputs(const struct described *described)
{
    for (unsigned i = 0; i < described->count; i++) {
        const struct described_step *at = &described->steps[i];
        for (size_t e = 0; e < at->checked; e++) {
            int wanted = (int)((unsigned)described->host_in[e] + at->added);
            if (at->host[e] != wanted)
                return status_set(STATUS_WORKER,
                                  "wrong result of workload '%s', step %u: element %zu is %d "
                                  "instead of %d",
                                  described->workload->name, at->number + 1, e, at->host[e],
                                  wanted);
        }
    }
    return STATUS_OK;
}

static void wait_for_stream(struct described *described, struct engine_wait *wait)
{
    described->pending = false;
    *wait = (struct engine_wait){.what = ENGINE_STREAM, .stream = described->stream};
}

/* Other streams of the thread go on between the parts. */
static void compute_part(struct described *described, const struct workload_step *step,
                         struct engine_wait *wait)
{
    uint64_t left = described->left ? described->left : step->amount, part = left;
    if (described->shares_thread && part > HOST_PART)
        part = HOST_PART;
    if (step->kind == STEP_WORK)
        host_work(part);
    else
        clock_burn(part);
    described->left = left - part;
    if (described->left == 0)
        return;
    described->next--;
    *wait = (struct engine_wait){.what = ENGINE_CLOCK};
}

/* A step of the host, which it may wait in. */
static void run_on_host(struct described *described, const struct workload_step *step,
                        struct engine_wait *wait)
{
    if (step->kind == STEP_BUSY || step->kind == STEP_WORK)
        compute_part(described, step, wait);
    else if (step->kind == STEP_THINK)
        *wait =
            (struct engine_wait){.what = ENGINE_CLOCK, .until_ns = clock_now_ns() + step->amount};
    else
        wait_for_stream(described, wait);
}

/* A step of the GPU, or all that a graph holds from it on. */
static enum status run_on_gpu(struct described *described, const struct described_step *at)
{
    /* A pageable copy out has ended, with all before it, when it returns. */
    described->pending = described->graphs || described->pinned || at->step.kind != STEP_COPY_OUT;
    if (described->graphs)
        return CUDA_CALL(&described->process->driver, graph_launch, at->graph.exec,
                         described->stream);
    return described_issue(described, at);
}

static void begin(struct described *described, struct iteration_times *times)
{
    stamp(described);
    described->launched = 0;
    if (!sampling_next(&described->sampling, &described->sampled_from, &described->sampled_to))
        described->sampled_from = described->sampled_to = 0;
    uint64_t now_ns = clock_now_ns();
    *times = (struct iteration_times){.begin_ns = now_ns, .end_ns = now_ns};
}

static enum status advance(void *work, struct iteration_times *times, struct engine_wait *wait)
{
    struct described *described = work;
    if (described->next == 0 && described->left == 0)
        begin(described, times);
    while (described->next < described->count) {
        const struct described_step *at = &described->steps[described->next];
        if (at->step.kind == STEP_COPY_OUT && described->sync_before_out && described->pending) {
            wait_for_stream(described, wait);
            return STATUS_OK;
        }
        described->next = at->end ? at->end : described->next + 1;
        if (workload_step_is_host(&at->step)) {
            run_on_host(described, &at->step, wait);
            engine_lap(times);
            if (wait->what != ENGINE_DONE)
                return STATUS_OK;
            continue;
        }
        enum status status = run_on_gpu(described, at);
        *phase_of(times, at->step.kind, described->graphs) += engine_lap(times);
        if (status != STATUS_OK)
            return status;
    }
    if (described->pending) {
        wait_for_stream(described, wait);
        return STATUS_OK;
    }
    described->next = 0;
    times->call_ns = described->call_ns;
    times->calls = described->sampled_to - described->sampled_from;
    sampling_adapt(&described->sampling, times->end_ns - times->begin_ns);
    return check_outputs(described);
}

static cuda_stream stream_of(const void *work)
{
    const struct described *described = work;
    return described->stream;
}

const struct engine described_engine = {.open = described_open,
                                        .advance = advance,
                                        .close = described_close,
                                        .stream = stream_of,
                                        .buffers = described_buffers};
