/* How programs find entry points other than by dlsym(). */
#include <string.h>

#include "emul/cuda/process.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT cuda_result cuGetProcAddress_v2(const char *name, void **out, int version, uint64_t flags,
                                       int *status);

/* Without the suffix of a version, as programs ask for them. */
cuda_result cuGetProcAddress_v2(const char *name, void **out, int version, uint64_t flags,
                                int *status)
{
#define ENTRY_POINT(field, symbol, since, need, parameters) {#symbol, (void *)(symbol)},
    static const struct {
        const char *symbol;
        void *function;
    } entries[] = {CUDA_DRIVER_SYMBOLS(ENTRY_POINT)};
    size_t length = strlen(name);
    (void)version;
    (void)flags;
    *out = NULL;
    for (size_t i = 0; i < sizeof entries / sizeof entries[0] && *out == NULL; i++) {
        const char *rest = entries[i].symbol + length;
        if (strncmp(entries[i].symbol, name, length) == 0 &&
            (*rest == '\0' || strcmp(rest, "_v2") == 0))
            *out = entries[i].function;
    }
    if (status != NULL)
        *status = *out == NULL;
    return *out == NULL ? CUDA_NOT_FOUND : CUDA_SUCCESS_;
}
