/* Entry points for memory, modules, streams, copies and launches. */
#include "emul/process.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"

#define THREADS_PER_BLOCK_MAX 1024

struct cuda_module_opaque {
    int unused;
};

struct cuda_function_opaque {
    enum kernel kernel;
};

/* A function's handle outlives its module, which holds nothing. */
static struct cuda_function_opaque functions[KERNEL_COUNT] = {
    {KERNEL_ADD_CONSTANT}, {KERNEL_DELAY}, {KERNEL_COMPUTE}, {KERNEL_STREAM}, {KERNEL_COPY},
};

/* -- memory ------------------------------------------------------------------------------------ */

cuda_result cuMemAlloc_v2(cuda_device_pointer *pointer, size_t bytes)
{
    cuda_result result = process_enter(ENTRY_mem_alloc, NEED_CONTEXT, NULL);
    if (result != CUDA_SUCCESS_)
        return result;
    if (pointer == NULL || bytes == 0)
        return CUDA_INVALID_VALUE;

    struct model *model = emul_state_lock(process.state);
    bool taken = model_memory_take(model, &process.model, bytes);
    emul_state_unlock(process.state);
    if (!taken)
        return CUDA_OUT_OF_MEMORY;
    void *block = memory_list_new(&process.device_memory, bytes);
    if (block == NULL) {
        model = emul_state_lock(process.state);
        model_memory_give(model, &process.model, bytes);
        emul_state_unlock(process.state);
        return CUDA_OUT_OF_MEMORY;
    }
    *pointer = (uintptr_t)block;
    return CUDA_SUCCESS_;
}

cuda_result cuMemFree_v2(cuda_device_pointer pointer)
{
    uint64_t bytes;
    cuda_result result = process_enter(ENTRY_mem_free, NEED_CONTEXT, NULL);
    if (result != CUDA_SUCCESS_ || pointer == 0)
        return result;
    if (!memory_list_free(&process.device_memory, (void *)(uintptr_t)pointer, &bytes))
        return CUDA_INVALID_VALUE;
    struct model *model = emul_state_lock(process.state);
    model_memory_give(model, &process.model, bytes);
    emul_state_unlock(process.state);
    return CUDA_SUCCESS_;
}

cuda_result cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes)
{
    cuda_result result = process_enter(ENTRY_mem_get_info, NEED_CONTEXT, NULL);
    if (result != CUDA_SUCCESS_)
        return result;
    if (free_bytes == NULL || total_bytes == NULL)
        return CUDA_INVALID_VALUE;
    const struct model *model = emul_state_lock(process.state);
    *free_bytes = model_memory_left(model, &process.model);
    emul_state_unlock(process.state);
    *total_bytes = MODEL_MEMORY_BYTES;
    return CUDA_SUCCESS_;
}

cuda_result cuMemHostAlloc(void **pointer, size_t bytes, unsigned int flags)
{
    (void)flags;
    cuda_result result = process_enter(ENTRY_mem_host_alloc, NEED_CONTEXT, NULL);
    if (result != CUDA_SUCCESS_)
        return result;
    if (pointer == NULL || bytes == 0)
        return CUDA_INVALID_VALUE;
    void *block = memory_list_new(&process.host_memory, bytes);
    if (block == NULL)
        return CUDA_OUT_OF_MEMORY;
    *pointer = block;
    return CUDA_SUCCESS_;
}

cuda_result cuMemFreeHost(void *pointer)
{
    uint64_t bytes;
    cuda_result result = process_enter(ENTRY_mem_free_host, NEED_CONTEXT, NULL);
    if (result != CUDA_SUCCESS_ || pointer == NULL)
        return result;
    return memory_list_free(&process.host_memory, pointer, &bytes) ? CUDA_SUCCESS_
                                                                   : CUDA_INVALID_VALUE;
}

/* -- modules ----------------------------------------------------------------------------------- */

cuda_result cuModuleLoadData(cuda_module *module, const void *image)
{
    cuda_result result = process_enter(ENTRY_module_load_data, NEED_CONTEXT, NULL);
    if (result != CUDA_SUCCESS_)
        return result;
    if (module == NULL || image == NULL)
        return CUDA_INVALID_VALUE;
    cuda_module made = calloc(1, sizeof *made);
    if (made == NULL)
        return CUDA_OUT_OF_MEMORY;
    *module = made;
    return CUDA_SUCCESS_;
}

cuda_result cuModuleGetFunction(cuda_function *function, cuda_module module, const char *name)
{
    enum kernel kernel;
    cuda_result result = process_enter(ENTRY_module_get_function, NEED_CONTEXT, NULL);
    if (result != CUDA_SUCCESS_)
        return result;
    if (module == NULL)
        return CUDA_INVALID_HANDLE;
    if (function == NULL || name == NULL)
        return CUDA_INVALID_VALUE;
    if (!kernel_find(name, &kernel))
        return CUDA_NOT_FOUND;
    *function = &functions[kernel];
    return CUDA_SUCCESS_;
}

cuda_result cuModuleUnload(cuda_module module)
{
    cuda_result result = process_enter(ENTRY_module_unload, NEED_CONTEXT, NULL);
    if (result != CUDA_SUCCESS_)
        return result;
    if (module == NULL)
        return CUDA_INVALID_HANDLE;
    free(module);
    return CUDA_SUCCESS_;
}

/* -- streams ----------------------------------------------------------------------------------- */

cuda_stream process_stream(cuda_stream stream)
{
    return stream != NULL ? stream : &process.default_stream;
}

