/*
 * Functions of a driver whose device memory is host memory: for tests of what a worker asks of it.
 */
#pragma once

#include "device/driver.h"

cuda_result fake_stream_create(cuda_stream *stream, unsigned int flags);

/* The memory holds anything but zeros. */
cuda_result fake_mem_alloc(cuda_device_pointer *pointer, size_t bytes);
cuda_result fake_mem_free(cuda_device_pointer pointer);

cuda_result fake_mem_host_alloc(void **pointer, size_t bytes, unsigned int flags);
cuda_result fake_mem_free_host(void *pointer);
