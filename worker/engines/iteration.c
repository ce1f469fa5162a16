#include "worker/engines/iteration.h"

#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "worker/engines/buffers.h"

static const struct shm_settings *settings_of(const struct iteration *iteration)
{
    return &iteration->process->shm.header->settings;
}

static void make_expected(struct iteration *iteration)
{
    const struct shm_settings *settings = settings_of(iteration);
    unsigned sum = 0;
    if (settings->workload != WORKLOAD_DELAY)
        for (unsigned i = 0; i < settings->kernels; i++)
            sum += i;
    for (size_t i = 0; i < iteration->checked; i++)
        iteration->expected[i] = (int)sum;
}

static cuda_result launch_one(const struct iteration *iteration, cuda_device_pointer source,
                              cuda_device_pointer destination, unsigned value)
{
    const struct shm_settings *settings = settings_of(iteration);
    const struct worker_process *process = iteration->process;
    if (settings->workload == WORKLOAD_DELAY) {
        unsigned long long cycles = settings->delay_cycles;
        void *parameters[] = {&cycles};
        return process->driver.launch_kernel(iteration->context->delay, 1, 1, 1, 1, 1, 1, 0,
                                             iteration->stream, parameters, NULL);
    }
    int added = (int)value;
    int elements = (int)iteration->elements;
    int spin = (int)settings->spin;
    void *parameters[] = {&source, &destination, &added, &elements, &spin};
    return process->driver.launch_kernel(iteration->context->add_constant, settings->blocks, 1, 1,
                                         settings->threads_per_block, 1, 1, 0, iteration->stream,
                                         parameters, NULL);
}

static bool copies_in(const struct shm_settings *settings)
{
    return settings->copies == COPIES_BOTH || settings->copies == COPIES_IN;
}

static bool copies_out(const struct shm_settings *settings)
{
    return settings->copies == COPIES_BOTH || settings->copies == COPIES_OUT;
}

static enum status copy_in(const struct iteration *iteration)
{
    return CUDA_CALL(&iteration->process->driver, memcpy_htod_async, iteration->device_in,
                     iteration->host_in, settings_of(iteration)->bytes, iteration->stream);
}

/* The kernels read one buffer and write the other, in turn. */
static enum status launch_run(const struct iteration *iteration, unsigned from, unsigned to)
{
    cuda_device_pointer buffers[] = {iteration->device_in, iteration->device_out};
    for (unsigned i = from; i < to; i++) {
        cuda_result result = launch_one(iteration, buffers[i % 2], buffers[1 - i % 2], i);
        if (result != CUDA_SUCCESS_)
            return cuda_check(&iteration->process->driver, result, "cuLaunchKernel");
    }
    return STATUS_OK;
}

static enum status launch_timed(struct iteration *iteration, unsigned from, unsigned to)
{
    enum status status = STATUS_OK;
    uint64_t last = clock_now_ns();
    for (unsigned i = from; i < to && status == STATUS_OK; i++) {
        status = launch_run(iteration, i, i + 1);
        uint64_t moment = clock_now_ns();
        iteration->call_ns[i - from] = moment - last;
        last = moment;
    }
    return status;
}

static enum status launch_all(struct iteration *iteration, struct iteration_times *times)
{
    unsigned kernels = settings_of(iteration)->kernels, from, to;
    if (!sampling_next(&iteration->sampling, &from, &to))
        return launch_run(iteration, 0, kernels);
    times->call_ns = iteration->call_ns;
    times->calls = to - from;
    enum status status = launch_run(iteration, 0, from);
    if (status == STATUS_OK)
        status = launch_timed(iteration, from, to);
    return status == STATUS_OK ? launch_run(iteration, to, kernels) : status;
}

/* The last kernel's output: the kernels write the two buffers in turn. */
static cuda_device_pointer result_buffer(const struct iteration *iteration)
{
    const struct shm_settings *settings = settings_of(iteration);
    bool swapped = settings->workload != WORKLOAD_DELAY && settings->kernels % 2;
    return swapped ? iteration->device_out : iteration->device_in;
}

static enum status copy_out(const struct iteration *iteration)
{
    return CUDA_CALL(&iteration->process->driver, memcpy_dtoh_async, iteration->host_out,
                     result_buffer(iteration), settings_of(iteration)->bytes, iteration->stream);
}

