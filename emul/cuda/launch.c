/* Entry points for launches of kernels and host functions, and copies within the device. */
#include "emul/cuda/process.h"

#include <semaphore.h>
#include <time.h>

#include "common/clock.h"
#include "emul/cuda/copies.h"
#include "emul/cuda/deferred.h"
#include "emul/cuda/module.h"

#define THREADS_PER_BLOCK_MAX 1024

void process_burn(void)
{
    uint64_t cpu_ns = process_machine()->cpu_ns;
    struct timespec used;
    if (cpu_ns == 0)
        return;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    uint64_t until_ns = (uint64_t)used.tv_sec * NS_PER_S + (uint64_t)used.tv_nsec + cpu_ns;
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    while ((uint64_t)used.tv_sec * NS_PER_S + (uint64_t)used.tv_nsec < until_ns);
}

void process_end_launch(uint64_t now_ns)
{
    if (process_host_ns > now_ns + MODEL_AHEAD_NS)
        clock_sleep_until(process_host_ns);
}

void process_run_kernel(const struct kernel_call *kernel)
{
    if (!kernel_run(kernel, &process.device_memory))
        process_break(CUDA_ILLEGAL_ADDRESS);
}

/* -- launches that are timed one by one -------------------------------------------------------- */

/*
 * What a launch costs the host is modelled in the thread's own clock, and calls return earlier.
 * That does not show in the time of one call, so an empty kernel, which is only ever launched for
 * that time, keeps its caller awake for so long, in the order of arrival where others launch, too.
 * It is this many times what is modelled, so that it is far more than what the emulation itself
 * costs.
 */
#define TIMED_FACTOR 4

/* Of a launch beside a copy of another thread, in tenths; as measured: 4.5 and 3.6 us for 3.0. */
#define TENTHS_ALONE 10
#define TENTHS_BESIDE_PINNED 12
#define TENTHS_BESIDE_PAGEABLE 15

/* A lock in the order of arrival, for at most so many threads. Each place opens the next. */
#define TURNS 1024
static sem_t turns[TURNS];
static _Atomic unsigned next_turn;
static pthread_once_t turns_once = PTHREAD_ONCE_INIT;

static void make_turns(void)
{
    for (unsigned i = 0; i < TURNS; i++)
        sem_init(&turns[i], 0, i == 0);
}

static uint64_t timed_cost_ns(void)
{
    uint64_t tenths = TENTHS_ALONE;
    if (process_has(EFFECT_LAUNCH_DELAY)) {
        enum copies_beside beside = copies_beside();
        if (beside != COPIES_NONE)
            tenths = beside == COPIES_PAGEABLE ? TENTHS_BESIDE_PAGEABLE : TENTHS_BESIDE_PINNED;
    }
    return process_machine()->launch_ns * TIMED_FACTOR * tenths / 10;
}

struct timed_launch {
    unsigned turn;
    uint64_t until_ns; /* 0: it is not timed */
};

static struct timed_launch begin_timed(enum kernel kernel)
{
    struct timed_launch timed = {0, 0};
    if (kernel != KERNEL_EMPTY)
        return timed;
    if (process_has(EFFECT_LAUNCH_CONTENTION)) {
        pthread_once(&turns_once, make_turns);
        timed.turn = atomic_fetch_add(&next_turn, 1) % TURNS;
        while (sem_wait(&turns[timed.turn]) != 0) {
        }
    }
    timed.until_ns = clock_now_ns() + timed_cost_ns();
    return timed;
}

static void end_timed(const struct timed_launch *timed)
{
    if (timed->until_ns == 0)
        return;
    while (clock_now_ns() < timed->until_ns) {
    }
    if (process_has(EFFECT_LAUNCH_CONTENTION))
        sem_post(&turns[(timed->turn + 1) % TURNS]);
}

/* -- kernels ----------------------------------------------------------------------------------- */

static void perform(cuda_stream stream, const struct operation *operation)
{
    const struct kernel_call *kernel = &operation->call.kernel;
    struct model_work work = kernel_cost(process_machine(), kernel, false);
    process_run_kernel(kernel);
    struct model *model = process_lock_model(stream->context);
    stream_begin_work(stream);
    uint64_t now = clock_now_ns();
    struct model_place place = {0};
    activity_watch(&stream->context->model, &place, 1);
    model_place_launch(model, &stream->context->model, &stream->model, now, now, &work);
    activity_watch(&stream->context->model, NULL, 0);
    stream_end_work(stream);
    emul_state_unlock(process.state);
    activity_kernel(kernel, stream, &place);
}

/* The host's side of a launch whose time on the GPU is found later. */
static cuda_result defer(const struct operation *operation, cuda_stream stream)
{
    struct model *model = process_lock_model(stream->context);
    uint64_t now = clock_now_ns();
    model_pay_launch(model, &stream->context->model, now, &process_host_ns,
                     model->machine.launch_ns);
    emul_state_unlock(process.state);
    cuda_result result = deferred_put(stream, operation);
    process_end_launch(now);
    return result;
}

