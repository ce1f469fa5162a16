/*
 * What the handles of the driver's interface stand for, and the entry points that take them.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "device/cuda_abi.h"
#include "emul/model/model.h"

/* Declares the entry points with their exported names: the only visible ones of the library. */
#define HANDLES_DECLARE_ENTRY(field, symbol, version, need, parameters)                            \
    __attribute__((visibility("default"))) cuda_result symbol parameters;
CUDA_DRIVER_SYMBOLS(HANDLES_DECLARE_ENTRY)

struct graph;
struct operation;

/* Work that waits for something whose end is not known yet; see emul/cuda/deferred.h. */
struct deferred_queue {
    struct operation *first, *last;
    _Atomic uint32_t pending; /* operations in it or under way */
    bool has_runner, dying;
};

struct cuda_stream_opaque {
    struct model_stream model; /* under the state's lock */
    struct graph *capture;     /* what is being captured, or NULL; the capturing thread's */
    cuda_context context;
    bool blocking; /* goes in turns with the context's legacy default stream */
    struct deferred_queue deferred;
    cuda_stream next;        /* of the context; as the queue, under the deferred mutex */
    _Atomic uint32_t number; /* for a tracer; 0: none yet */
};

/* Contexts stay when they are destroyed, so that a thread that still has one gets an error. */
struct cuda_context_opaque {
    cuda_device device;
    _Atomic bool alive;
    cuda_context base; /* whose memory and place on the GPU it shares; itself but for green ones */
    bool is_green;
    uint64_t multiprocessors;   /* that its kernels run on, a bit each */
    unsigned retained;          /* references to a primary context; process mutex */
    uint64_t opening;           /* how often it has been made; the same */
    _Atomic unsigned schedule;  /* how to wait: CUDA_SCHEDULE_SPIN, _YIELD, or 0 for asleep */
    struct model_process model; /* under the state's lock */
    uint64_t blocking_end_ns;   /* of all blocking streams; the same */
    _Atomic uint32_t blocking_pending; /* operations of blocking streams that are deferred */
    _Atomic uint32_t peers;            /* devices whose memory may be reached, a bit each */
    struct cuda_stream_opaque legacy;
    cuda_stream streams;     /* but the legacy one */
    cuda_context next;       /* of the process; process mutex */
    _Atomic uint32_t number; /* for a tracer; 0: none yet */
};

struct copy_call {
    enum model_direction direction;
    void *to;
    const void *from;
    uint64_t bytes;
};