static enum status synchronize(const struct iteration *iteration)
{
    return worker_synchronize(iteration->process, iteration->stream);
}

static enum status capture_graph(struct iteration *iteration)
{
    const struct shm_settings *settings = settings_of(iteration);
    enum status status = worker_graph_begin(iteration->process, iteration->stream);
    if (status != STATUS_OK)
        return status;
    if (copies_in(settings))
        status = copy_in(iteration);
    if (status == STATUS_OK)
        status = launch_run(iteration, 0, settings->kernels);
    if (status == STATUS_OK && copies_out(settings))
        status = copy_out(iteration);
    return worker_graph_end(iteration->process, iteration->stream, status, &iteration->graph);
}

/* An output is checked where all of it is known: where it is copied out, and came in with this
 * iteration or, without kernels, when the buffers were made. What is not copied out cannot be
 * checked. */
static enum status size_up(struct iteration *iteration, size_t *device_bytes)
{
    const struct shm_settings *settings = settings_of(iteration);
    uint64_t worked = settings->worked_bytes;
    if (worked == 0)
        worked = settings->bytes / WORK_COPIED_PER_WORKED;
    if (settings->copies == COPIES_OUT && settings->kernels > 0)
        return status_set(STATUS_USAGE, "kernels without a copy in have no known output");
    if (worked / sizeof(int) > INT32_MAX)
        return status_set(STATUS_USAGE, "a kernel cannot work on %llu bytes",
                          (unsigned long long)worked);
    iteration->elements = worked / sizeof(int);
    if (copies_out(settings))
        iteration->checked = (worked < settings->bytes ? worked : settings->bytes) / sizeof(int);
    *device_bytes = worked < settings->bytes ? settings->bytes : worked;
    return STATUS_OK;
}

/* Copies that only go out find the same every time. */
static enum status fill_device(struct iteration *iteration)
{
    if (settings_of(iteration)->copies != COPIES_OUT)
        return STATUS_OK;
    enum status status = copy_in(iteration);
    return status == STATUS_OK ? synchronize(iteration) : status;
}

static void close_work(void *work)
{
    struct iteration *iteration = work;
    const struct cuda_driver *driver = &iteration->process->driver;
    size_t bytes = settings_of(iteration)->bytes;
    worker_graph_free(iteration->process, &iteration->graph);
    if (iteration->device_in)
        driver->mem_free(iteration->device_in);
    if (iteration->device_out)
        driver->mem_free(iteration->device_out);
    worker_buffer_free(iteration->process, iteration->host_in, bytes);
    worker_buffer_free(iteration->process, iteration->host_out, bytes);
    if (iteration->stream)
        driver->stream_destroy(iteration->stream);
    free(iteration->expected);
    free(iteration);
}

static enum status open_work(const struct worker_process *process,
                             const struct worker_context *context, const struct shm_slot *slot,
                             void **out)
{
    (void)slot;
    const struct cuda_driver *driver = &process->driver;
    struct iteration *iteration = calloc(1, sizeof *iteration);
    if (!iteration)
        return status_set(STATUS_MEMORY, "out of host memory");
    iteration->process = process;
    iteration->context = context;
    const struct shm_settings *settings = settings_of(iteration);
    size_t device_bytes;
    enum status status = size_up(iteration, &device_bytes);
    if (status != STATUS_OK)
        goto out;
    iteration->expected = calloc(iteration->checked + 1, sizeof(int));
    if (!iteration->expected)
        status = status_set(STATUS_MEMORY, "out of host memory");
    if (status == STATUS_OK)
        status = CUDA_CALL(driver, stream_create, &iteration->stream, CUDA_STREAM_NON_BLOCKING);
    if (status == STATUS_OK)
        status = worker_buffer_new(process, settings->bytes, &iteration->host_in);
    if (status == STATUS_OK)
        status = worker_buffer_new(process, settings->bytes, &iteration->host_out);
    if (status == STATUS_OK)
        status = CUDA_CALL(driver, mem_alloc, &iteration->device_in, device_bytes);
    if (status == STATUS_OK)
        status = CUDA_CALL(driver, mem_alloc, &iteration->device_out, device_bytes);
    if (status == STATUS_OK)
        status = fill_device(iteration);
    if (status == STATUS_OK) {
        make_expected(iteration);
        sampling_init(&iteration->sampling, settings->kernels, sampling_measure_cost_ns());
        if (settings->launch == LAUNCH_GRAPH)
            status = capture_graph(iteration);
    }
out:
    if (status == STATUS_OK)
        *out = iteration;
    else
        close_work(iteration);
    return status;
}

