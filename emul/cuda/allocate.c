/* Entry points for memory. */
#include "emul/cuda/entries.h"

cuda_result cuMemAlloc_v2(cuda_device_pointer *pointer, size_t bytes)
{
    ENTER_IF_VALID(mem_alloc, NEED_CONTEXT, pointer != NULL && bytes != 0);

    cuda_context owner = process_current->base;
    hold_wait_idle(owner->device);
    struct model *model = process_lock_model(owner);
    bool taken = model_memory_take(model, &owner->model, bytes);
    emul_state_unlock(process.state);
    if (!taken)
        return CUDA_OUT_OF_MEMORY;
    void *block = memory_list_new(&process.device_memory, bytes, owner);
    if (block == NULL) {
        model = process_lock_model(owner);
        model_memory_give(model, &owner->model, bytes);
        emul_state_unlock(process.state);
        return CUDA_OUT_OF_MEMORY;
    }
    *pointer = (uintptr_t)block;
    return CUDA_SUCCESS_;
}

cuda_result cuMemFree_v2(cuda_device_pointer pointer)
{
    uint64_t bytes;
    void *block = (void *)(uintptr_t)pointer, *owner;
    ENTER_OR_RETURN(mem_free, NEED_CONTEXT);
    if (pointer == 0)
        return CUDA_SUCCESS_;
    owner = memory_list_owner(&process.device_memory, block, 0);
    if (owner == NULL)
        return CUDA_INVALID_VALUE;
    hold_wait_idle(((cuda_context)owner)->device);
    if (!memory_list_free(&process.device_memory, block, &bytes, &owner))
        return CUDA_INVALID_VALUE;
    struct model *model = process_lock_model(owner);
    model_memory_give(model, &((cuda_context)owner)->model, bytes);
    emul_state_unlock(process.state);
    return CUDA_SUCCESS_;
}

cuda_result cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes)
{
    ENTER_IF_VALID(mem_get_info, NEED_CONTEXT, free_bytes != NULL && total_bytes != NULL);
    const struct model *model = process_lock_model(process_current);
    *free_bytes = model_memory_left(model, &process_current->base->model);
    emul_state_unlock(process.state);
    *total_bytes = MODEL_MEMORY_BYTES;
    return CUDA_SUCCESS_;
}

/* With any flags, it is mapped and every context's, as pinned memory is in practice. */
cuda_result cuMemHostAlloc(void **pointer, size_t bytes, unsigned int flags)
{
    (void)flags;
    ENTER_IF_VALID(mem_host_alloc, NEED_CONTEXT, pointer != NULL && bytes != 0);
    void *block = memory_list_new(&process.host_memory, bytes, NULL);
    if (block == NULL)
        return CUDA_OUT_OF_MEMORY;
    *pointer = block;
    return CUDA_SUCCESS_;
}

cuda_result cuMemFreeHost(void *pointer)
{
    uint64_t bytes;
    void *owner;
    ENTER_OR_RETURN(mem_free_host, NEED_CONTEXT);
    if (pointer == NULL)
        return CUDA_SUCCESS_;
    return memory_list_free(&process.host_memory, pointer, &bytes, &owner) ? CUDA_SUCCESS_
                                                                           : CUDA_INVALID_VALUE;
}

cuda_result cuMemHostGetDevicePointer_v2(cuda_device_pointer *pointer, void *host,
                                         unsigned int flags)
{
    ENTER_IF_VALID(mem_host_get_device_pointer, NEED_CONTEXT,
                   pointer != NULL && flags == 0 &&
                       memory_list_holds(&process.host_memory, host, 1));
    *pointer = (uintptr_t)host;
    return CUDA_SUCCESS_;
}
