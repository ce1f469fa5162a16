/*
 * The part of CUPTI's activity and callback APIs that mpsweep uses, in our own declarations, so
 * that neither building nor running anything but a trace or an observer needs it.
 * device/cupti_abi_check.c compares every type, constant, field and prototype with cupti.h wherever
 * that is installed.
 *
 * CUPTI's records are versioned structs that grow at their end from release to release. Ours are
 * the beginning that all of them have since CUDA 11.0 (kernel records 5 to 10, copy records 3 to 6,
 * memset records 2 to 4, records 1 to 4 of copies between GPUs), and are only ever read through
 * pointers into CUPTI's own buffers.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The check replaces this block by the toolkit's types. */
#ifndef MPSWEEP_CUPTI_ABI_TYPES_GIVEN
#include "device/cuda_abi.h"

typedef int cupti_result; /* 0 is success */
typedef int cupti_activity_kind;
typedef int cupti_callback_domain;
typedef int cupti_thread_id_type;
typedef struct cupti_subscriber_opaque *cupti_subscriber;

/* What every record begins with. */
typedef struct {
    cupti_activity_kind kind;
} cupti_activity;
#endif

/* The first release whose records begin as ours: CUDA 11.0. */
#define CUPTI_VERSION_OLDEST 13

/* X(our name, the toolkit's name, value) */
#define CUPTI_ABI_CONSTANTS(X)                                                                     \
    X(CUPTI_SUCCESS_, CUPTI_SUCCESS, 0)                                                            \
    X(CUPTI_INVALID_PARAMETER, CUPTI_ERROR_INVALID_PARAMETER, 1)                                   \
    X(CUPTI_INVALID_OPERATION, CUPTI_ERROR_INVALID_OPERATION, 7)                                   \
    X(CUPTI_MAX_LIMIT_REACHED, CUPTI_ERROR_MAX_LIMIT_REACHED, 12)                                  \
    X(CUPTI_MULTIPLE_SUBSCRIBERS, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, 39)              \
    X(CUPTI_KIND_COPY, CUPTI_ACTIVITY_KIND_MEMCPY, 1)                                              \
    X(CUPTI_KIND_SET, CUPTI_ACTIVITY_KIND_MEMSET, 2)                                               \
    X(CUPTI_KIND_DRIVER, CUPTI_ACTIVITY_KIND_DRIVER, 4)                                            \
    X(CUPTI_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_RUNTIME, 5)                                          \
    X(CUPTI_KIND_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 10)                                \
    X(CUPTI_KIND_PEER_COPY, CUPTI_ACTIVITY_KIND_MEMCPY2, 22)                                       \
    X(CUPTI_DOMAIN_DRIVER, CUPTI_CB_DOMAIN_DRIVER_API, 1)                                          \
    X(CUPTI_DOMAIN_RUNTIME, CUPTI_CB_DOMAIN_RUNTIME_API, 2)                                        \
    X(CUPTI_SITE_ENTER, CUPTI_API_ENTER, 0)                                                        \
    X(CUPTI_SITE_EXIT, CUPTI_API_EXIT, 1)                                                          \
    X(CUPTI_THREAD_ID_SYSTEM, CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM, 1)                             \
    X(CUPTI_FLUSH_FORCED, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED, 1)                                     \
    X(CUPTI_COPY_TO_DEVICE, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, 1)                                    \
    X(CUPTI_COPY_TO_HOST, CUPTI_ACTIVITY_MEMCPY_KIND_DTOH, 2)                                      \
    X(CUPTI_COPY_WITHIN, CUPTI_ACTIVITY_MEMCPY_KIND_DTOD, 8)                                       \
    X(CUPTI_COPY_BETWEEN, CUPTI_ACTIVITY_MEMCPY_KIND_PTOP, 10)                                     \
    X(CUPTI_MEMORY_PAGEABLE, CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE, 1)                               \
    X(CUPTI_MEMORY_PINNED, CUPTI_ACTIVITY_MEMORY_KIND_PINNED, 2)                                   \
    X(CUPTI_MEMORY_DEVICE, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, 3)                                   \
    X(CUPTI_MEMORY_ARRAY, CUPTI_ACTIVITY_MEMORY_KIND_ARRAY, 4)                                     \
    X(CUPTI_MEMORY_MANAGED, CUPTI_ACTIVITY_MEMORY_KIND_MANAGED, 5)                                 \
    X(CUPTI_MEMORY_DEVICE_STATIC, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC, 6)                     \
    X(CUPTI_MEMORY_MANAGED_STATIC, CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC, 7)

