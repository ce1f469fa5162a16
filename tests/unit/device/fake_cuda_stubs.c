/*
 * Every entry point of the driver's table, weak, so that fake_cuda.c can do better. With
 * FAKE_CUDA_OLD the library is one that lacks a required row; it always lacks an optional one.
 */
#include "device/cuda_abi.h"

#ifdef FAKE_CUDA_OLD
#define cuGraphInstantiateWithFlags fake_withheld_required
#endif
#define cuGraphUpload fake_withheld_optional

#pragma GCC diagnostic ignored "-Wunused-parameter"

#define STUB(field, symbol, version, need, parameters)                                             \
    cuda_result symbol parameters;                                                                 \
    __attribute__((weak)) cuda_result symbol parameters                                            \
    {                                                                                              \
        return CUDA_NOT_SUPPORTED;                                                                 \
    }
CUDA_DRIVER_SYMBOLS(STUB)
