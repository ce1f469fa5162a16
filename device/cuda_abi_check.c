/*
 * Compares device/cuda_abi.h with the toolkit's cuda.h, at compile time: each constant's value and
 * each entry point's prototype. Nothing here runs. The sizes of our own types are compared in
 * cuda_abi_sizes.c, since here the toolkit's take their place.
 */

/* Has cuda.h declare every version of an entry point under the name that the library exports. */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#define MPSWEEP_CUDA_ABI_TYPES_GIVEN
typedef CUresult cuda_result;
typedef CUdevice cuda_device;
typedef CUcontext cuda_context;
typedef CUstream cuda_stream;
typedef CUmodule cuda_module;
typedef CUfunction cuda_function;
typedef CUevent cuda_event;
typedef CUgraph cuda_graph;
typedef CUgraphExec cuda_graph_exec;
typedef CUdeviceptr cuda_device_pointer;
typedef CUdevice_attribute cuda_device_attribute;
typedef CUfunction_attribute cuda_function_attribute;
typedef CUstreamCaptureMode cuda_capture_mode;
typedef CUuuid cuda_uuid;
typedef CUmoduleLoadingMode cuda_loading_mode;
typedef CUdevResourceType cuda_resource_type;
typedef CUgreenCtx cuda_green_context;
typedef CUdevResourceDesc cuda_resource_descriptor;
typedef CUdevResource cuda_resource;
typedef CUhostFn cuda_host_function;
#include "device/cuda_abi.h"

#define CHECK_CONSTANT(ours, theirs, value)                                                        \
    _Static_assert((value) == (long long)(theirs), #ours " is not " #theirs);
CUDA_ABI_CONSTANTS(CHECK_CONSTANT)

#define CHECK_PROTOTYPE(field, symbol, version, need, parameters)                                  \
    _Static_assert(__builtin_types_compatible_p(__typeof__(&symbol), CUresult(*) parameters),      \
                   #symbol " has another prototype");
CUDA_DRIVER_SYMBOLS(CHECK_PROTOTYPE)

/* A cast to a pointer is not a constant, so the one in these macros of the toolkit's becomes
 * another.
 */
#define CUstream unsigned long
_Static_assert(CU_STREAM_LEGACY == CUDA_STREAM_LEGACY_HANDLE, "another legacy stream");
_Static_assert(CU_STREAM_PER_THREAD == CUDA_STREAM_PER_THREAD_HANDLE, "another per-thread stream");
#undef CUstream

/* Keeps the archive from being empty. */
extern const char mpsweep_cuda_abi_checked[];
const char mpsweep_cuda_abi_checked[] = "cuda.h";
