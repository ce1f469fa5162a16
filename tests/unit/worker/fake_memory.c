#include "tests/unit/worker/fake_memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

cuda_result fake_stream_create(cuda_stream *stream, unsigned int flags)
{
    (void)flags;
    *stream = NULL;
    return CUDA_SUCCESS_;
}

cuda_result fake_mem_alloc(cuda_device_pointer *pointer, size_t bytes)
{
    void *memory = malloc(bytes);
    if (!memory)
        return CUDA_OUT_OF_MEMORY;
    memset(memory, 0x5a, bytes); /* device memory holds anything */
    *pointer = (uintptr_t)memory;
    return CUDA_SUCCESS_;
}

cuda_result fake_mem_free(cuda_device_pointer pointer)
{
    free((void *)(uintptr_t)pointer);
    return CUDA_SUCCESS_;
}

cuda_result fake_mem_host_alloc(void **pointer, size_t bytes, unsigned int flags)
{
    (void)flags;
    *pointer = malloc(bytes);
    return CUDA_SUCCESS_;
}

cuda_result fake_mem_free_host(void *pointer)
{
    free(pointer);
    return CUDA_SUCCESS_;
}
