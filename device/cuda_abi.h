/*
 * The part of the CUDA driver's ABI that mpsweep uses, in our own declarations, so that neither
 * building nor running needs the toolkit. device/cuda_abi_check.c compares every type, constant and
 * prototype with the toolkit's cuda.h wherever that is installed.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The check replaces this block by the toolkit's types. */
#ifndef MPSWEEP_CUDA_ABI_TYPES_GIVEN
typedef int cuda_result; /* 0 is success */
typedef int cuda_device; /* ordinal handle */
typedef struct cuda_context_opaque *cuda_context;
typedef struct cuda_stream_opaque *cuda_stream;
typedef struct cuda_module_opaque *cuda_module;
typedef struct cuda_function_opaque *cuda_function;
typedef struct cuda_event_opaque *cuda_event;
typedef struct cuda_graph_opaque *cuda_graph;
typedef struct cuda_graph_exec_opaque *cuda_graph_exec;
typedef unsigned long long cuda_device_pointer;
typedef int cuda_device_attribute;
typedef int cuda_function_attribute;
typedef int cuda_capture_mode;
typedef int cuda_loading_mode;
typedef int cuda_resource_type;
typedef struct cuda_green_context_opaque *cuda_green_context;
typedef struct cuda_resource_descriptor_opaque *cuda_resource_descriptor;
typedef void (*cuda_host_function)(void *argument); /* must make no CUDA call */
typedef struct {
    char bytes[16];
} cuda_uuid;

/* Only the driver writes to it. */
typedef struct {
    cuda_resource_type type; /* CUDA_RESOURCE_SM: `sm` holds */
    unsigned char internal[92];
    union {
        struct {
            unsigned int smCount; /* the toolkit's name */
        } sm;
        unsigned char oversize[48];
    };
} cuda_resource;

/* A copy of rows, and one end of it. */
typedef struct {
    size_t x_bytes, y;
    unsigned int memory; /* CUDA_MEMORY_HOST and so on: which pointer holds */
    const void *host;
    uint64_t device; /* of CUDA_MEMORY_UNIFIED, too */
    const void *array;
    size_t pitch;
} cuda_copy_end;
typedef struct {
    cuda_copy_end from, to;
    size_t width_bytes, height;
} cuda_copy_area;
#endif

/* In place of a stream; NULL means the legacy one, too. */
#define CUDA_STREAM_LEGACY_HANDLE 1
#define CUDA_STREAM_PER_THREAD_HANDLE 2
#define CUDA_STREAM_LEGACY ((cuda_stream)CUDA_STREAM_LEGACY_HANDLE)
#define CUDA_STREAM_PER_THREAD ((cuda_stream)CUDA_STREAM_PER_THREAD_HANDLE)

