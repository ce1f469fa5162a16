/*
 * What the entry points of the emulated driver share: the process's side of the emulated machine.
 *
 * One device, one (primary) context, named by a handle that stands for the process itself. Work is
 * done for real when it is issued, since each stream owns its buffers; only time is modelled.
 */
#ifndef MPSWEEP_EMUL_PROCESS_H
#define MPSWEEP_EMUL_PROCESS_H

#include <pthread.h>
#include <stdatomic.h>

#include "emul/emul_state.h"
#include "emul/fault.h"
#include "emul/kernels.h"
#include "emul/memory.h"
#include "emul/mps_link.h"

/* Declares the entry points with their exported names: the only visible ones of the library. */
#define PROCESS_DECLARE_ENTRY(field, symbol, version, need, parameters)                            \
    __attribute__((visibility("default"))) cuda_result symbol parameters;
CUDA_DRIVER_SYMBOLS(PROCESS_DECLARE_ENTRY)

struct graph;

struct cuda_stream_opaque {
    struct model_stream model; /* under the state's lock */
    struct graph *capture;     /* what is being captured, or NULL; the capturing thread's */
};

struct process {
    pthread_mutex_t mutex;     /* held while initialising, and while the context is made or ended */
    _Atomic bool initialised;  /* set last, when state and mps are there for good */
    _Atomic unsigned retained; /* references to the primary context */
    struct emul_state *state;
    struct mps_client mps;
    struct model_process model; /* under the state's lock */
    struct cuda_stream_opaque default_stream;
    struct memory_list device_memory, host_memory;
    struct fault_plan faults;
    _Atomic cuda_result broken; /* the first error that all later calls give back */
};

extern struct process process;

/* The calling thread's own clock, see model.h. */
extern _Thread_local uint64_t process_host_ns;

/* What must have been done before a call. */
enum process_need { NEED_NOTHING, NEED_INIT, NEED_CONTEXT };

/* Begins every entry point: injected faults, then the checks. *corrupt may be NULL. */
cuda_result process_enter(enum entry entry, enum process_need need, bool *corrupt);

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

/* Burns the CPU time that a call costs on this machine. In the thread and not under any lock: what
 * it makes scarce is cores, and not a process's launch path. */
void process_burn(void);

/* Ends a launch: sleeps if the thread has run too far ahead of the time. */
void process_end_launch(uint64_t now_ns);

/* A NULL stream is the default one. */
cuda_stream process_stream(cuda_stream stream);

/* graph.c: what capture does in place of running. */
cuda_result graph_add_kernel(struct graph *graph, const struct kernel_call *kernel);
cuda_result graph_add_copy(struct graph *graph, const struct copy_call *copy);

#endif