#define CUPTI_ABI_CONSTANT_ENUM(ours, theirs, value) ours = (value),
enum cupti_abi_constant { CUPTI_ABI_CONSTANTS(CUPTI_ABI_CONSTANT_ENUM) };

/* A call of the driver or the runtime; times are those of CUPTI's clock, nanoseconds. */
struct cupti_call_record {
    int32_t kind;
    uint32_t callback; /* which call, of its domain */
    uint64_t start, end;
    uint32_t process, thread;
    uint32_t correlation; /* what it started on the GPU has the same */
    uint32_t result;
};

/* The beginning of a kernel record. */
struct cupti_kernel_record {
    int32_t kind;
    uint8_t cache_config, memory_config;
    uint16_t registers; /* of each GPU thread */
    uint32_t partitioned[2];
    uint64_t start, end, completed; /* start 0: not known */
    uint32_t device, context, stream;
    int32_t grid[3], block[3];
    int32_t static_shared, dynamic_shared; /* bytes */
    uint32_t local_memory[2];
    uint32_t correlation;
    int64_t grid_id;
    const char *name; /* mangled; CUPTI's, for as long as the module is loaded */
};

/* The beginning of a copy record. */
struct cupti_copy_record {
    int32_t kind;
    uint8_t direction;    /* CUPTI_COPY_... */
    uint8_t source, sink; /* CUPTI_MEMORY_... */
    uint8_t flags;
    uint64_t bytes;
    uint64_t start, end;
    uint32_t device, context, stream;
    uint32_t correlation;
};

/* The beginning of a record of a copy between GPUs. */
struct cupti_peer_copy_record {
    int32_t kind;
    uint8_t direction;    /* CUPTI_COPY_... */
    uint8_t source, sink; /* CUPTI_MEMORY_... */
    uint8_t flags;
    uint64_t bytes;
    uint64_t start, end;
    uint32_t device, context, stream; /* where it was issued */
    uint32_t source_device, source_context;
    uint32_t sink_device, sink_context;
    uint32_t correlation;
};

/* The beginning of a memset record. */
struct cupti_set_record {
    int32_t kind;
    uint32_t value;
    uint64_t bytes;
    uint64_t start, end;
    uint32_t device, context, stream;
    uint32_t correlation;
    uint16_t flags, memory; /* CUPTI_MEMORY_... */
};

/* What a callback of the driver's or the runtime's domain gets. */
struct cupti_callback_data {
    int32_t site; /* CUPTI_SITE_... */
    const char *function;
    const void *parameters; /* one of the structs below, by the function */
    void *result;           /* at exit: cuda_result, or the runtime's error */
    const char *symbol;     /* of launches: the kernel's name, mangled */
    cuda_context context;   /* the thread's current one, or NULL */
    uint32_t context_number;
    uint64_t *shared;     /* from the callback at entry to that at exit */
    uint32_t correlation; /* as in the record of the call */
};

/*
 * Parameters of calls of the driver, by what its functions have in common. Those without a stream
 * of their own use the default one.
 */

/* cuMemcpy, cuMemcpyHtoD, DtoH and DtoD, and as ...Async. */
struct cupti_copy_parameters {
    uint64_t to, from;
    size_t bytes;
    cuda_stream stream; /* of ...Async only */
};

/* cuMemcpyPeer, and as ...Async. */
struct cupti_peer_copy_parameters {
    uint64_t to;
    cuda_context to_context;
    uint64_t from;
    cuda_context from_context;
    size_t bytes;
    cuda_stream stream; /* of ...Async only */
};

