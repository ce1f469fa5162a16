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
CHECK_TYPE(cuda_function_attribute, CUfunction_attribute);
CHECK_TYPE(cuda_capture_mode, CUstreamCaptureMode);
CHECK_TYPE(cuda_uuid, CUuuid);
CHECK_TYPE(cuda_loading_mode, CUmoduleLoadingMode);
CHECK_TYPE(cuda_resource_type, CUdevResourceType);
CHECK_TYPE(cuda_green_context, CUgreenCtx);
CHECK_TYPE(cuda_resource_descriptor, CUdevResourceDesc);
CHECK_TYPE(cuda_resource, CUdevResource);
CHECK_TYPE(cuda_host_function, CUhostFn);
CHECK_TYPE(cuda_copy_area, CUDA_MEMCPY2D);
_Static_assert(offsetof(cuda_resource, sm.smCount) == offsetof(CUdevResource, sm.smCount),
               "cuda_resource has another layout");
#define CHECK_COPY(ours, theirs)                                                                   \
    _Static_assert(offsetof(cuda_copy_area, ours) == offsetof(CUDA_MEMCPY2D, theirs),              \
                   "cuda_copy_area has another layout")
CHECK_COPY(from.memory, srcMemoryType);
CHECK_COPY(from.host, srcHost);
CHECK_COPY(from.device, srcDevice);
CHECK_COPY(to.memory, dstMemoryType);
CHECK_COPY(to.host, dstHost);
CHECK_COPY(to.device, dstDevice);
CHECK_COPY(width_bytes, WidthInBytes);
CHECK_COPY(height, Height);

extern const char mpsweep_cuda_sizes_checked[];
const char mpsweep_cuda_sizes_checked[] = "cuda.h";
