/* The entry points that nothing else in this library defines: the driver has them and refuses. */
#include "emul/process.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

#define REFUSE(field, symbol, version, need, parameters)                                           \
    __attribute__((weak)) cuda_result symbol parameters                                            \
    {                                                                                              \
        return CUDA_NOT_SUPPORTED;                                                                 \
    }
CUDA_DRIVER_SYMBOLS(REFUSE)