/* X(our name, the toolkit's name, value) */
#define CUDA_ABI_CONSTANTS(X)                                                                      \
    X(CUDA_SUCCESS_, CUDA_SUCCESS, 0)                                                              \
    X(CUDA_INVALID_VALUE, CUDA_ERROR_INVALID_VALUE, 1)                                             \
    X(CUDA_OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY, 2)                                             \
    X(CUDA_NOT_INITIALIZED, CUDA_ERROR_NOT_INITIALIZED, 3)                                         \
    X(CUDA_DEVICE_UNAVAILABLE, CUDA_ERROR_DEVICE_UNAVAILABLE, 46)                                  \
    X(CUDA_NO_DEVICE, CUDA_ERROR_NO_DEVICE, 100)                                                   \
    X(CUDA_INVALID_DEVICE, CUDA_ERROR_INVALID_DEVICE, 101)                                         \
    X(CUDA_INVALID_IMAGE, CUDA_ERROR_INVALID_IMAGE, 200)                                           \
    X(CUDA_INVALID_CONTEXT, CUDA_ERROR_INVALID_CONTEXT, 201)                                       \
    X(CUDA_NO_BINARY_FOR_GPU, CUDA_ERROR_NO_BINARY_FOR_GPU, 209)                                   \
    X(CUDA_PEER_ACCESS_UNSUPPORTED, CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, 217)                       \
    X(CUDA_UNSUPPORTED_PTX_VERSION, CUDA_ERROR_UNSUPPORTED_PTX_VERSION, 222)                       \
    X(CUDA_INVALID_HANDLE, CUDA_ERROR_INVALID_HANDLE, 400)                                         \
    X(CUDA_NOT_FOUND, CUDA_ERROR_NOT_FOUND, 500)                                                   \
    X(CUDA_NOT_READY, CUDA_ERROR_NOT_READY, 600)                                                   \
    X(CUDA_ILLEGAL_ADDRESS, CUDA_ERROR_ILLEGAL_ADDRESS, 700)                                       \
    X(CUDA_LAUNCH_OUT_OF_RESOURCES, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, 701)                       \
    X(CUDA_PEER_ACCESS_ALREADY_ENABLED, CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, 704)               \
    X(CUDA_PEER_ACCESS_NOT_ENABLED, CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, 705)                       \
    X(CUDA_CONTEXT_IS_DESTROYED, CUDA_ERROR_CONTEXT_IS_DESTROYED, 709)                             \
    X(CUDA_LAUNCH_FAILED, CUDA_ERROR_LAUNCH_FAILED, 719)                                           \
    X(CUDA_NOT_PERMITTED, CUDA_ERROR_NOT_PERMITTED, 800)                                           \
    X(CUDA_NOT_SUPPORTED, CUDA_ERROR_NOT_SUPPORTED, 801)                                           \
    X(CUDA_MPS_CONNECTION_FAILED, CUDA_ERROR_MPS_CONNECTION_FAILED, 805)                           \
    X(CUDA_MPS_RPC_FAILURE, CUDA_ERROR_MPS_RPC_FAILURE, 806)                                       \
    X(CUDA_MPS_SERVER_NOT_READY, CUDA_ERROR_MPS_SERVER_NOT_READY, 807)                             \
    X(CUDA_MPS_MAX_CLIENTS_REACHED, CUDA_ERROR_MPS_MAX_CLIENTS_REACHED, 808)                       \
    X(CUDA_MPS_MAX_CONNECTIONS_REACHED, CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED, 809)               \
    X(CUDA_MPS_CLIENT_TERMINATED, CUDA_ERROR_MPS_CLIENT_TERMINATED, 810)                           \
    X(CUDA_STREAM_CAPTURE_UNSUPPORTED, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, 900)                 \
    X(CUDA_UNKNOWN, CUDA_ERROR_UNKNOWN, 999)                                                       \
    X(CUDA_ATTRIBUTE_CLOCK_RATE, CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 13)                               \
    X(CUDA_ATTRIBUTE_MULTIPROCESSOR_COUNT, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 16)           \
    X(CUDA_ATTRIBUTE_COMPUTE_MODE, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, 20)                           \
    X(CUDA_ATTRIBUTE_PCI_BUS_ID, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, 33)                               \
    X(CUDA_ATTRIBUTE_PCI_DEVICE_ID, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, 34)                         \
    X(CUDA_ATTRIBUTE_L2_CACHE_BYTES, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 38)                        \
    X(CUDA_ATTRIBUTE_PCI_DOMAIN_ID, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, 50)                         \
    X(CUDA_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 75)   \
    X(CUDA_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 76)   \
    X(CUDA_ATTRIBUTE_SHARED_MEMORY_OPTIN, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,   \
      97)                                                                                          \
    X(CUDA_ATTRIBUTE_MPS_ENABLED, CU_DEVICE_ATTRIBUTE_MPS_ENABLED, 133)                            \
    X(CUDA_FUNCTION_DYNAMIC_SHARED, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 8)            \
    X(CUDA_COMPUTE_MODE_DEFAULT, CU_COMPUTEMODE_DEFAULT, 0)                                        \
    X(CUDA_COMPUTE_MODE_PROHIBITED, CU_COMPUTEMODE_PROHIBITED, 2)                                  \
    X(CUDA_COMPUTE_MODE_EXCLUSIVE_PROCESS, CU_COMPUTEMODE_EXCLUSIVE_PROCESS, 3)                    \
    X(CUDA_SCHEDULE_AUTO, CU_CTX_SCHED_AUTO, 0)                                                    \
    X(CUDA_SCHEDULE_SPIN, CU_CTX_SCHED_SPIN, 1)                                                    \
    X(CUDA_SCHEDULE_YIELD, CU_CTX_SCHED_YIELD, 2)                                                  \
    X(CUDA_SCHEDULE_BLOCK, CU_CTX_SCHED_BLOCKING_SYNC, 4)                                          \
    X(CUDA_STREAM_NON_BLOCKING, CU_STREAM_NON_BLOCKING, 1)                                         \
    X(CUDA_EVENT_BLOCKING_SYNC, CU_EVENT_BLOCKING_SYNC, 1)                                         \
    X(CUDA_EVENT_DISABLE_TIMING, CU_EVENT_DISABLE_TIMING, 2)                                       \
    X(CUDA_HOST_ALLOC_PORTABLE, CU_MEMHOSTALLOC_PORTABLE, 1)                                       \
    X(CUDA_HOST_ALLOC_MAPPED, CU_MEMHOSTALLOC_DEVICEMAP, 2)                                        \
    X(CUDA_LOADING_EAGER, CU_MODULE_EAGER_LOADING, 1)                                              \
    X(CUDA_LOADING_LAZY, CU_MODULE_LAZY_LOADING, 2)                                                \
    X(CUDA_MEMORY_HOST, CU_MEMORYTYPE_HOST, 1)                                                     \
    X(CUDA_MEMORY_UNIFIED, CU_MEMORYTYPE_UNIFIED, 4)                                               \
    X(CUDA_POINTER_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 2)                               \
    X(CUDA_RESOURCE_SM, CU_DEV_RESOURCE_TYPE_SM, 1)                                                \
    X(CUDA_GREEN_CONTEXT_DEFAULT_STREAM, CU_GREEN_CTX_DEFAULT_STREAM, 1)                           \
    X(CUDA_CAPTURE_MODE_THREAD_LOCAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, 1)

