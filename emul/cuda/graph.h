/* What a stream in capture does in place of running. */
#pragma once

#include "emul/cuda/handles.h"
#include "emul/cuda/kernels.h"

cuda_result graph_add_kernel(struct graph *graph, const struct kernel_call *kernel);
cuda_result graph_add_copy(struct graph *graph, const struct copy_call *copy);