/* cuGraphLaunch. */
struct cupti_graph_parameters {
    cuda_graph_exec exec;
    cuda_stream stream;
};

/* cuLaunchKernel and cuLaunchCooperativeKernel. */
struct cupti_launch_parameters {
    cuda_function function;
    uint32_t grid[3], block[3];
    uint32_t shared_bytes;
    cuda_stream stream;
};

/* cuLaunchKernelEx. */
struct cupti_launch_config {
    uint32_t grid[3], block[3];
    uint32_t shared_bytes;
    cuda_stream stream;
};
struct cupti_launch_ex_parameters {
    const struct cupti_launch_config *config;
    cuda_function function;
};

/* cuStreamSynchronize, cuStreamQuery, cuLaunchHostFunc. */
struct cupti_stream_parameters {
    cuda_stream stream;
};

/* cuStreamWaitEvent. */
struct cupti_wait_parameters {
    cuda_stream stream;
    cuda_event event;
};

/* cuEventRecord; of cuEventSynchronize and cuEventQuery only the event. */
struct cupti_event_parameters {
    cuda_event event;
    cuda_stream stream;
};

/* X(our struct, our field, the toolkit's field, its struct in each release that is known) */
#define CUPTI_ABI_FIELDS(X)                                                                        \
    X(cupti_call_record, kind, kind, CUpti_ActivityAPI)                                            \
    X(cupti_call_record, callback, cbid, CUpti_ActivityAPI)                                        \
    X(cupti_call_record, start, start, CUpti_ActivityAPI)                                          \
    X(cupti_call_record, end, end, CUpti_ActivityAPI)                                              \
    X(cupti_call_record, process, processId, CUpti_ActivityAPI)                                    \
    X(cupti_call_record, thread, threadId, CUpti_ActivityAPI)                                      \
    X(cupti_call_record, correlation, correlationId, CUpti_ActivityAPI)                            \
    X(cupti_call_record, result, returnValue, CUpti_ActivityAPI)                                   \
    CUPTI_ABI_KERNEL(X, CUpti_ActivityKernel5)                                                     \
    CUPTI_ABI_KERNEL(X, CUpti_ActivityKernel6)                                                     \
    CUPTI_ABI_KERNEL(X, CUpti_ActivityKernel7)                                                     \
    CUPTI_ABI_KERNEL(X, CUpti_ActivityKernel8)                                                     \
    CUPTI_ABI_KERNEL(X, CUpti_ActivityKernel9)                                                     \
    CUPTI_ABI_KERNEL(X, CUpti_ActivityKernel10)                                                    \
    CUPTI_ABI_COPY(X, CUpti_ActivityMemcpy3)                                                       \
    CUPTI_ABI_COPY(X, CUpti_ActivityMemcpy4)                                                       \
    CUPTI_ABI_COPY(X, CUpti_ActivityMemcpy5)                                                       \
    CUPTI_ABI_COPY(X, CUpti_ActivityMemcpy6)                                                       \
    CUPTI_ABI_PEER_COPY(X, CUpti_ActivityMemcpyPtoP)                                               \
    CUPTI_ABI_PEER_COPY(X, CUpti_ActivityMemcpyPtoP2)                                              \
    CUPTI_ABI_PEER_COPY(X, CUpti_ActivityMemcpyPtoP3)                                              \
    CUPTI_ABI_PEER_COPY(X, CUpti_ActivityMemcpyPtoP4)                                              \
    CUPTI_ABI_SET(X, CUpti_ActivityMemset2)                                                        \
    CUPTI_ABI_SET(X, CUpti_ActivityMemset3)                                                        \
    CUPTI_ABI_SET(X, CUpti_ActivityMemset4)                                                        \
    CUPTI_ABI_GRID(X, cupti_launch_config, CUlaunchConfig)                                         \
    X(cupti_launch_ex_parameters, config, config, cuLaunchKernelEx_params)                         \
    X(cupti_launch_ex_parameters, function, f, cuLaunchKernelEx_params)

