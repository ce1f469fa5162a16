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
