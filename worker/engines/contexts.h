/*
 * The contexts that workers run in: the process's, which its threads share, or one for each thread.
 */
#pragma once

#include <stdint.h>

#include "device/driver.h"

/* Kernels belong to the context that their module was loaded in. All zero: none. */
struct worker_context {
    cuda_context handle;
    cuda_module module;
    cuda_green_context green; /* that the handle is of; NULL: it is a whole one */
    cuda_function add_constant, delay, compute, load, streaming, locate;
};

/* How a context's threads wait for the GPU: CU_CTX_SCHED_* of an enum work_schedule. */
unsigned worker_context_flags(uint32_t schedule);

/* Loads the kernels' module into the calling thread's current context, and finds the kernels. */
enum status worker_context_load(const struct cuda_driver *driver, struct worker_context *context);

/* The same in a new context, which is current afterwards. After a failure, too, it is to be closed.
 */
enum status worker_context_open(const struct cuda_driver *driver, cuda_device device,
                                uint32_t schedule, struct worker_context *context);

/* By the thread that opened it, when all that it made there is gone. Fine on a zeroed struct. */
void worker_context_close(const struct cuda_driver *driver, struct worker_context *context);
