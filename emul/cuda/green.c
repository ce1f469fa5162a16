/* Entry points for green contexts: a part of the multiprocessors, at the primary context's side. */
#include "emul/cuda/process.h"

#include <stdlib.h>
#include <string.h>

/* Parts come in so many multiprocessors, as on GPUs of compute capability 9. */
#define PART 8

struct cuda_resource_descriptor_opaque {
    unsigned multiprocessors;
};

static cuda_resource resource_of(unsigned multiprocessors)
{
    cuda_resource resource = {0};
    if (multiprocessors > 0) {
        resource.type = CUDA_RESOURCE_SM;
        resource.sm.smCount = multiprocessors;
    }
    return resource;
}

cuda_result cuDeviceGetDevResource(cuda_device device, cuda_resource *resource,
                                   cuda_resource_type type)
{
    cuda_result result = process_enter(ENTRY_device_get_resource, NEED_INIT, NULL);
    if (result != CUDA_SUCCESS_)
        return result;
    if (device < 0 || (uint32_t)device >= process.visible.count)
        return CUDA_INVALID_DEVICE;
    if (resource == NULL || type != CUDA_RESOURCE_SM)
        return CUDA_INVALID_VALUE;
    *resource = resource_of(process_multiprocessors());
    return CUDA_SUCCESS_;
}

cuda_result cuDevSmResourceSplitByCount(cuda_resource *parts, unsigned int *groups,
                                        const cuda_resource *input, cuda_resource *remaining,
                                        unsigned int flags, unsigned int least)
{
    (void)flags;
    cuda_result result = process_enter(ENTRY_resource_split, NEED_INIT, NULL);
    if (result != CUDA_SUCCESS_)
        return result;
    if (groups == NULL || input == NULL || input->type != CUDA_RESOURCE_SM)
        return CUDA_INVALID_VALUE;
    unsigned all = input->sm.smCount;
    unsigned part = least > PART ? (least + PART - 1) / PART * PART : PART;
    unsigned most = all / part;
    if (parts == NULL) {
        *groups = most;
        return CUDA_SUCCESS_;
    }
    if (most == 0)
        return CUDA_INVALID_VALUE; /* not so many are left */
    if (*groups > most)
        *groups = most;
    for (unsigned i = 0; i < *groups; i++)
        parts[i] = resource_of(part);
    if (remaining != NULL)
        *remaining = resource_of(all - *groups * part);
    return CUDA_SUCCESS_;
}

cuda_result cuDevResourceGenerateDesc(cuda_resource_descriptor *descriptor,
                                      cuda_resource *resources, unsigned int count)
{
    cuda_result result = process_enter(ENTRY_resource_describe, NEED_INIT, NULL);
    if (result != CUDA_SUCCESS_)
        return result;
    if (descriptor == NULL || resources == NULL || count == 0)
        return CUDA_INVALID_VALUE;
    unsigned sum = 0;
    for (unsigned i = 0; i < count; i++) {
        if (resources[i].type != CUDA_RESOURCE_SM)
            return CUDA_INVALID_VALUE;
        sum += resources[i].sm.smCount;
    }
    if (sum > process_multiprocessors())
        return CUDA_INVALID_VALUE;
    /* There is no call that frees one, so there is one of each size. */
    static struct cuda_resource_descriptor_opaque descriptors[MODEL_SLOTS_MAX + 1];
    descriptors[sum].multiprocessors = sum;
    *descriptor = &descriptors[sum];
    return CUDA_SUCCESS_;
}

cuda_result cuGreenCtxCreate(cuda_green_context *green, cuda_resource_descriptor descriptor,
                             cuda_device device, unsigned int flags)
{
    cuda_context primary;
    cuda_result result = process_enter(ENTRY_green_ctx_create, NEED_INIT, NULL);
    if (result != CUDA_SUCCESS_)
        return result;
    if (green == NULL || descriptor == NULL || flags != CUDA_GREEN_CONTEXT_DEFAULT_STREAM)
        return CUDA_INVALID_VALUE;
    if (device < 0 || (uint32_t)device >= process.visible.count)
        return CUDA_INVALID_DEVICE;
    result = context_retain_primary(device, &primary);
    if (result != CUDA_SUCCESS_)
        return result;

    pthread_mutex_lock(&process.mutex);
    cuda_context made = context_new();
    result = made != NULL ? context_open(made, device, primary, descriptor->multiprocessors)
                          : CUDA_OUT_OF_MEMORY;
    if (result == CUDA_SUCCESS_)
        made->is_green = true;
    pthread_mutex_unlock(&process.mutex);
    if (result != CUDA_SUCCESS_) {
        context_release_primary(device);
        return result;
    }
    *green = (cuda_green_context)(void *)made;
    return CUDA_SUCCESS_;
}

/* The handle is the context. */
static cuda_context context_of(cuda_green_context green)
{
    cuda_context context = (cuda_context)(void *)green;
    return context != NULL && context->is_green && atomic_load(&context->alive) ? context : NULL;
}

cuda_result cuGreenCtxDestroy(cuda_green_context green)
{
    cuda_result result = process_enter(ENTRY_green_ctx_destroy, NEED_INIT, NULL);
    if (result != CUDA_SUCCESS_)
        return result;
    cuda_context context = context_of(green);
    if (context == NULL)
        return CUDA_INVALID_CONTEXT;
    pthread_mutex_lock(&process.mutex);
    context_close(context);
    pthread_mutex_unlock(&process.mutex);
    if (process_current == context)
        process_current = NULL;
    return context_release_primary(context->device);
}

cuda_result cuCtxFromGreenCtx(cuda_context *out, cuda_green_context green)
{
    cuda_result result = process_enter(ENTRY_ctx_from_green_ctx, NEED_INIT, NULL);
    if (result != CUDA_SUCCESS_)
        return result;
    cuda_context context = context_of(green);
    if (out == NULL || context == NULL)
        return context == NULL ? CUDA_INVALID_CONTEXT : CUDA_INVALID_VALUE;
    *out = context;
    return CUDA_SUCCESS_;
}
