#include "worker/engines/partition.h"

#include <stdlib.h>

#include "common/clock.h"

/* Blocks that fill a multiprocessor twice over, and stay until all have begun: so each one of the
 * part has some. */
#define BLOCKS_EACH 2
#define BLOCK_THREADS 1024
#define STAY_NS (50 * NS_PER_US)

static uint32_t asked_by(const struct worker_process *process, unsigned thread)
{
    unsigned slot = thread * shm_streams(process->shm.header);
    return shm_slot_at(&process->shm, process->index, slot)->partition;
}

/* The greatest size of which all threads have a whole number of parts: only parts of one split are
 * sure to be apart. */
static unsigned find_size(const struct worker_process *process, unsigned *count)
{
    unsigned threads = process->shm.header->threads, size = 0, sum = 0;
    for (unsigned t = 0; t < threads; t++) {
        unsigned asked = asked_by(process, t), divisor = size;
        sum += asked;
        for (size = asked; divisor;) {
            unsigned rest = size % divisor;
            size = divisor;
            divisor = rest;
        }
    }
    *count = size ? sum / size : 0;
    return size;
}

static bool has_green_contexts(const struct cuda_driver *driver)
{
    return driver->device_get_resource && driver->resource_split && driver->resource_describe &&
           driver->green_ctx_create && driver->green_ctx_destroy && driver->ctx_from_green_ctx;
}

/* Drivers refuse with different errors what they cannot split: the point is not to be had. */
static enum status refused(enum status status)
{
    return status == STATUS_CUDA ? status_prefix(STATUS_INFEASIBLE, "sm-partition: ") : status;
}

static enum status split(struct worker_process *process, unsigned size, unsigned count)
{
    const struct cuda_driver *driver = &process->driver;
    cuda_resource all;
    unsigned got = count;
    enum status status =
        CUDA_CALL(driver, device_get_resource, process->device, &all, CUDA_RESOURCE_SM);
    if (status == STATUS_OK && size > all.sm.smCount)
        return status_set(STATUS_INFEASIBLE,
                          "sm-partition: this GPU has no parts of %u multiprocessors, but %u in all",
                          size, all.sm.smCount);
    if (status == STATUS_OK)
        status = CUDA_CALL(driver, resource_split, process->parts, &got, &all, NULL, 0, size);
    if (status != STATUS_OK)
        return refused(status);
    unsigned given = process->parts[0].sm.smCount;
    if (got > 0 && given != size)
        return status_set(STATUS_INFEASIBLE,
                          "sm-partition: this GPU has no parts of %u multiprocessors, but of %u",
                          size, given);
    if (got < count)
        return status_set(STATUS_INFEASIBLE,
                          "sm-partition: a process takes %u multiprocessors, and this GPU has %u "
                          "to give in parts of %u",
                          size * count, size * got, size);
    return STATUS_OK;
}

enum status partition_split(struct worker_process *process)
{
    unsigned count, size = find_size(process, &count);
    free(process->parts);
    process->parts = NULL;
    process->part_size = size;
    if (size == 0)
        return STATUS_OK;
    if (!has_green_contexts(&process->driver))
        return status_set(STATUS_INFEASIBLE, "sm-partition takes green contexts, which came with "
                                             "CUDA 12.4: this driver has none");
    process->parts = calloc(count, sizeof *process->parts);
    if (!process->parts)
        return status_set(STATUS_MEMORY, "out of host memory");
    return split(process, size, count);
}

enum status partition_open(const struct worker_process *process, unsigned thread,
                           struct worker_context *context)
{
    const struct cuda_driver *driver = &process->driver;
    cuda_resource_descriptor descriptor;
    unsigned before = 0;
    for (unsigned t = 0; t < thread; t++)
        before += asked_by(process, t);
    enum status status = CUDA_CALL(driver, resource_describe, &descriptor,
                                   &process->parts[before / process->part_size],
                                   asked_by(process, thread) / process->part_size);
    if (status == STATUS_OK)
        status = CUDA_CALL(driver, green_ctx_create, &context->green, descriptor, process->device,
                           CUDA_GREEN_CONTEXT_DEFAULT_STREAM);
    if (status == STATUS_OK)
        status = CUDA_CALL(driver, ctx_from_green_ctx, &context->handle, context->green);
    if (status == STATUS_OK)
        status = CUDA_CALL(driver, ctx_set_current, context->handle);
    if (status == STATUS_OK)
        status = worker_context_load(driver, context);
    return refused(status);
}

static enum status launch(const struct worker_process *process,
                          const struct worker_context *context, cuda_stream stream,
                          cuda_device_pointer seen)
{
    unsigned count = WORK_MULTIPROCESSORS;
    unsigned long long stay_ns = STAY_NS;
    int all = 0;
    void *parameters[] = {&seen, &count, &stay_ns};
    enum status status = CUDA_CALL(&process->driver, device_get_attribute, &all,
                                   CUDA_ATTRIBUTE_MULTIPROCESSOR_COUNT, process->device);
    return status == STATUS_OK ? CUDA_CALL(&process->driver, launch_kernel, context->locate,
                                           BLOCKS_EACH * (unsigned)all, 1, 1, BLOCK_THREADS, 1, 1,
                                           0, stream, parameters, NULL)
                               : status;
}

static enum status launch_graph(const struct worker_process *process,
                                const struct worker_context *context, cuda_stream stream,
                                cuda_device_pointer seen)
{
    struct worker_graph graph = {0};
    enum status status = worker_graph_begin(process, stream);
    if (status == STATUS_OK)
        status = worker_graph_end(process, stream, launch(process, context, stream, seen), &graph);
    if (status == STATUS_OK)
        status = CUDA_CALL(&process->driver, graph_launch, graph.exec, stream);
    if (status == STATUS_OK)
        status = worker_synchronize(process, stream);
    worker_graph_free(process, &graph);
    return status;
}

enum status partition_locate(const struct worker_process *process,
                             const struct worker_context *context, cuda_stream stream,
                             struct shm_slot *slot)
{
    const struct cuda_driver *driver = &process->driver;
    unsigned found[WORK_MULTIPROCESSORS] = {0};
    cuda_device_pointer seen = 0;
    if (!slot->partition)
        return STATUS_OK;
    enum status status = CUDA_CALL(driver, mem_alloc, &seen, sizeof found);
    if (status == STATUS_OK)
        status = CUDA_CALL(driver, memcpy_htod_async, seen, found, sizeof found, stream);
    if (status == STATUS_OK)
        status = process->shm.header->settings.launch == LAUNCH_GRAPH
                     ? launch_graph(process, context, stream, seen)
                     : launch(process, context, stream, seen);
    if (status == STATUS_OK)
        status = CUDA_CALL(driver, memcpy_dtoh_async, found, seen, sizeof found, stream);
    if (status == STATUS_OK)
        status = worker_synchronize(process, stream);
    if (seen)
        driver->mem_free(seen);
    for (unsigned i = 0; i < WORK_MULTIPROCESSORS && status == STATUS_OK; i++)
        slot->multiprocessors[i / 64] |= (uint64_t)(found[i] != 0) << i % 64;
    return status;
}