#define CUDA_ABI_CONSTANT_ENUM(ours, theirs, value) ours = (value),
enum cuda_abi_constant { CUDA_ABI_CONSTANTS(CUDA_ABI_CONSTANT_ENUM) };

/*
 * The driver's entry points: X(field, exported symbol, CUDA version that brought it as
 * 1000*major + 10*minor, REQUIRED or OPTIONAL, parameters). Each returns cuda_result.
 */
#define CUDA_DRIVER_SYMBOLS(X)                                                                     \
    X(init, cuInit, 2000, REQUIRED, (unsigned int flags))                                          \
    X(driver_get_version, cuDriverGetVersion, 2020, REQUIRED, (int *version))                      \
    X(get_error_name, cuGetErrorName, 6000, REQUIRED, (cuda_result result, const char **text))     \
    X(get_error_string, cuGetErrorString, 6000, REQUIRED, (cuda_result result, const char **text)) \
    X(device_get_count, cuDeviceGetCount, 2000, REQUIRED, (int *count))                            \
    X(device_get, cuDeviceGet, 2000, REQUIRED, (cuda_device * device, int ordinal))                \
    X(device_get_name, cuDeviceGetName, 2000, REQUIRED,                                            \
      (char *name, int length, cuda_device device))                                                \
    X(device_get_uuid, cuDeviceGetUuid_v2, 11040, REQUIRED,                                        \
      (cuda_uuid * uuid, cuda_device device))                                                      \
    X(device_total_mem, cuDeviceTotalMem_v2, 3020, REQUIRED, (size_t * bytes, cuda_device device)) \
    X(device_get_attribute, cuDeviceGetAttribute, 2000, REQUIRED,                                  \
      (int *value, cuda_device_attribute attribute, cuda_device device))                           \
    X(device_get_pci_bus_id, cuDeviceGetPCIBusId, 4010, REQUIRED,                                  \
      (char *text, int length, cuda_device device))                                                \
    X(primary_ctx_set_flags, cuDevicePrimaryCtxSetFlags_v2, 11000, REQUIRED,                       \
      (cuda_device device, unsigned int flags))                                                    \
    X(primary_ctx_retain, cuDevicePrimaryCtxRetain, 7000, REQUIRED,                                \
      (cuda_context * context, cuda_device device))                                                \
    X(primary_ctx_release, cuDevicePrimaryCtxRelease_v2, 11000, REQUIRED, (cuda_device device))    \
    X(ctx_set_current, cuCtxSetCurrent, 4000, REQUIRED, (cuda_context context))                    \
    X(ctx_synchronize, cuCtxSynchronize, 2000, REQUIRED, (void))                                   \
    X(module_load_data, cuModuleLoadData, 2000, REQUIRED,                                          \
      (cuda_module * module, const void *image))                                                   \
    X(module_get_function, cuModuleGetFunction, 2000, REQUIRED,                                    \
      (cuda_function * function, cuda_module module, const char *name))                            \
    X(func_set_attribute, cuFuncSetAttribute, 9000, REQUIRED,                                      \
      (cuda_function function, cuda_function_attribute attribute, int value))                      \
    X(module_unload, cuModuleUnload, 2000, REQUIRED, (cuda_module module))                         \
    X(mem_alloc, cuMemAlloc_v2, 3020, REQUIRED, (cuda_device_pointer * pointer, size_t bytes))     \
    X(mem_free, cuMemFree_v2, 3020, REQUIRED, (cuda_device_pointer pointer))                       \
    X(mem_get_info, cuMemGetInfo_v2, 3020, REQUIRED, (size_t * free_bytes, size_t * total_bytes))  \
    X(mem_host_alloc, cuMemHostAlloc, 2020, REQUIRED,                                              \
      (void **pointer, size_t bytes, unsigned int flags))                                          \
    X(mem_free_host, cuMemFreeHost, 2000, REQUIRED, (void *pointer))                               \
    X(memcpy_htod_async, cuMemcpyHtoDAsync_v2, 3020, REQUIRED,                                     \
      (cuda_device_pointer to, const void *from, size_t bytes, cuda_stream stream))                \
    X(memcpy_dtoh_async, cuMemcpyDtoHAsync_v2, 3020, REQUIRED,                                     \
      (void *to, cuda_device_pointer from, size_t bytes, cuda_stream stream))                      \
    X(memcpy_dtod_async, cuMemcpyDtoDAsync_v2, 3020, REQUIRED,                                     \
      (cuda_device_pointer to, cuda_device_pointer from, size_t bytes, cuda_stream stream))        \
    X(stream_create, cuStreamCreate, 2000, REQUIRED, (cuda_stream * stream, unsigned int flags))   \
    X(stream_destroy, cuStreamDestroy_v2, 4000, REQUIRED, (cuda_stream stream))                    \
    X(stream_synchronize, cuStreamSynchronize, 2000, REQUIRED, (cuda_stream stream))               \
    X(stream_begin_capture, cuStreamBeginCapture_v2, 10010, REQUIRED,                              \
      (cuda_stream stream, cuda_capture_mode mode))                                                \
    X(stream_end_capture, cuStreamEndCapture, 10000, REQUIRED,                                     \
      (cuda_stream stream, cuda_graph * graph))                                                    \
    X(graph_instantiate, cuGraphInstantiateWithFlags, 11040, REQUIRED,                             \
      (cuda_graph_exec * exec, cuda_graph graph, unsigned long long flags))                        \
    X(graph_upload, cuGraphUpload, 11010, OPTIONAL, (cuda_graph_exec exec, cuda_stream stream))    \
    X(graph_launch, cuGraphLaunch, 10000, REQUIRED, (cuda_graph_exec exec, cuda_stream stream))    \
    X(graph_exec_destroy, cuGraphExecDestroy, 10000, REQUIRED, (cuda_graph_exec exec))             \
    X(graph_destroy, cuGraphDestroy, 10000, REQUIRED, (cuda_graph graph))                          \
    X(event_create, cuEventCreate, 2000, REQUIRED, (cuda_event * event, unsigned int flags))       \
    X(event_record, cuEventRecord, 2000, REQUIRED, (cuda_event event, cuda_stream stream))         \
    X(event_elapsed_time, cuEventElapsedTime, 2000, REQUIRED,                                      \
      (float *milliseconds, cuda_event begin, cuda_event end))                                     \
    X(event_destroy, cuEventDestroy_v2, 4000, REQUIRED, (cuda_event event))                        \
    X(launch_kernel, cuLaunchKernel, 4000, REQUIRED,                                               \
      (cuda_function function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,      \
       unsigned int block_x, unsigned int block_y, unsigned int block_z,                           \
       unsigned int shared_bytes, cuda_stream stream, void **parameters, void **extra))            \
    X(launch_host_func, cuLaunchHostFunc, 10000, REQUIRED,                                         \
      (cuda_stream stream, cuda_host_function function, void *argument))                           \
    X(event_query, cuEventQuery, 2000, REQUIRED, (cuda_event event))                               \
    X(event_synchronize, cuEventSynchronize, 2000, REQUIRED, (cuda_event event))                   \
    X(stream_wait_event, cuStreamWaitEvent, 3020, REQUIRED,                                        \
      (cuda_stream stream, cuda_event event, unsigned int flags))                                  \
    X(stream_query, cuStreamQuery, 2000, REQUIRED, (cuda_stream stream))                           \
    X(stream_create_with_priority, cuStreamCreateWithPriority, 5050, REQUIRED,                     \
      (cuda_stream * stream, unsigned int flags, int priority))                                    \
    X(ctx_get_stream_priority_range, cuCtxGetStreamPriorityRange, 5050, REQUIRED,                  \
      (int *least, int *greatest))                                                                 \
    X(ctx_create, cuCtxCreate_v2, 3020, REQUIRED,                                                  \
      (cuda_context * context, unsigned int flags, cuda_device device))                            \
    X(ctx_destroy, cuCtxDestroy_v2, 4000, REQUIRED, (cuda_context context))                        \
    X(ctx_get_current, cuCtxGetCurrent, 4000, REQUIRED, (cuda_context * context))                  \
    X(memcpy_peer_async, cuMemcpyPeerAsync, 4000, REQUIRED,                                        \
      (cuda_device_pointer to, cuda_context to_context, cuda_device_pointer from,                  \
       cuda_context from_context, size_t bytes, cuda_stream stream))                               \
    X(device_can_access_peer, cuDeviceCanAccessPeer, 4000, REQUIRED,                               \
      (int *can, cuda_device device, cuda_device peer))                                            \
    X(ctx_enable_peer_access, cuCtxEnablePeerAccess, 4000, REQUIRED,                               \
      (cuda_context peer, unsigned int flags))                                                     \
    X(ctx_disable_peer_access, cuCtxDisablePeerAccess, 4000, REQUIRED, (cuda_context peer))        \
    X(mem_host_get_device_pointer, cuMemHostGetDevicePointer_v2, 3020, REQUIRED,                   \
      (cuda_device_pointer * pointer, void *host, unsigned int flags))                             \
    X(module_get_loading_mode, cuModuleGetLoadingMode, 11070, OPTIONAL,                            \
      (cuda_loading_mode * mode))                                                                  \
    X(device_get_resource, cuDeviceGetDevResource, 12040, OPTIONAL,                                \
      (cuda_device device, cuda_resource * resource, cuda_resource_type type))                     \
    X(resource_split, cuDevSmResourceSplitByCount, 12040, OPTIONAL,                                \
      (cuda_resource * result, unsigned int *groups, const cuda_resource *input,                   \
       cuda_resource *remaining, unsigned int flags, unsigned int least))                          \
    X(resource_describe, cuDevResourceGenerateDesc, 12040, OPTIONAL,                               \
      (cuda_resource_descriptor * descriptor, cuda_resource * resources, unsigned int count))      \
    X(green_ctx_create, cuGreenCtxCreate, 12040, OPTIONAL,                                         \
      (cuda_green_context * green, cuda_resource_descriptor descriptor, cuda_device device,        \
       unsigned int flags))                                                                        \
    X(green_ctx_destroy, cuGreenCtxDestroy, 12040, OPTIONAL, (cuda_green_context green))           \
    X(ctx_from_green_ctx, cuCtxFromGreenCtx, 12040, OPTIONAL,                                      \
      (cuda_context * context, cuda_green_context green))                                          \
    X(green_ctx_stream_create, cuGreenCtxStreamCreate, 12050, OPTIONAL,                            \
      (cuda_stream * stream, cuda_green_context green, unsigned int flags, int priority))