cuda_result cuStreamCreate(cuda_stream *stream, unsigned int flags)
{
    cuda_result result = process_enter(ENTRY_stream_create, NEED_CONTEXT, NULL);
    if (result != CUDA_SUCCESS_)
        return result;
    if (stream == NULL || (flags & ~(unsigned)CUDA_STREAM_NON_BLOCKING) != 0)
        return CUDA_INVALID_VALUE;
    cuda_stream made = calloc(1, sizeof *made);
    if (made == NULL)
        return CUDA_OUT_OF_MEMORY;
    emul_state_lock(process.state);
    model_stream_init(&process.model, &made->model);
    emul_state_unlock(process.state);
    *stream = made;
    return CUDA_SUCCESS_;
}

cuda_result cuStreamDestroy_v2(cuda_stream stream)
{
    cuda_result result = process_enter(ENTRY_stream_destroy, NEED_CONTEXT, NULL);
    if (result != CUDA_SUCCESS_ && !process_is_breakage(result))
        return result;
    if (stream == NULL)
        return CUDA_INVALID_HANDLE;
    free(stream);
    return result;
}

/* Sleeps until the work is done and the thread's own time has come. */
static cuda_result wait_until(uint64_t end_ns)
{
    return process_sleep_until(end_ns > process_host_ns ? end_ns : process_host_ns);
}

cuda_result cuStreamSynchronize(cuda_stream stream)
{
    cuda_result result = process_enter(ENTRY_stream_synchronize, NEED_CONTEXT, NULL);
    if (result != CUDA_SUCCESS_)
        return result;
    stream = process_stream(stream);
    if (stream->capture != NULL)
        return CUDA_STREAM_CAPTURE_UNSUPPORTED;
    process_burn();
    emul_state_lock(process.state);
    uint64_t end = stream->model.end_ns;
    emul_state_unlock(process.state);
    return wait_until(end);
}

cuda_result cuCtxSynchronize(void)
{
    cuda_result result = process_enter(ENTRY_ctx_synchronize, NEED_CONTEXT, NULL);
    if (result != CUDA_SUCCESS_)
        return result;
    emul_state_lock(process.state);
    uint64_t end = process.model.end_ns;
    emul_state_unlock(process.state);
    return wait_until(end);
}

/* -- copies ------------------------------------------------------------------------------------ */

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

static cuda_result issue_copy(const struct copy_call *copy, cuda_stream stream, bool corrupt)
{
    if (copy->to == NULL || copy->from == NULL)
        return CUDA_INVALID_VALUE;
    stream = process_stream(stream);
    if (stream->capture != NULL)
        return graph_add_copy(stream->capture, copy);

    cuda_result result = copy_run(copy, corrupt);
    if (result != CUDA_SUCCESS_)
        return result;
    const void *on_host = copy->direction == MODEL_TO_DEVICE ? copy->from : copy->to;
    bool pageable = !memory_list_holds(&process.host_memory, on_host, copy->bytes);
    struct model_work work =
        model_copy(&process.state->model.machine, copy->direction, copy->bytes, pageable);

    process_burn();
    struct model *model = emul_state_lock(process.state);
    uint64_t now = clock_now_ns(), end;
    if (pageable)
        end = model_issue_pageable(model, &process.model, &stream->model, now, &process_host_ns,
                                   &work);
    else
        end = model_issue_copy(model, &process.model, &stream->model, now, &process_host_ns, &work);
    emul_state_unlock(process.state);
    return pageable ? wait_until(end) : CUDA_SUCCESS_;
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

/* -- launches ---------------------------------------------------------------------------------- */

void process_burn(void)
{
    uint64_t cpu_ns = process.state->model.machine.cpu_ns;
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

static cuda_result issue_kernel(const struct kernel_call *kernel, cuda_stream stream)
{
    stream = process_stream(stream);
    if (stream->capture != NULL)
        return graph_add_kernel(stream->capture, kernel);

    process_run_kernel(kernel);
    struct model_work work = kernel_cost(&process.state->model.machine, kernel, false);
    process_burn();
    struct model *model = emul_state_lock(process.state);
    uint64_t now = clock_now_ns();
    model_issue_launch(model, &process.model, &stream->model, now, &process_host_ns, &work);
    emul_state_unlock(process.state);
    process_end_launch(now);
    return CUDA_SUCCESS_;
}

/* Within the device, what moves the bytes is a kernel of the driver's. */
cuda_result cuMemcpyDtoDAsync_v2(cuda_device_pointer to, cuda_device_pointer from, size_t bytes,
                                 cuda_stream stream)
{
    cuda_result result = process_enter(ENTRY_memcpy_dtod_async, NEED_CONTEXT, NULL);
    if (result != CUDA_SUCCESS_)
        return result;
    const struct kernel_call copy = {
        .kernel = KERNEL_COPY,
        .threads = 1,
        .blocks = 1,
        .arguments.copy = {(const void *)(uintptr_t)from, (void *)(uintptr_t)to, bytes},
    };
    if (!memory_list_holds(&process.device_memory, copy.arguments.copy.source, bytes) ||
        !memory_list_holds(&process.device_memory, copy.arguments.copy.destination, bytes))
        return CUDA_INVALID_VALUE;
    return issue_kernel(&copy, stream);
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
    if (function == NULL)
        return CUDA_INVALID_HANDLE;
    if (extra != NULL)
        return CUDA_NOT_SUPPORTED;
    uint64_t threads = (uint64_t)block_x * block_y * block_z;
    uint64_t blocks = (uint64_t)grid_x * grid_y * grid_z;
    if (parameters == NULL || blocks == 0 || threads == 0 || threads > THREADS_PER_BLOCK_MAX)
        return CUDA_INVALID_VALUE;

    struct kernel_call kernel = {function->kernel, (uint32_t)threads, blocks, {{0}}};
    kernel_read_arguments(&kernel, parameters);
    return issue_kernel(&kernel, stream);
}
