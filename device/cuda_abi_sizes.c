/*
 * Compares the size and alignment of our own declarations of the driver's types with the toolkit's.
 * cuda_abi_check.c compares the rest.
 */
#include <cuda.h>

#include "device/cuda_abi.h"

#define CHECK_TYPE(ours, theirs)                                                                   \
    _Static_assert(sizeof(ours) == sizeof(theirs), #ours " is not as long as " #theirs);           \
    _Static_assert(_Alignof(ours) == _Alignof(theirs), #ours " is not aligned as " #theirs)

CHECK_TYPE(cuda_result, CUresult);
CHECK_TYPE(cuda_device, CUdevice);
CHECK_TYPE(cuda_context, CUcontext);
CHECK_TYPE(cuda_stream, CUstream);
CHECK_TYPE(cuda_module, CUmodule);
CHECK_TYPE(cuda_function, CUfunction);
CHECK_TYPE(cuda_event, CUevent);
CHECK_TYPE(cuda_graph, CUgraph);
CHECK_TYPE(cuda_graph_exec, CUgraphExec);
CHECK_TYPE(cuda_device_pointer, CUdeviceptr);
CHECK_TYPE(cuda_device_attribute, CUdevice_attribute);
CHECK_TYPE(cuda_capture_mode, CUstreamCaptureMode);
CHECK_TYPE(cuda_uuid, CUuuid);
CHECK_TYPE(cuda_loading_mode, CUmoduleLoadingMode);
CHECK_TYPE(cuda_resource_type, CUdevResourceType);
CHECK_TYPE(cuda_green_context, CUgreenCtx);
CHECK_TYPE(cuda_resource_descriptor, CUdevResourceDesc);
CHECK_TYPE(cuda_resource, CUdevResource);
CHECK_TYPE(cuda_host_function, CUhostFn);
_Static_assert(offsetof(cuda_resource, sm.smCount) == offsetof(CUdevResource, sm.smCount),
               "cuda_resource has another layout");

extern const char mpsweep_cuda_sizes_checked[];
const char mpsweep_cuda_sizes_checked[] = "cuda.h";
