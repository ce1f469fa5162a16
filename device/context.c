#include "device/context.h"

#include <stdbool.h>

#include "common/clock.h"

/* How long a starting MPS server may answer "not ready", and how often to ask. */
#define MPS_SERVER_START_NS (10 * NS_PER_S)
#define ASK_AGAIN_NS (50 * NS_PER_MS)

/* Whether the call is worth repeating; has slept then. */
static bool comes_again(cuda_result result, uint64_t deadline_ns)
{
    if (result != CUDA_MPS_SERVER_NOT_READY || clock_now_ns() >= deadline_ns)
        return false;
    clock_sleep_until(clock_now_ns() + ASK_AGAIN_NS);
    return true;
}

enum status context_init_driver(const struct cuda_driver *driver)
{
    uint64_t deadline_ns = clock_now_ns() + MPS_SERVER_START_NS;
    cuda_result result;
    do
        result = driver->init(0);
    while (comes_again(result, deadline_ns));
    return cuda_check(driver, result, "cuInit");
}

enum status context_retain(const struct cuda_driver *driver, cuda_device device, cuda_context *out)
{
    uint64_t deadline_ns = clock_now_ns() + MPS_SERVER_START_NS;
    cuda_context context;
    cuda_result result;
    do
        result = driver->primary_ctx_retain(&context, device);
    while (comes_again(result, deadline_ns));
    enum status status = cuda_check(driver, result, "cuDevicePrimaryCtxRetain");
    if (status == STATUS_OK)
        *out = context;
    return status;
}

enum status context_shares(const struct cuda_driver *driver, cuda_device device, int *sms,
                           size_t *memory_free_bytes)
{
    int count;
    size_t free_bytes, total_bytes;
    enum status status = CUDA_CALL(driver, device_get_attribute, &count,
                                   CUDA_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
    if (status == STATUS_OK)
        status = CUDA_CALL(driver, mem_get_info, &free_bytes, &total_bytes);
    if (status != STATUS_OK)
        return status;
    *sms = count;
    *memory_free_bytes = free_bytes;
    return STATUS_OK;
}

enum status context_load_module(const struct cuda_driver *driver, const void *native,
                                const void *ptx, cuda_module *out)
{
    cuda_module module;
    cuda_result result = driver->module_load_data(&module, native);
    if (result == CUDA_INVALID_IMAGE || result == CUDA_NO_BINARY_FOR_GPU ||
        result == CUDA_UNSUPPORTED_PTX_VERSION)
        result = driver->module_load_data(&module, ptx);
    enum status status = cuda_check(driver, result, "cuModuleLoadData");
    if (status == STATUS_OK)
        *out = module;
    return status;
}
