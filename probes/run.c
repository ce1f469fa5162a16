#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/context.h"
#include "device/device.h"
#include "kernels/image.h"
#include "probes/probe.h"

enum status probe_module_load(const struct probe_run *run, cuda_module *out)
{
    return context_load_module(&run->driver, kernels_image(NULL), kernels_ptx(NULL), out);
}

enum status probe_set_current(const struct probe_run *run, cuda_context context)
{
    return PROBE_CALL(run, ctx_set_current, context);
}

enum status probe_cycles(const struct probe_run *run, uint64_t ns, unsigned long long *out)
{
    struct device_info info;
    enum status status = device_query(&run->driver, 0, &info);
    if (status == STATUS_OK)
        *out = ns * (unsigned)info.clock_khz / 1000000;
    return status;
}

enum status probe_new_stream(const struct probe_run *run, cuda_stream *out)
{
    return PROBE_CALL(run, stream_create, out, CUDA_STREAM_NON_BLOCKING);
}

enum status probe_synchronize(const struct probe_run *run, cuda_stream stream)
{
    return PROBE_CALL(run, stream_synchronize, stream);
}

enum status probe_allocate(const struct probe_run *run, cuda_device_pointer *out, size_t bytes)
{
    return PROBE_CALL(run, mem_alloc, out, bytes);
}

enum status probe_launch(const struct probe_run *run, cuda_function function, cuda_stream stream)
{
    return PROBE_CALL(run, launch_kernel, function, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL);
}

void probe_destroy_stream(const struct probe_run *run, cuda_stream stream)
{
    if (stream)
        run->driver.stream_destroy(stream);
}

void probe_release(const struct probe_run *run, cuda_device_pointer memory)
{
    if (memory)
        run->driver.mem_free(memory);
}

enum status probe_gpu_open(struct probe_run *run, unsigned index, bool module,
                           struct probe_gpu *out)
{
    *out = (struct probe_gpu){0};
    enum status status = PROBE_CALL(run, device_get, &out->device, (int)index);
    if (status == STATUS_OK)
        status = context_retain(&run->driver, out->device, &out->context);
    if (status == STATUS_OK)
        status = PROBE_CALL(run, ctx_set_current, out->context);
    if (status != STATUS_OK || !module)
        return status;
    status = probe_module_load(run, &out->module);
    if (status == STATUS_OK)
        status = PROBE_CALL(run, module_get_function, &out->empty, out->module, KERNELS_EMPTY);
    if (status == STATUS_OK)
        status = PROBE_CALL(run, module_get_function, &out->hold, out->module, KERNELS_HOLD);
    return status;
}

void probe_gpu_close(struct probe_run *run, struct probe_gpu *gpu)
{
    /* The samples are given already, and the process ends next: errors change nothing. */
    if (gpu->module)
        run->driver.module_unload(gpu->module);
    if (gpu->context)
        run->driver.primary_ctx_release(gpu->device);
    *gpu = (struct probe_gpu){0};
}

static enum status nothing_to_measure(void)
{
    return status_set(STATUS_INTERRUPTED, "the arm has to end");
}

enum status probe_begin(struct probe_run *run)
{
    struct probe_shm_header *header = run->shm.header;
    const uint64_t one = 1;
    run->begun = true;
    atomic_store(&probe_shm_process(&run->shm, run->process)->ready, 1);
    /* The counter cannot overflow, and a vanished orchestrator is noticed elsewhere. */
    if (write(run->event_fd, &one, sizeof one) < 0)
        return nothing_to_measure();
    return probe_shm_wait(&run->shm, &header->gate, 1) ? STATUS_OK : nothing_to_measure();
}

bool probe_is_over(const struct probe_run *run)
{
    return atomic_load_explicit(&run->shm.header->over, memory_order_relaxed) != 0;
}

void probe_sample(struct probe_run *run, unsigned metric, uint64_t ns)
{
    struct probe_shm_process *process = probe_shm_process(&run->shm, run->process);
    uint64_t at = atomic_fetch_add_explicit(&process->counts[metric], 1, memory_order_relaxed);
    if (at < PROBE_SAMPLES)
        process->samples_ns[metric][at] = ns;
}

void probe_blocked(struct probe_run *run, unsigned metric)
{
    atomic_fetch_add(&probe_shm_process(&run->shm, run->process)->blocked[metric], 1);
}
