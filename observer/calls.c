#include "observer/calls.h"

#include <stddef.h>
#include <string.h>

static const struct {
    const char *name;
    enum call_kind kind;
} calls[] = {
    {"cuLaunch", CALL_LAUNCH},
    {"cuLaunchGrid", CALL_LAUNCH},
    {"cuLaunchGridAsync", CALL_LAUNCH},
    {"cuLaunchKernel", CALL_LAUNCH},
    {"cuLaunchKernelEx", CALL_LAUNCH},
    {"cuLaunchCooperativeKernel", CALL_LAUNCH},
    {"cuGraphLaunch", CALL_GRAPH},
    {"cuStreamSynchronize", CALL_WAIT},
    {"cuCtxSynchronize", CALL_WAIT},
    {"cuEventSynchronize", CALL_WAIT},
    {"cuStreamQuery", CALL_POLL},
    {"cuEventQuery", CALL_POLL},
    {"cuMemcpyHtoD", CALL_COPY_IN},
    {"cuMemcpyHtoDAsync", CALL_COPY_IN},
    {"cuMemcpyDtoH", CALL_COPY_OUT_WAIT},
    {"cuMemcpyDtoHAsync", CALL_COPY_OUT},
    {"cuModuleLoad", CALL_LOAD},
    {"cuModuleLoadData", CALL_LOAD},
    {"cuModuleLoadDataEx", CALL_LOAD},
    {"cuModuleLoadFatBinary", CALL_LOAD},
    {"cuLibraryLoadData", CALL_LOAD},
    {"cuLibraryLoadFromFile", CALL_LOAD},
};

/* "_v2", "_v3", "_ptsz" and "_ptds", one after the other. */
static bool is_version(const char *rest)
{
    while (*rest) {
        size_t length = strcspn(rest + 1, "_") + 1;
        bool known = (length == 3 && rest[1] == 'v') || strncmp(rest, "_ptsz", length) == 0 ||
                     strncmp(rest, "_ptds", length) == 0;
        if (*rest != '_' || !known)
            return false;
        rest += length;
    }
    return true;
}

enum call_kind call_kind_of(const char *name)
{
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        size_t length = strlen(calls[i].name);
        if (strncmp(name, calls[i].name, length) == 0 && is_version(name + length))
            return calls[i].kind;
    }
    return CALL_OTHER;
}
