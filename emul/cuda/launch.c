/* Entry points for modules, and for launches of kernels and host functions. */
#include "emul/cuda/entries.h"

#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "emul/cuda/copies.h"
#include "emul/cuda/deferred.h"
#include "emul/cuda/issue.h"

#define THREADS_PER_BLOCK_MAX 1024

/* Bytes of shared memory of a block, unless its function was allowed more. */
#define SHARED_ALWAYS (48 * 1024)

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

/* A lock in the order of arrival, for at most TURNS threads. Each place opens the next. */
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

static cuda_result perform(cuda_stream stream, const struct operation *operation, uint64_t *host_ns)
{
    const struct kernel_call *kernel = &operation->call.kernel;
    struct model_work work = kernel_cost(process_machine(), kernel, false);
    process_run_kernel(kernel);
    struct model_place place = {0};
    struct model_issue at = issue_begin(stream, stream->context, host_ns, &place, 1);
    model_issue_launch(&at, &work);
    issue_end(stream, &at);
    activity_kernel(kernel, stream, &place);
    process_end_launch(at.now_ns);
    return CUDA_SUCCESS_;
}

cuda_result launch_issue(const struct kernel_call *kernel, cuda_stream stream)
{
    if (stream->capture != NULL)
        return graph_add_kernel(stream->capture, kernel);
    copies_wait_launch();
    const struct timed_launch timed = begin_timed(kernel->kernel);
    process_burn();
    const struct operation launch = {.perform = perform, .call.kernel = *kernel};
    cuda_result result = operation_issue_launch(stream, &launch, process_machine()->launch_ns);
    end_timed(&timed);
    return result;
}

/* -- a kernel that stays on the GPU until a flag is set, or a time has passed ------------------ */

/* How often the flag is looked at. */
#define LOOK_NS (20 * NS_PER_US)

static unsigned running[EMUL_DEVICES_MAX]; /* under the deferred mutex */

void hold_wait_idle(cuda_device device)
{
    deferred_lock();
    while (running[device] > 0)
        deferred_sleep();
    deferred_unlock();
}

static void count(cuda_device device, bool begins)
{
    deferred_lock();
    if (begins)
        running[device]++;
    else
        running[device]--;
    deferred_notify();
    deferred_unlock();
}

/* Either kind of memory will do, as on a GPU. */
static bool holds(const volatile void *start, uint64_t bytes)
{
    const void *plain = (const void *)(uintptr_t)start;
    return memory_list_holds(&process.host_memory, plain, bytes) ||
           memory_list_holds(&process.device_memory, plain, bytes);
}

static bool is_set(const volatile unsigned *flag)
{
    return __atomic_load_n(flag, __ATOMIC_ACQUIRE) != 0;
}

/* What a program may look at while the kernel runs. */
static void tell(unsigned long long *out, unsigned long long what)
{
    if (out != NULL)
        __atomic_store_n(&out[1], what, __ATOMIC_RELEASE);
}

static cuda_result perform_hold(cuda_stream stream, const struct operation *operation,
                                uint64_t *host_ns)
{
    const struct kernel_call *kernel = &operation->call.kernel;
    const volatile unsigned *flag = kernel->arguments.hold.flag;
    uint64_t bound_ns = kernel->arguments.hold.bound_ns;
    unsigned long long *out = kernel->arguments.hold.out;
    cuda_context context = stream->context;

    if (!holds(flag, sizeof *flag) || (out != NULL && !holds(out, 2 * sizeof *out)))
        return CUDA_ILLEGAL_ADDRESS;
    struct model_issue at = issue_begin(stream, context, host_ns, NULL, 0);
    uint64_t begin = model_hold_begin(&at);
    issue_end(stream, &at);
    cuda_result broken = process_sleep_until(begin);
    count(context->device, true);
    tell(out, 2);

    bool seen = is_set(flag);
    uint64_t now = clock_now_ns();
    while (!seen && broken == CUDA_SUCCESS_ && now - begin < bound_ns) {
        broken = process_sleep_until(now + LOOK_NS);
        seen = is_set(flag);
        now = clock_now_ns();
    }
    if (out != NULL) {
        out[0] = now - begin;
        tell(out, seen);
    }
    at = issue_begin(stream, context, host_ns, NULL, 0);
    at.now_ns = now;
    model_hold_end(&at);
    issue_end(stream, &at);
    count(context->device, false);
    return CUDA_SUCCESS_;
}