/* What records of all kinds of work have, and those of both kinds of copies. */
#define CUPTI_ABI_WORK(X, ours, theirs)                                                            \
    X(ours, kind, kind, theirs)                                                                    \
    X(ours, start, start, theirs)                                                                  \
    X(ours, end, end, theirs)                                                                      \
    X(ours, device, deviceId, theirs)                                                              \
    X(ours, context, contextId, theirs)                                                            \
    X(ours, stream, streamId, theirs)                                                              \
    X(ours, correlation, correlationId, theirs)

#define CUPTI_ABI_MOVED(X, ours, theirs)                                                           \
    CUPTI_ABI_WORK(X, ours, theirs)                                                                \
    X(ours, direction, copyKind, theirs)                                                           \
    X(ours, source, srcKind, theirs)                                                               \
    X(ours, sink, dstKind, theirs)                                                                 \
    X(ours, bytes, bytes, theirs)

#define CUPTI_ABI_KERNEL(X, theirs)                                                                \
    CUPTI_ABI_WORK(X, cupti_kernel_record, theirs)                                                 \
    X(cupti_kernel_record, registers, registersPerThread, theirs)                                  \
    X(cupti_kernel_record, grid[0], gridX, theirs)                                                 \
    X(cupti_kernel_record, grid[2], gridZ, theirs)                                                 \
    X(cupti_kernel_record, block[0], blockX, theirs)                                               \
    X(cupti_kernel_record, block[2], blockZ, theirs)                                               \
    X(cupti_kernel_record, static_shared, staticSharedMemory, theirs)                              \
    X(cupti_kernel_record, dynamic_shared, dynamicSharedMemory, theirs)                            \
    X(cupti_kernel_record, name, name, theirs)

#define CUPTI_ABI_COPY(X, theirs) CUPTI_ABI_MOVED(X, cupti_copy_record, theirs)

#define CUPTI_ABI_PEER_COPY(X, theirs)                                                             \
    CUPTI_ABI_MOVED(X, cupti_peer_copy_record, theirs)                                             \
    X(cupti_peer_copy_record, source_device, srcDeviceId, theirs)                                  \
    X(cupti_peer_copy_record, sink_device, dstDeviceId, theirs)

#define CUPTI_ABI_SET(X, theirs)                                                                   \
    CUPTI_ABI_WORK(X, cupti_set_record, theirs)                                                    \
    X(cupti_set_record, bytes, bytes, theirs)                                                      \
    X(cupti_set_record, memory, memoryKind, theirs)

/* Those that every release has. The functions of default streams of threads have their own structs,
 * of the same layout. */
