/*
 * The part of CUPTI's activity API that mpsweep uses, in our own declarations, so that neither
 * building nor running anything but a trace needs it.
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
    X(CUPTI_KIND_COPY, CUPTI_ACTIVITY_KIND_MEMCPY, 1)                                              \
    X(CUPTI_KIND_SET, CUPTI_ACTIVITY_KIND_MEMSET, 2)                                               \
    X(CUPTI_KIND_DRIVER, CUPTI_ACTIVITY_KIND_DRIVER, 4)                                            \
    X(CUPTI_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_RUNTIME, 5)                                          \
    X(CUPTI_KIND_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 10)                                \
    X(CUPTI_KIND_PEER_COPY, CUPTI_ACTIVITY_KIND_MEMCPY2, 22)                                       \
    X(CUPTI_DOMAIN_DRIVER, CUPTI_CB_DOMAIN_DRIVER_API, 1)                                          \
    X(CUPTI_DOMAIN_RUNTIME, CUPTI_CB_DOMAIN_RUNTIME_API, 2)                                        \
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
    CUPTI_ABI_SET(X, CUpti_ActivityMemset4)

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

/* Gives CUPTI a buffer to fill; NULL: there is none, and it drops records. */
typedef void (*cupti_buffer_requested)(uint8_t **buffer, size_t *bytes, size_t *records);
/* Gives a filled one back. From any thread. */
typedef void (*cupti_buffer_completed)(cuda_context context, uint32_t stream, uint8_t *buffer,
                                       size_t bytes, size_t valid_bytes);
typedef uint64_t (*cupti_clock)(void);

/*
 * CUPTI's entry points: X(field, exported symbol, CUDA version that brought it as
 * 1000*major + 10*minor, REQUIRED or OPTIONAL, parameters). Each returns cupti_result.
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
    X(flush_all, cuptiActivityFlushAll, 5000, REQUIRED, (uint32_t flags))
