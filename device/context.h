/*
 * The driver and the device's primary context, with patience: a client that comes while the MPS
 * server starts gets "not ready" (807), and asks again for up to ten seconds a call.
 */
#pragma once

#include "device/driver.h"

/* cuInit. Errors as from cuda_check(). */
enum status context_init_driver(const struct cuda_driver *driver);

/* cuDevicePrimaryCtxRetain; *out is set only on success. */
enum status context_retain(const struct cuda_driver *driver, cuda_device device, cuda_context *out);

/* The multiprocessors and the free memory that the current context was given: a thread limit
 * applies once it exists. Both outputs are set only on success. */
enum status context_shares(const struct cuda_driver *driver, cuda_device device, int *sms,
                           size_t *memory_free_bytes);

/* cuModuleLoadData of native code; and of the PTX beside it, which is written for the oldest driver
 * that we support, where the driver is older than the toolkit that built the native code and
 * refuses it as a whole. *out is set only on success. */
enum status context_load_module(const struct cuda_driver *driver, const void *native,
                                const void *ptx, cuda_module *out);
