#include "worker/engines/process.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/process_tree.h"
#include "device/context.h"
#include "device/device.h"
#include "worker/engines/memory.h"

static void notify_orchestrator(const struct worker_process *process)
{
    const uint64_t one = 1;
    /* The counter cannot overflow, and a vanished orchestrator is noticed through its pipe. */
    if (write(process->event_fd, &one, sizeof one) < 0)
        return;
}

void worker_set_state(const struct worker_process *process, struct shm_slot *slot,
                      enum shm_state state)
{
    atomic_store_explicit(&slot->state, (uint32_t)state, memory_order_release);
    notify_orchestrator(process);
}

void worker_process_park(const struct worker_process *process, uint32_t finished)
{
    atomic_store_explicit(&shm_process_at(&process->shm, process->index)->parked, finished,
                          memory_order_release);
    notify_orchestrator(process);
}

/* The right GPU, over MPS or not, as the driver sees it now. */
static enum status prove_device(const struct worker_process *process)
{
    const struct shm_settings *settings = &process->shm.header->settings;
    struct shm_process *record = shm_process_at(&process->shm, process->index);
    struct device_info info;
    enum status status = device_query(&process->driver, (int)settings->device, &info);
    if (status != STATUS_OK)
        return status;
    atomic_store(&record->mps, info.mps_enabled);
    return device_prove(&info, record->device_uuid, settings->with_mps);
}

/* What the context was given. */
static enum status publish_shares(const struct worker_process *process)
{
    struct shm_process *record = shm_process_at(&process->shm, process->index);
    int sms;
    size_t memory_free;
    enum status status = context_shares(&process->driver, process->device, &sms, &memory_free);
    if (status != STATUS_OK)
        return status;
    atomic_store(&record->sms, sms);
    atomic_store(&record->memory_free, memory_free);
    return STATUS_OK;
}

/* How its threads wait for the GPU: a context that is in use takes another way, too. */
static enum status set_schedule(const struct worker_process *process)
{
    const struct cuda_driver *driver = &process->driver;
    return CUDA_CALL(driver, primary_ctx_set_flags, process->device,
                     worker_context_flags(process->shm.header->settings.schedule));
}

enum status worker_process_attach(struct worker_process *process, int shm)
{
    enum status status = shm_attach(shm, &process->shm);
    if (status == STATUS_OK && process->index >= process->shm.header->processes)
        return status_set(STATUS_PROTOCOL, "no such process in the shared memory");
    return status;
}

enum status worker_process_open(struct worker_process *process, const char *driver_path)
{
    struct cuda_driver *driver = &process->driver;
    const struct shm_settings *settings = &process->shm.header->settings;
    enum status status = cuda_driver_load(driver_path, driver);
    if (status != STATUS_OK)
        return status;
    status = context_init_driver(driver);
    if (status == STATUS_OK)
        status = CUDA_CALL(driver, device_get, &process->device, (int)settings->device);
    if (status == STATUS_OK)
        status = prove_device(process);
    if (status == STATUS_OK)
        status = set_schedule(process);
    if (status == STATUS_OK)
        status = context_retain(driver, process->device, &process->context.handle);
    if (status == STATUS_OK)
        status = CUDA_CALL(driver, ctx_set_current, process->context.handle);
    if (status == STATUS_OK)
        status = publish_shares(process);
    return status == STATUS_OK ? worker_context_load(driver, &process->context) : status;
}

enum status worker_process_renew(struct worker_process *process)
{
    struct shm_process *record = shm_process_at(&process->shm, process->index);
    if (work_mask_any(record->cpus, WORK_CPUS))
        process_bind_threads(getpid(), record->cpus, sizeof record->cpus);
    /* What the driver's own threads have of it, they keep: it cannot be changed from outside. */
    worker_memory_policy(record);
    enum status status = prove_device(process);
    if (status == STATUS_OK)
        status = set_schedule(process);
    return status == STATUS_OK ? publish_shares(process) : status;
}

/* What a thread's own context was given. */
static enum status add_shares(const struct worker_process *process)
{
    struct shm_process *record = shm_process_at(&process->shm, process->index);
    int sms;
    size_t memory_free;
    enum status status = context_shares(&process->driver, process->device, &sms, &memory_free);
    if (status != STATUS_OK)
        return status;
    int32_t most = atomic_load(&record->sms);
    while (sms > most && !atomic_compare_exchange_weak(&record->sms, &most, sms))
        ;
    uint64_t least = atomic_load(&record->memory_free);
    while (memory_free < least &&
           !atomic_compare_exchange_weak(&record->memory_free, &least, memory_free))
        ;
    return STATUS_OK;
}

enum status worker_process_enter(const struct worker_process *process, struct worker_context *own,
                                 const struct worker_context **out)
{
    const struct cuda_driver *driver = &process->driver;
    const struct shm_settings *settings = &process->shm.header->settings;
    *out = &process->context;
    if (settings->contexts == CONTEXTS_SHARED)
        return CUDA_CALL(driver, ctx_set_current, process->context.handle);
    *out = own;
    enum status status = worker_context_open(driver, process->device, settings->schedule, own);
    return status == STATUS_OK ? add_shares(process) : status;
}

void worker_process_close(struct worker_process *process)
{
    struct cuda_driver *driver = &process->driver;
    free(process->parts);
    /* Results are published already, and the process ends next: errors here change nothing. */
    if (process->context.module)
        driver->module_unload(process->context.module);
    if (process->context.handle)
        driver->primary_ctx_release(process->device);
    cuda_driver_release(driver);
}

enum status worker_synchronize(const struct worker_process *process, cuda_stream stream)
{
    return CUDA_CALL(&process->driver, stream_synchronize, stream);
}

enum status worker_graph_begin(const struct worker_process *process, cuda_stream stream)
{
    return CUDA_CALL(&process->driver, stream_begin_capture, stream,
                     CUDA_CAPTURE_MODE_THREAD_LOCAL);
}

enum status worker_graph_end(const struct worker_process *process, cuda_stream stream,
                             enum status captured, struct worker_graph *graph)
{
    cuda_result ended = process->driver.stream_end_capture(stream, &graph->graph);
    if (captured == STATUS_OK)
        captured = cuda_check(&process->driver, ended, "cuStreamEndCapture");
    return captured == STATUS_OK ? worker_graph_instantiate(process, stream, graph) : captured;
}

enum status worker_graph_instantiate(const struct worker_process *process, cuda_stream stream,
                                     struct worker_graph *graph)
{
    const struct cuda_driver *driver = &process->driver;
    enum status status = CUDA_CALL(driver, graph_instantiate, &graph->exec, graph->graph, 0);
    if (status == STATUS_OK && driver->graph_upload)
        status = CUDA_CALL(driver, graph_upload, graph->exec, stream);
    return status;
}

void worker_graph_free(const struct worker_process *process, struct worker_graph *graph)
{
    if (graph->exec)
        process->driver.graph_exec_destroy(graph->exec);
    if (graph->graph)
        process->driver.graph_destroy(graph->graph);
    *graph = (struct worker_graph){0};
}