static enum status check_output(const struct iteration *iteration)
{
    const int *got = iteration->host_out;
    const int *want = iteration->expected;
    if (memcmp(got, want, iteration->checked * sizeof(int)) == 0)
        return STATUS_OK;
    size_t at = 0;
    while (at < iteration->checked - 1 && got[at] == want[at])
        at++;
    return status_set(STATUS_WORKER, "wrong result: element %zu is %d instead of %d", at, got[at],
                      want[at]);
}

/* The first element carries the iteration's number through the GPU, so that an output left over
 * from an earlier iteration cannot pass for a new one. Where nothing comes in, the output of before
 * is spoilt instead. */
static void stamp(struct iteration *iteration)
{
    iteration->serial++;
    if (!copies_in(settings_of(iteration))) {
        iteration->host_out[0] = (int)~(unsigned)iteration->expected[0];
        return;
    }
    iteration->expected[0] = (int)((unsigned)iteration->expected[0] + iteration->serial -
                                   (unsigned)iteration->host_in[0]);
    iteration->host_in[0] = (int)iteration->serial;
}

/* Copies and kernels, up to the copy out or, in a graph, with it. */
static enum status issue(struct iteration *iteration, struct iteration_times *times)
{
    const struct shm_settings *settings = settings_of(iteration);
    if (settings->launch == LAUNCH_GRAPH) {
        enum status status = CUDA_CALL(&iteration->process->driver, graph_launch,
                                       iteration->graph.exec, iteration->stream);
        times->launch_ns = engine_lap(times);
        return status;
    }
    enum status status = copies_in(settings) ? copy_in(iteration) : STATUS_OK;
    if (status != STATUS_OK)
        return status;
    times->h2d_ns = engine_lap(times);
    status = launch_all(iteration, times);
    times->launch_ns = engine_lap(times);
    return status;
}

static enum status advance(void *work, struct iteration_times *times, struct engine_wait *wait)
{
    struct iteration *iteration = work;
    const struct shm_settings *settings = settings_of(iteration);
    bool graph = settings->launch == LAUNCH_GRAPH;
    bool pageable = !graph && settings->memory == MEMORY_PAGEABLE;
    bool sync_before_copy = pageable && settings->sync == SYNC_STREAM;
    const struct engine_wait stream = {.what = ENGINE_STREAM, .stream = iteration->stream};
    enum status status;
    switch (iteration->next) {
    case ITERATION_BEGIN:
        stamp(iteration);
        uint64_t now_ns = clock_now_ns();
        *times = (struct iteration_times){.begin_ns = now_ns, .end_ns = now_ns};
        status = issue(iteration, times);
        iteration->next = graph ? ITERATION_CHECK : ITERATION_COPY_OUT;
        if (status != STATUS_OK || graph || sync_before_copy) {
            *wait = stream;
            return status;
        }
        /* fallthrough */
    case ITERATION_COPY_OUT:
        status = copies_out(settings) ? copy_out(iteration) : STATUS_OK;
        times->d2h_ns = engine_lap(times);
        iteration->next = ITERATION_CHECK;
        /* A pageable copy out has ended when it returns. */
        if (status != STATUS_OK || !pageable || (!copies_out(settings) && !sync_before_copy)) {
            *wait = stream;
            return status;
        }
        /* fallthrough */
    default:
        iteration->next = ITERATION_BEGIN;
        if (!graph)
            sampling_adapt(&iteration->sampling, times->end_ns - times->begin_ns);
        return check_output(iteration);
    }
}

static void list_buffers(const void *work, struct engine_buffer out[ENGINE_BUFFERS])
{
    const struct iteration *iteration = work;
    size_t bytes = settings_of(iteration)->bytes;
    out[0] = (struct engine_buffer){iteration->host_in, bytes};
    out[1] = (struct engine_buffer){iteration->host_out, bytes};
}

static cuda_stream stream_of(const void *work)
{
    const struct iteration *iteration = work;
    return iteration->stream;
}

const struct engine builtin_engine = {.open = open_work,
                                      .advance = advance,
                                      .close = close_work,
                                      .stream = stream_of,
                                      .buffers = list_buffers};
