/*
 * What the entry points of the emulated driver share: the process's side of the emulated machine.
 *
 * Work is done for real when it is issued, since each stream owns its buffers; only time is
 * modelled. Only what comes after a host function, or after a kernel that waits to be told, is kept
 * until then (emul/cuda/deferred.h).
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "emul/cuda/activity.h"
#include "emul/model/state.h"
#include "emul/cuda/fault.h"
#include "emul/cuda/kernels.h"
#include "emul/cuda/memory.h"
#include "emul/model/mps_link.h"
#include "emul/model/visible.h"

/* Declares the entry points with their exported names: the only visible ones of the library. */
#define PROCESS_DECLARE_ENTRY(field, symbol, version, need, parameters)                            \
    __attribute__((visibility("default"))) cuda_result symbol parameters;
CUDA_DRIVER_SYMBOLS(PROCESS_DECLARE_ENTRY)

struct graph;
struct operation;

/* Work that waits for something whose end nobody knows yet; see emul/cuda/deferred.h. */
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
    _Atomic uint32_t number; /* in what is told of activity; 0: none yet */
};

/* Contexts stay when they are destroyed, so that whoever still has one is told. */
struct cuda_context_opaque {
    cuda_device device;
    _Atomic bool alive;
    cuda_context base; /* whose memory and place on the GPU it shares; itself but for green ones */
    bool is_green;
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
    _Atomic uint32_t number; /* in what is told of activity; 0: none yet */
};

struct process {
    pthread_mutex_t mutex;    /* held while initialising, and while a context is made or ended */
    _Atomic bool initialised; /* set last, when state and mps are there for good */
    struct emul_state *state;
    struct visible visible; /* of the machine's devices; a cuda_device is an index into it */
    struct mps_client mps;
    unsigned contexts_open;
    cuda_context primary[EMUL_DEVICES_MAX]; /* NULL until first retained */
    cuda_context contexts;
    struct memory_list device_memory, host_memory;
    struct fault_plan faults;
    _Atomic cuda_result broken; /* the first error that all later calls give back */
};

extern struct process process;

/* The calling thread's current context, or NULL. */
extern _Thread_local cuda_context process_current;

/* Whether the calling thread runs a host function, which may make no CUDA call. */
extern _Thread_local bool process_in_host_function;

/* The calling thread's own clock, see model.h. */
extern _Thread_local uint64_t process_host_ns;

/* What must have been done before a call. */
enum process_need { NEED_NOTHING, NEED_INIT, NEED_CONTEXT };

/* Begins every entry point: injected faults, then the checks. *corrupt may be NULL. */
cuda_result process_enter(enum entry entry, enum process_need need, bool *corrupt);

/* Beside its value, what ends the call where the entry point returns: it is to be the initialiser
 * of a variable. */
#define process_enter(...)                                                                         \
    (process_enter)(__VA_ARGS__);                                                                  \
    __attribute__((cleanup(activity_end_call), unused))                                            \
    const struct activity_call activity_call_ = activity_current_call()

/* Breaks the context by an error of its own, which over MPS is everybody's. Returns the error that
 * the context is broken with, which may be an earlier one. */
cuda_result process_break(cuda_result error);

/* What the context is broken with by now, maybe by the MPS server; CUDA_SUCCESS_ if it is not. */
cuda_result process_check(void);

/* Whether an error is that of a broken context: what is destroyed then is gone all the same. */
bool process_is_breakage(cuda_result error);

/* Sleeps until a moment of the clock, less if the context breaks; returns what it is broken with.
 */
cuda_result process_sleep_until(uint64_t when_ns);

/* The queues that CUDA_DEVICE_MAX_CONNECTIONS asks for, or the default. */
uint32_t process_queues(bool as_mps_client);

/* Multiprocessors that this process may use, which are also its slots. */
uint32_t process_multiprocessors(void);

/* Whether an effect of a real driver is there; see emul/model/effects.h. */
static inline bool process_has(enum effect effect)
{
    return effect_is_on(process.state->effects_off, effect);
}

/* Holds the model of the context's device; emul_state_unlock() gives it back. */
static inline struct model *process_lock_model(cuda_context context)
{
    return emul_state_lock(process.state) + process.visible.devices[context->device];
}

static inline const struct model_machine *process_machine(void)
{
    return &process.state->models[0].machine;
}

/* context.c: a context that is not alive yet, in the process's list. NULL: no memory. Process mutex
 * held, as for the next two. */
cuda_context context_new(void);

/* Brings it to life. A base gives its memory and its place on the GPU, and the context has so many
 * slots of it. */
cuda_result context_open(cuda_context context, cuda_device device, cuda_context base,
                         uint32_t slot_limit);

/* Waits for all its work, then gives everything back. */
void context_close(cuda_context context);

/* A reference to the device's primary context, which is made if there is none. */
cuda_result context_retain_primary(cuda_device device, cuda_context *context);
cuda_result context_release_primary(cuda_device device);

/* stream.c: a stream of the context. */
cuda_stream stream_new(cuda_context context, bool blocking);

/* stream.c: the stream that a handle stands for in the current context. NULL: no memory. */
cuda_stream process_stream(cuda_stream stream);

/* The same for a call that puts work into it, which work of the current context must be allowed to.
 */
cuda_result stream_take(cuda_stream *stream);

/* State's lock held: before and after work is placed on a stream, so that it keeps its order with
 * the legacy default stream. */
void stream_begin_work(cuda_stream stream);
void stream_end_work(cuda_stream stream);

/* Sleeps until the stream's deferred work has been issued and its work is done. */
cuda_result stream_wait(cuda_stream stream);

struct copy_call {
    enum model_direction direction;
    void *to;
    const void *from;
    uint64_t bytes;
};

/* Moves the bytes now, after checking the device's side. */
cuda_result copy_run(const struct copy_call *copy, bool corrupt);

/* Runs a kernel now; what goes wrong in it breaks the context, as on a GPU. */
void process_run_kernel(const struct kernel_call *kernel);

/* launch.c: a kernel, or a copy within the device, into the stream. */
cuda_result launch_issue(const struct kernel_call *kernel, cuda_stream stream);

/* hold.c: a kernel that waits to be told. */
cuda_result hold_issue(const struct kernel_call *kernel, cuda_stream stream);

/* hold.c: waits until no such kernel runs on the device for this process, as allocations do. */
void hold_wait_idle(cuda_device device);

/* Burns the CPU time that a call costs on this machine. In the thread and not under any lock: what
 * it makes scarce is cores, and not a process's launch path. */
void process_burn(void);

/* Ends a launch: sleeps if the thread has run too far ahead of the time. */
void process_end_launch(uint64_t now_ns);

/* peer.c: a copy between two devices; where the contexts are not on two, within one. */
cuda_result peer_copy(void *to, cuda_context to_context, const void *from,
                      cuda_context from_context, uint64_t bytes, cuda_stream stream);

/* graph.c: what capture does in place of running. */
cuda_result graph_add_kernel(struct graph *graph, const struct kernel_call *kernel);
cuda_result graph_add_copy(struct graph *graph, const struct copy_call *copy);
