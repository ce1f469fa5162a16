/* Launches that other files issue, and wait for. */
#pragma once

#include "emul/cuda/process.h"

/* Puts a kernel, or a copy within the device, into the stream. */
cuda_result launch_issue(const struct kernel_call *kernel, cuda_stream stream);

/* Waits until no kernel of this process holds the device, as allocations do. */
void hold_wait_idle(cuda_device device);
