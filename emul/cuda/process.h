/*
 * What the entry points of the emulated driver share: the process's side of the emulated machine.
 *
 * Work is done for real when it is issued, since each stream owns its buffers; only time is
 * modelled. Only what comes after a host function, or after a kernel that waits for a flag, is kept
 * until then (emul/cuda/deferred.h).
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "emul/cuda/activity.h"
#include "emul/cuda/fault.h"
#include "emul/cuda/handles.h"
#include "emul/cuda/kernels.h"
#include "emul/cuda/memory.h"
#include "emul/model/mps_link.h"
#include "emul/model/state.h"
#include "emul/model/visible.h"

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

/* Whether the calling thread's call must alter a byte of what it delivers: an injected fault. */
extern _Thread_local bool process_corrupts;

/* The calling thread's own clock, see model.h. */
extern _Thread_local uint64_t process_host_ns;

/* What must have been done before a call. */
enum process_need { NEED_NOTHING, NEED_INIT, NEED_CONTEXT };

/* Begins an entry point: injected faults, then the checks. Sets process_corrupts. */
cuda_result process_enter(enum entry entry, enum process_need need);

/* Begins every entry point, with a variable `result`. Whatever way the entry point
 * returns, what this declares ends the call for the tracer there. */
#define ENTER(entry, need)                                                                         \
    cuda_result result = process_enter(entry, need);                                               \
    __attribute__((cleanup(activity_end_call), unused))                                            \
    const struct activity_call activity_call_ = activity_current_call()

/* The same; returns from the entry point unless the result is CUDA_SUCCESS_, and the arguments are
 * valid: else CUDA_INVALID_VALUE. */
#define ENTER_IF_VALID(field, need, valid)                                                         \
    ENTER(ENTRY_##field, need);                                                                    \
    if (result == CUDA_SUCCESS_ && !(valid))                                                       \
        result = CUDA_INVALID_VALUE;                                                               \
    if (result != CUDA_SUCCESS_)                                                                   \
    return result
#define ENTER_OR_RETURN(field, need) ENTER_IF_VALID(field, need, true)

/* The same for what destroys: it works in a broken context, too, and then gives the error. */
#define ENTER_TO_DESTROY(field)                                                                    \
    ENTER(ENTRY_##field, NEED_CONTEXT);                                                            \
    if (result != CUDA_SUCCESS_ && !process_is_breakage(result))                                   \
    return result

/* Breaks the context by an error of its own, which over MPS is everybody's. Returns the error that
 * the context is broken with, which may be an earlier one. */
cuda_result process_break(cuda_result error);

/* Whether an error is that of a broken context: what is destroyed then is gone all the same. */
bool process_is_breakage(cuda_result error);

/* Sleeps until a moment of the clock, less if the context breaks; returns what it is broken with.
 */
cuda_result process_sleep_until(uint64_t when_ns);

/* The same, and until the thread's own time has come. */
static inline cuda_result process_sleep_own(uint64_t when_ns)
{
    return process_sleep_until(when_ns > process_host_ns ? when_ns : process_host_ns);
}

/* The queues that CUDA_DEVICE_MAX_CONNECTIONS asks for, or the default. */
uint32_t process_queues(bool as_mps_client);

/* Multiprocessors that this process may use, which are also its slots. */
uint32_t process_multiprocessors(void);

/* Bytes of shared memory that a block may be allowed, of the GPU's compute capability (device.c).
 */
int process_shared_most(void);

/* Whether an effect of a real driver is there; see emul/model/effects.h. */
static inline bool process_has(enum effect effect)
{
    return effect_is_on(process.state->effects_off, effect);
}

static inline bool process_is_device(cuda_device device)
{
    return device >= 0 && (uint32_t)device < process.visible.count;
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

/* Runs a kernel now; what goes wrong in it breaks the context, as on a GPU. */
void process_run_kernel(const struct kernel_call *kernel);

/* Burns the CPU time that a call costs on this machine. In the thread and not under any lock: what
 * it makes scarce is cores, and not a process's launch path. */
void process_burn(void);

/* Ends a launch: sleeps if the thread has run too far ahead of the time. */
void process_end_launch(uint64_t now_ns);