static cuda_result hold_issue(const struct kernel_call *kernel, cuda_stream stream)
{
    if (stream->capture != NULL)
        return CUDA_STREAM_CAPTURE_UNSUPPORTED;
    copies_wait_launch();
    process_burn();
    deferred_is_needed(stream);
    const struct operation hold = {.perform = perform_hold, .call.kernel = *kernel};
    return deferred_put_launch(stream, &hold, process_machine()->launch_ns);
}

/* -- modules: their kernels are known by name, whatever the image holds ------------------------ */

struct cuda_function_opaque {
    enum kernel kernel;
    cuda_context context; /* that its module was loaded in */
    _Atomic bool is_loaded;
    _Atomic uint32_t shared_most;
};

struct cuda_module_opaque {
    struct cuda_function_opaque functions[KERNEL_COUNT];
};

static bool is_lazy(void)
{
    const char *mode = getenv("CUDA_MODULE_LOADING");
    return mode == NULL || strcmp(mode, "EAGER") != 0;
}

cuda_result cuModuleGetLoadingMode(cuda_loading_mode *mode)
{
    ENTER_IF_VALID(module_get_loading_mode, NEED_INIT, mode != NULL);
    *mode = is_lazy() ? CUDA_LOADING_LAZY : CUDA_LOADING_EAGER;
    return CUDA_SUCCESS_;
}

cuda_result cuModuleLoadData(cuda_module *module, const void *image)
{
    ENTER_IF_VALID(module_load_data, NEED_CONTEXT, module != NULL && image != NULL);
    cuda_module made = calloc(1, sizeof *made);
    if (made == NULL)
        return CUDA_OUT_OF_MEMORY;
    for (int i = 0; i < KERNEL_COUNT; i++) {
        made->functions[i].kernel = (enum kernel)i;
        made->functions[i].context = process_current;
        atomic_store(&made->functions[i].is_loaded, !is_lazy());
    }
    *module = made;
    return CUDA_SUCCESS_;
}

cuda_result cuModuleGetFunction(cuda_function *function, cuda_module module, const char *name)
{
    enum kernel kernel;
    ENTER_OR_RETURN(module_get_function, NEED_CONTEXT);
    if (module == NULL)
        return CUDA_INVALID_HANDLE;
    if (function == NULL || name == NULL)
        return CUDA_INVALID_VALUE;
    if (!kernel_find(name, &kernel))
        return CUDA_NOT_FOUND;
    *function = &module->functions[kernel];
    return CUDA_SUCCESS_;
}

cuda_result cuFuncSetAttribute(cuda_function function, cuda_function_attribute attribute, int value)
{
    ENTER_OR_RETURN(func_set_attribute, NEED_CONTEXT);
    if (function == NULL)
        return CUDA_INVALID_HANDLE;
    if (attribute != CUDA_FUNCTION_DYNAMIC_SHARED)
        return CUDA_NOT_SUPPORTED;
    if (value < 0 || value > process_shared_most())
        return CUDA_INVALID_VALUE;
    atomic_store(&function->shared_most, (uint32_t)value);
    return CUDA_SUCCESS_;
}

/* Not in the table of device/cuda_abi.h: observers call it. */
__attribute__((visibility("default"))) cuda_result cuFuncGetName(const char **name,
                                                                 cuda_function function);
cuda_result cuFuncGetName(const char **name, cuda_function function)
{
    if (name == NULL)
        return CUDA_INVALID_VALUE;
    if (function == NULL)
        return CUDA_INVALID_HANDLE;
    *name = kernel_name(function->kernel);
    return CUDA_SUCCESS_;
}