#define CUPTI_ABI_CALLBACK_FIELDS(X)                                                               \
    X(cupti_callback_data, site, callbackSite, CUpti_CallbackData)                                 \
    X(cupti_callback_data, function, functionName, CUpti_CallbackData)                             \
    X(cupti_callback_data, parameters, functionParams, CUpti_CallbackData)                         \
    X(cupti_callback_data, result, functionReturnValue, CUpti_CallbackData)                        \
    X(cupti_callback_data, symbol, symbolName, CUpti_CallbackData)                                 \
    X(cupti_callback_data, context, context, CUpti_CallbackData)                                   \
    X(cupti_callback_data, context_number, contextUid, CUpti_CallbackData)                         \
    X(cupti_callback_data, shared, correlationData, CUpti_CallbackData)                            \
    X(cupti_callback_data, correlation, correlationId, CUpti_CallbackData)                         \
    CUPTI_ABI_COPY_CALL(X, cuMemcpy, _ptds, dst, src)                                              \
    CUPTI_ABI_COPY_CALL(X, cuMemcpyHtoD_v2, _ptds, dstDevice, srcHost)                             \
    CUPTI_ABI_COPY_CALL(X, cuMemcpyDtoH_v2, _ptds, dstHost, srcDevice)                             \
    CUPTI_ABI_COPY_CALL(X, cuMemcpyDtoD_v2, _ptds, dstDevice, srcDevice)                           \
    CUPTI_ABI_COPY_ASYNC(X, cuMemcpyAsync, dst, src)                                               \
    CUPTI_ABI_COPY_ASYNC(X, cuMemcpyHtoDAsync_v2, dstDevice, srcHost)                              \
    CUPTI_ABI_COPY_ASYNC(X, cuMemcpyDtoHAsync_v2, dstHost, srcDevice)                              \
    CUPTI_ABI_COPY_ASYNC(X, cuMemcpyDtoDAsync_v2, dstDevice, srcDevice)                            \
    CUPTI_ABI_PEER_COPY_CALL(X, cuMemcpyPeer_params)                                               \
    CUPTI_ABI_PEER_COPY_CALL(X, cuMemcpyPeerAsync_params)                                          \
    X(cupti_peer_copy_parameters, stream, hStream, cuMemcpyPeerAsync_params)                       \
    X(cupti_graph_parameters, exec, hGraphExec, cuGraphLaunch_ptsz_params)                         \
    X(cupti_graph_parameters, stream, hStream, cuGraphLaunch_ptsz_params)                          \
    X(cupti_graph_parameters, stream, hStream, cuGraphLaunch_params)                               \
    CUPTI_ABI_LAUNCH_CALL(X, cuLaunchKernel_params)                                                \
    CUPTI_ABI_LAUNCH_CALL(X, cuLaunchKernel_ptsz_params)                                           \
    CUPTI_ABI_LAUNCH_CALL(X, cuLaunchCooperativeKernel_params)                                     \
    CUPTI_ABI_STREAM_CALL(X, cuStreamSynchronize)                                                  \
    CUPTI_ABI_STREAM_CALL(X, cuStreamQuery)                                                        \
    CUPTI_ABI_STREAM_CALL(X, cuLaunchHostFunc)                                                     \
    X(cupti_wait_parameters, stream, hStream, cuStreamWaitEvent_params)                            \
    X(cupti_wait_parameters, event, hEvent, cuStreamWaitEvent_params)                              \
    X(cupti_event_parameters, event, hEvent, cuEventRecord_params)                                 \
    X(cupti_event_parameters, stream, hStream, cuEventRecord_params)                               \
    X(cupti_event_parameters, event, hEvent, cuEventSynchronize_params)                            \
    X(cupti_event_parameters, event, hEvent, cuEventQuery_params)

#define CUPTI_ABI_COPY_PARAMETERS(X, theirs, target, source)                                       \
    X(cupti_copy_parameters, to, target, theirs)                                                   \
    X(cupti_copy_parameters, from, source, theirs)                                                 \
    X(cupti_copy_parameters, bytes, ByteCount, theirs)

