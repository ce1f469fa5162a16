/* Entry points for modules. Their kernels are known by name, whatever the image holds. */
#include "emul/cuda/module.h"

#include <stdlib.h>
#include <string.h>

#include "emul/cuda/copies.h"

struct cuda_module_opaque {
    struct cuda_function_opaque functions[KERNEL_COUNT];
};

static bool is_lazy(void)
{
    const char *mode = getenv("CUDA_MODULE_LOADING");
    return mode == NULL || strcmp(mode, "EAGER") != 0;
}

cuda_result cuModuleGetLoadingMode(cuda_loading_mode *mode)
{
    ENTER_OR_RETURN(module_get_loading_mode, NEED_INIT);
    if (mode == NULL)
        return CUDA_INVALID_VALUE;
    *mode = is_lazy() ? CUDA_LOADING_LAZY : CUDA_LOADING_EAGER;
    return CUDA_SUCCESS_;
}

cuda_result cuModuleLoadData(cuda_module *module, const void *image)
{
    ENTER_OR_RETURN(module_load_data, NEED_CONTEXT);
    if (module == NULL || image == NULL)
        return CUDA_INVALID_VALUE;
    cuda_module made = calloc(1, sizeof *made);
    if (made == NULL)
        return CUDA_OUT_OF_MEMORY;
    for (int i = 0; i < KERNEL_COUNT; i++) {
        made->functions[i].kernel = (enum kernel)i;
        made->functions[i].context = process_current;
        atomic_store(&made->functions[i].is_loaded, !is_lazy());
    }
    *module = made;
    return CUDA_SUCCESS_;
}

cuda_result cuModuleGetFunction(cuda_function *function, cuda_module module, const char *name)
{
    enum kernel kernel;
    ENTER_OR_RETURN(module_get_function, NEED_CONTEXT);
    if (module == NULL)
        return CUDA_INVALID_HANDLE;
    if (function == NULL || name == NULL)
        return CUDA_INVALID_VALUE;
    if (!kernel_find(name, &kernel))
        return CUDA_NOT_FOUND;
    *function = &module->functions[kernel];
    return CUDA_SUCCESS_;
}

cuda_result cuModuleUnload(cuda_module module)
{
    ENTER_OR_RETURN(module_unload, NEED_CONTEXT);
    if (module == NULL)
        return CUDA_INVALID_HANDLE;
    free(module);
    return CUDA_SUCCESS_;
}

void function_load(cuda_function function)
{
    if (atomic_load(&function->is_loaded))
        return;
    if (process_has(EFFECT_LAZY_LOAD))
        copies_wait_others();
    atomic_store(&function->is_loaded, true);
}