cuda_result cuModuleUnload(cuda_module module)
{
    ENTER_OR_RETURN(module_unload, NEED_CONTEXT);
    if (module == NULL)
        return CUDA_INVALID_HANDLE;
    free(module);
    return CUDA_SUCCESS_;
}

/* Loads a function if that has been put off until its first launch, which waits for the copies of
 * other threads that are under way (the effect lazy-load). */
static void function_load(cuda_function function)
{
    if (atomic_load(&function->is_loaded))
        return;
    if (process_has(EFFECT_LAZY_LOAD))
        copies_wait_others();
    atomic_store(&function->is_loaded, true);
}

/* -- launches of a program's kernels ----------------------------------------------------------- */

cuda_result cuLaunchKernel(cuda_function function, unsigned int grid_x, unsigned int grid_y,
                           unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                           unsigned int block_z, unsigned int shared_bytes, cuda_stream stream,
                           void **parameters, void **extra)
{
    ENTER_OR_RETURN(launch_kernel, NEED_CONTEXT);
    if (function == NULL || function->context->base != process_current->base)
        return CUDA_INVALID_HANDLE;
    if (extra != NULL)
        return CUDA_NOT_SUPPORTED;
    uint64_t threads = (uint64_t)block_x * block_y * block_z;
    uint64_t blocks = (uint64_t)grid_x * grid_y * grid_z;
    bool has_arguments = parameters != NULL || kernel_arguments(function->kernel) == 0;
    if (!has_arguments || blocks == 0 || threads == 0 || threads > THREADS_PER_BLOCK_MAX)
        return CUDA_INVALID_VALUE;
    if (shared_bytes > SHARED_ALWAYS && shared_bytes > atomic_load(&function->shared_most))
        return CUDA_INVALID_VALUE;
    result = stream_find(&stream, STREAM_FOR_WORK);
    if (result != CUDA_SUCCESS_)
        return result;

    struct kernel_call kernel = {function->kernel, (uint32_t)threads, blocks, {{0}}};
    kernel_read_arguments(&kernel, parameters);
    if (kernel.kernel == KERNEL_LOCATE)
        kernel.arguments.locate.multiprocessors = stream->context->multiprocessors;
    function_load(function);
    return kernel.kernel == KERNEL_HOLD ? hold_issue(&kernel, stream)
                                        : launch_issue(&kernel, stream);
}

/* -- host functions ---------------------------------------------------------------------------- */

/* One at a time in a process, as the driver has one thread for them. */
static pthread_mutex_t host_functions = PTHREAD_MUTEX_INITIALIZER;

static cuda_result perform_host(cuda_stream stream, const struct operation *operation,
                                uint64_t *host_ns)
{
    uint64_t end = issue_ordered_end(stream);
    /* After an error the driver does not call them any more. */
    if (process_sleep_until(end) != CUDA_SUCCESS_)
        return CUDA_SUCCESS_;
    pthread_mutex_lock(&host_functions);
    process_in_host_function = true;
    operation->call.host.function(operation->call.host.argument);
    process_in_host_function = false;
    pthread_mutex_unlock(&host_functions);

    struct model_issue at = issue_begin(stream, stream->context, host_ns, NULL, 0);
    model_issue_direct(&at, 0);
    issue_end(stream, &at);
    return CUDA_SUCCESS_;
}

cuda_result cuLaunchHostFunc(cuda_stream stream, cuda_host_function function, void *argument)
{
    ENTER_IF_VALID(launch_host_func, NEED_CONTEXT, function != NULL);
    result = stream_find(&stream, STREAM_FOR_WORK | STREAM_NOT_CAPTURED);
    if (result != CUDA_SUCCESS_)
        return result;
    copies_wait_launch();
    deferred_is_needed(stream);
    return deferred_put(
        stream, &(struct operation){.perform = perform_host, .call.host = {function, argument}});
}