#define CUPTI_ABI_COPY_CALL(X, call, per_thread, target, source)                                   \
    CUPTI_ABI_COPY_PARAMETERS(X, call##_params, target, source)                                    \
    CUPTI_ABI_COPY_PARAMETERS(X, call##per_thread##_params, target, source)

#define CUPTI_ABI_COPY_ASYNC(X, call, target, source)                                              \
    CUPTI_ABI_COPY_CALL(X, call, _ptsz, target, source)                                            \
    X(cupti_copy_parameters, stream, hStream, call##_params)                                       \
    X(cupti_copy_parameters, stream, hStream, call##_ptsz_params)

#define CUPTI_ABI_PEER_COPY_CALL(X, theirs)                                                        \
    X(cupti_peer_copy_parameters, to, dstDevice, theirs)                                           \
    X(cupti_peer_copy_parameters, to_context, dstContext, theirs)                                  \
    X(cupti_peer_copy_parameters, from, srcDevice, theirs)                                         \
    X(cupti_peer_copy_parameters, from_context, srcContext, theirs)                                \
    X(cupti_peer_copy_parameters, bytes, ByteCount, theirs)

#define CUPTI_ABI_GRID(X, ours, theirs)                                                            \
    X(ours, grid[0], gridDimX, theirs)                                                             \
    X(ours, grid[2], gridDimZ, theirs)                                                             \
    X(ours, block[0], blockDimX, theirs)                                                           \
    X(ours, block[2], blockDimZ, theirs)                                                           \
    X(ours, shared_bytes, sharedMemBytes, theirs)                                                  \
    X(ours, stream, hStream, theirs)

#define CUPTI_ABI_LAUNCH_CALL(X, theirs)                                                           \
    X(cupti_launch_parameters, function, f, theirs)                                                \
    CUPTI_ABI_GRID(X, cupti_launch_parameters, theirs)

#define CUPTI_ABI_STREAM_CALL(X, call)                                                             \
    X(cupti_stream_parameters, stream, hStream, call##_params)                                     \
    X(cupti_stream_parameters, stream, hStream, call##_ptsz_params)

/* Gives CUPTI a buffer to fill; NULL: there is none, and it drops records. */
typedef void (*cupti_buffer_requested)(uint8_t **buffer, size_t *bytes, size_t *records);
/* Gives a filled one back. From any thread. */
typedef void (*cupti_buffer_completed)(cuda_context context, uint32_t stream, uint8_t *buffer,
                                       size_t bytes, size_t valid_bytes);
typedef uint64_t (*cupti_clock)(void);
/* Is called in the thread that makes the call, with the user's pointer of the subscription. `data`:
 * struct cupti_callback_data, CUPTI's. */
typedef void (*cupti_callback)(void *user, cupti_callback_domain domain, uint32_t callback,
                               const void *data);

/*
 * CUPTI's entry points: X(field, exported symbol, CUDA version that brought it as
 * 1000*major + 10*minor, REQUIRED or OPTIONAL, parameters). Each returns cupti_result. A trace
 * needs the required ones; an observer needs the subscription, too, and checks for it.
 */
#define CUPTI_SYMBOLS(X)                                                                           \
    X(get_version, cuptiGetVersion, 4000, REQUIRED, (uint32_t * version))                          \
    X(get_result_string, cuptiGetResultString, 4000, REQUIRED,                                     \
      (cupti_result result, const char **text))                                                    \
    X(get_callback_name, cuptiGetCallbackName, 4000, REQUIRED,                                     \
      (cupti_callback_domain domain, uint32_t callback, const char **name))                        \
    X(get_timestamp, cuptiGetTimestamp, 4000, REQUIRED, (uint64_t * nanoseconds))                  \
    X(set_thread_id_type, cuptiSetThreadIdType, 9000, REQUIRED, (cupti_thread_id_type type))       \
    X(register_clock, cuptiActivityRegisterTimestampCallback, 11060, OPTIONAL,                     \
      (cupti_clock clock))                                                                         \
    X(register_buffers, cuptiActivityRegisterCallbacks, 5050, REQUIRED,                            \
      (cupti_buffer_requested requested, cupti_buffer_completed completed))                        \
    X(enable, cuptiActivityEnable, 5000, REQUIRED, (cupti_activity_kind kind))                     \
    X(disable, cuptiActivityDisable, 5000, REQUIRED, (cupti_activity_kind kind))                   \
    X(next_record, cuptiActivityGetNextRecord, 5000, REQUIRED,                                     \
      (uint8_t * buffer, size_t valid_bytes, cupti_activity * *record))                            \
    X(get_dropped, cuptiActivityGetNumDroppedRecords, 5000, REQUIRED,                              \
      (cuda_context context, uint32_t stream, size_t * dropped))                                   \
    X(flush_all, cuptiActivityFlushAll, 5000, REQUIRED, (uint32_t flags))                          \
    X(subscribe, cuptiSubscribe, 4000, OPTIONAL,                                                   \
      (cupti_subscriber * subscriber, cupti_callback callback, void *user))                        \
    X(unsubscribe, cuptiUnsubscribe, 4000, OPTIONAL, (cupti_subscriber subscriber))                \
    X(enable_callback, cuptiEnableCallback, 4000, OPTIONAL,                                        \
      (uint32_t enable, cupti_subscriber subscriber, cupti_callback_domain domain,                 \
       uint32_t callback))
