/*
 * What the emulated driver lacks: copies whose call does not have their direction, and of rows. To
 * be preloaded with it. They are done when they return: its memory of a device is the host's.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>

#include "device/cuda_abi.h"

#define EXPORT __attribute__((visibility("default")))
#define ALLOCATIONS 64
#define ON_DEVICE 2u

EXPORT int cuMemAlloc_v2(uint64_t *pointer, size_t bytes);
EXPORT int cuPointerGetAttribute(void *out, int attribute, uint64_t pointer);
EXPORT int cuMemcpyAsync(uint64_t to, uint64_t from, size_t bytes, void *stream);
EXPORT int cuMemcpy2DAsync_v2(const cuda_copy_area *area, void *stream);

static struct {
    uint64_t at[ALLOCATIONS], bytes[ALLOCATIONS];
    _Atomic unsigned count;
} device;

int cuMemAlloc_v2(uint64_t *pointer, size_t bytes)
{
    int (*next)(uint64_t *, size_t);
    *(void **)&next = dlsym(RTLD_NEXT, "cuMemAlloc_v2");
    int result = next ? next(pointer, bytes) : CUDA_NOT_FOUND;
    unsigned number = result == CUDA_SUCCESS_ ? device.count++ : ALLOCATIONS;
    if (number < ALLOCATIONS) {
        device.at[number] = *pointer;
        device.bytes[number] = bytes;
    }
    return result;
}

int cuPointerGetAttribute(void *out, int attribute, uint64_t pointer)
{
    if (attribute != CUDA_POINTER_MEMORY_TYPE)
        return CUDA_INVALID_VALUE;
    for (unsigned i = 0; i < device.count && i < ALLOCATIONS; i++)
        if (pointer - device.at[i] < device.bytes[i])
            return *(unsigned *)out = ON_DEVICE, CUDA_SUCCESS_;
    return CUDA_INVALID_VALUE;
}

int cuMemcpyAsync(uint64_t to, uint64_t from, size_t bytes, void *stream)
{
    (void)stream;
    memmove((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
    return CUDA_SUCCESS_;
}

static char *row_of(const cuda_copy_end *end, size_t row)
{
    char *base = end->memory == CUDA_MEMORY_HOST ? (char *)(uintptr_t)end->host
                                                 : (char *)(uintptr_t)end->device;
    return base + end->x_bytes + (end->y + row) * end->pitch;
}

int cuMemcpy2DAsync_v2(const cuda_copy_area *area, void *stream)
{
    (void)stream;
    for (size_t row = 0; row < area->height; row++)
        memmove(row_of(&area->to, row), row_of(&area->from, row), area->width_bytes);
    return CUDA_SUCCESS_;
}
