#include "worker/engines/contexts.h"

#include "device/context.h"
#include "kernels/image.h"
#include "shm/shm.h"

unsigned worker_context_flags(uint32_t schedule)
{
    switch (schedule) {
    case SCHEDULE_SPIN:
        return CUDA_SCHEDULE_SPIN;
    case SCHEDULE_YIELD:
        return CUDA_SCHEDULE_YIELD;
    case SCHEDULE_BLOCK:
        return CUDA_SCHEDULE_BLOCK;
    default:
        return CUDA_SCHEDULE_AUTO;
    }
}

enum status worker_context_load(const struct cuda_driver *driver, struct worker_context *context)
{
    const struct {
        cuda_function *function;
        const char *name;
    } entries[] = {
        {&context->add_constant, KERNELS_ADD_CONSTANT}, {&context->delay, KERNELS_DELAY},
        {&context->compute, KERNELS_COMPUTE},           {&context->load, KERNELS_LOAD},
        {&context->streaming, KERNELS_STREAM},          {&context->locate, KERNELS_LOCATE},
    };
    enum status status =
        context_load_module(driver, kernels_image(NULL), kernels_ptx(NULL), &context->module);
    for (size_t i = 0; i < sizeof entries / sizeof entries[0] && status == STATUS_OK; i++)
        status = CUDA_CALL(driver, module_get_function, entries[i].function, context->module,
                           entries[i].name);
    return status;
}

enum status worker_context_open(const struct cuda_driver *driver, cuda_device device,
                                uint32_t schedule, struct worker_context *context)
{
    enum status status =
        CUDA_CALL(driver, ctx_create, &context->handle, worker_context_flags(schedule), device);
    return status == STATUS_OK ? worker_context_load(driver, context) : status;
}

void worker_context_close(const struct cuda_driver *driver, struct worker_context *context)
{
    /* Results are complete by now: errors here change nothing. */
    if (context->module)
        driver->module_unload(context->module);
    if (context->green) {
        driver->ctx_set_current(NULL);
        driver->green_ctx_destroy(context->green);
    } else if (context->handle) {
        driver->ctx_destroy(context->handle);
    }
    *context = (struct worker_context){0};
}