static cuda_result issue(const struct kernel_call *kernel, cuda_stream stream)
{
    process_burn();
    if (deferred_is_needed(stream))
        return defer(&(struct operation){.perform = perform, .call.kernel = *kernel}, stream);

    process_run_kernel(kernel);
    struct model_work work = kernel_cost(process_machine(), kernel, false);
    struct model *model = process_lock_model(stream->context);
    stream_begin_work(stream);
    uint64_t now = clock_now_ns();
    struct model_place place = {0};
    activity_watch(&stream->context->model, &place, 1);
    model_issue_launch(model, &stream->context->model, &stream->model, now, &process_host_ns,
                       &work);
    activity_watch(&stream->context->model, NULL, 0);
    stream_end_work(stream);
    emul_state_unlock(process.state);
    activity_kernel(kernel, stream, &place);
    process_end_launch(now);
    return CUDA_SUCCESS_;
}

cuda_result launch_issue(const struct kernel_call *kernel, cuda_stream stream)
{
    if (stream->capture != NULL)
        return graph_add_kernel(stream->capture, kernel);
    copies_wait_launch();
    const struct timed_launch timed = begin_timed(kernel->kernel);
    cuda_result result = issue(kernel, stream);
    end_timed(&timed);
    return result;
}

/* Within the device, what moves the bytes is a kernel of the driver's. */
cuda_result cuMemcpyDtoDAsync_v2(cuda_device_pointer to, cuda_device_pointer from, size_t bytes,
                                 cuda_stream stream)
{
    cuda_result result = process_enter(ENTRY_memcpy_dtod_async, NEED_CONTEXT, NULL);
    if (result != CUDA_SUCCESS_)
        return result;
    void *there = (void *)(uintptr_t)to;
    const void *here = (const void *)(uintptr_t)from;
    return peer_copy(there, memory_list_owner(&process.device_memory, there, bytes), here,
                     memory_list_owner(&process.device_memory, here, bytes), bytes, stream);
}

cuda_result cuLaunchKernel(cuda_function function, unsigned int grid_x, unsigned int grid_y,
                           unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                           unsigned int block_z, unsigned int shared_bytes, cuda_stream stream,
                           void **parameters, void **extra)
{
    (void)shared_bytes;
    cuda_result result = process_enter(ENTRY_launch_kernel, NEED_CONTEXT, NULL);
    if (result != CUDA_SUCCESS_)
        return result;
    if (function == NULL || function->context->base != process_current->base)
        return CUDA_INVALID_HANDLE;
    if (extra != NULL)
        return CUDA_NOT_SUPPORTED;
    uint64_t threads = (uint64_t)block_x * block_y * block_z;
    uint64_t blocks = (uint64_t)grid_x * grid_y * grid_z;
    bool has_arguments = parameters != NULL || kernel_arguments(function->kernel) == 0;
    if (!has_arguments || blocks == 0 || threads == 0 || threads > THREADS_PER_BLOCK_MAX)
        return CUDA_INVALID_VALUE;
    result = stream_take(&stream);
    if (result != CUDA_SUCCESS_)
        return result;

    struct kernel_call kernel = {function->kernel, (uint32_t)threads, blocks, {{0}}};
    kernel_read_arguments(&kernel, parameters);
    function_load(function);
    return kernel.kernel == KERNEL_HOLD ? hold_issue(&kernel, stream)
                                        : launch_issue(&kernel, stream);
}

/* -- host functions ---------------------------------------------------------------------------- */

/* One at a time in a process, as the driver has one thread for them. */
static pthread_mutex_t host_functions = PTHREAD_MUTEX_INITIALIZER;

static void perform_host(cuda_stream stream, const struct operation *operation)
{
    emul_state_lock(process.state);
    stream_begin_work(stream);
    uint64_t end = stream->model.end_ns;
    emul_state_unlock(process.state);
    /* After an error the driver does not call them any more. */
    if (process_sleep_until(end) != CUDA_SUCCESS_)
        return;
    pthread_mutex_lock(&host_functions);
    process_in_host_function = true;
    operation->call.host.function(operation->call.host.argument);
    process_in_host_function = false;
    pthread_mutex_unlock(&host_functions);

    struct model *model = process_lock_model(stream->context);
    model_place_direct(model, &stream->context->model, &stream->model, clock_now_ns(), 0);
    stream_end_work(stream);
    emul_state_unlock(process.state);
}

cuda_result cuLaunchHostFunc(cuda_stream stream, cuda_host_function function, void *argument)
{
    cuda_result result = process_enter(ENTRY_launch_host_func, NEED_CONTEXT, NULL);
    if (result != CUDA_SUCCESS_)
        return result;
    if (function == NULL)
        return CUDA_INVALID_VALUE;
    result = stream_take(&stream);
    if (result != CUDA_SUCCESS_)
        return result;
    if (stream->capture != NULL)
        return CUDA_STREAM_CAPTURE_UNSUPPORTED;
    copies_wait_launch();
    deferred_is_needed(stream);
    return deferred_put(
        stream, &(struct operation){.perform = perform_host, .call.host = {function, argument}});
}
