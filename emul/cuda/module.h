/* Modules and their functions, as the emulated driver's calls see them. */
#pragma once

#include "emul/cuda/process.h"

struct cuda_function_opaque {
    enum kernel kernel;
    cuda_context context; /* that its module was loaded in */
    _Atomic bool is_loaded;
};

/* Before a launch: loads the function if that has been put off until now, which waits for the
 * copies of other threads that are under way (the effect lazy-load). */
void function_load(cuda_function function);
