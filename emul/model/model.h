/*
 * The time model of the emulated GPU: pure functions of explicit times, with no clock and no lock.
 *
 * Every operation reserves its place on the modelled resources when it is issued, so its end is
 * known at once and callers sleep only where a driver would make them wait. All times are
 * nanoseconds of one clock; "now" never runs backwards between calls. Callers serialise all calls
 * on one struct model, and with them those on the processes and streams that use it.
 *
 * Resources:
 *   stream             runs its operations in order
 *   hardware queue     of a process; streams share queues round robin, and the kernels of one queue
 *                      run in order, also those of different streams
 *   launch path        of a process: one launch at a time
 *   staging path       of a process: pageable copies pass one at a time, in issue order, also while
 *                      the first of them still waits for its stream
 *   front end          of the GPU: accepts one stream launch every front_ns
 *   graph front end    of the GPU: begins one kernel of a graph every graph_node_ns
 *   slots              of a scheduling group: one kernel of one unit runs in each
 *   copy engines       of a scheduling group: one each way
 *   host memory        of the machine: moves the bytes of all GPUs' copies, host_mb_per_s
 *   slices             of the GPU: slice_ns each, owned by one scheduling group at a time
 *
 * A scheduling group is what the GPU takes for one context: a process of its own, or all clients of
 * one MPS server together. Work advances only in slices that its group owns. A group claims a slice
 * when it first needs it, and leaves room for the other active groups between two claims.
 *
 * A kernel whose end is not known yet holds its group's place on the GPU without claiming slices.
 * Beside it the work of another group waits until the time slice that the GPU is in is over; the
 * GPU goes back when that work is done, and a new slice begins. Such a kernel takes no slot, since
 * it computes nothing, and copy engines serve other groups meanwhile.
 *
 * struct model lies in memory shared between processes: no pointers inside.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "emul/model/effects.h"

#define MODEL_SLOTS_MAX 64
#define MODEL_QUEUES_MAX 32

#define MODEL_NS_MOST UINT64_C(1000000000)
#define MODEL_MB_MOST UINT64_C(10000000)

/* What a machine can do: X(name, default, least, most). emul/model/machine.h describes each name.
 * Slices are remembered for a number of slices ahead: very short ones would not reach far. */
#define MODEL_MACHINE_NUMBERS(X)                                                                   \
    X(slots, 32, 1, MODEL_SLOTS_MAX)                                                               \
    X(launch_ns, 3000, 0, MODEL_NS_MOST)                                                           \
    X(graph_launch_ns, 8000, 0, MODEL_NS_MOST)                                                     \
    X(copy_call_ns, 2000, 0, MODEL_NS_MOST)                                                        \
    X(front_ns, 2000, 0, MODEL_NS_MOST)                                                            \
    X(graph_node_ns, 0, 0, MODEL_NS_MOST)                                                          \
    X(kernel_ns, 20000, 0, MODEL_NS_MOST)                                                          \
    X(graph_kernel_ns, 10000, 0, MODEL_NS_MOST)                                                    \
    X(spin_ns, 45, 0, MODEL_NS_MOST)                                                               \
    X(copy_latency_ns, 5000, 0, MODEL_NS_MOST)                                                     \
    X(h2d_mb_per_s, 25000, 1, MODEL_MB_MOST)                                                       \
    X(d2h_mb_per_s, 25000, 1, MODEL_MB_MOST)                                                       \
    X(pageable_mb_per_s, 12000, 1, MODEL_MB_MOST)                                                  \
    X(device_mb_per_s, 1000000, 1, MODEL_MB_MOST)                                                  \
    X(host_mb_per_s, 0, 0, MODEL_MB_MOST)                                                          \
    X(slice_ns, 2000000, 100000, MODEL_NS_MOST)                                                    \
    X(queues, 8, 1, MODEL_QUEUES_MAX)                                                              \
    X(queues_mps, 2, 1, MODEL_QUEUES_MAX)                                                          \
    X(queues_most, 32, 1, MODEL_QUEUES_MAX)                                                        \
    X(cpu_ns, 0, 0, MODEL_NS_MOST)

#define MODEL_MACHINE_FIELD(name, initial, least, most) uint64_t name;
struct model_machine {
    MODEL_MACHINE_NUMBERS(MODEL_MACHINE_FIELD)
};

extern const struct model_machine model_machine_default;

/* A group counts as active this long after its last work: between two iterations a process is idle
 * for a moment, and must not lose its turn for it. */
#define MODEL_LINGER_NS UINT64_C(5000000)

/* How far a thread's own clock may run ahead before its launches sleep: short enough that the time
 * spent in them can be seen, long enough that the sleeps cost little. */
#define MODEL_AHEAD_NS UINT64_C(1000000)

/* What one slot holds: this many blocks of up to this many threads. */
#define MODEL_SLOT_BLOCKS 5
#define MODEL_BLOCK_THREADS 64

#define MODEL_MEMORY_BYTES (UINT64_C(8) << 30)

#define MODEL_CONTEXTS 256
#define MODEL_GROUPS 256
#define MODEL_INTERVALS 256
#define MODEL_SLICES 32768 /* how many slices ahead claims are remembered: 65 s of 2 ms */

/* When a piece of work runs. */
struct model_place {
    uint64_t begin_ns, end_ns;
};

struct model_interval {
    uint64_t from_ns, to_ns;
};

/* The times when a copy engine is taken, in order and apart. */
struct model_calendar {
    uint32_t count;
    struct model_interval intervals[MODEL_INTERVALS];
};

enum model_direction { MODEL_TO_DEVICE, MODEL_TO_HOST };

struct model_group {
    uint32_t contexts;   /* that belong to it; 0: free */
    uint32_t generation; /* of this use of the entry; makes claims of earlier uses void */
    int32_t server;      /* process ID of the MPS server, 0 for a process of its own */
    uint32_t holds;      /* kernels running whose end is not known */
    uint64_t held_since_ns;
    uint64_t slots_free_ns[MODEL_SLOTS_MAX];
    struct model_calendar engines[2];
};

struct model_context {
    int32_t pid; /* 0: free */
    uint32_t group;
    uint32_t holds;
    uint64_t start_time; /* of the process: a later one of the same ID has another */
    uint64_t memory_bytes;
};

struct model {
    struct model_machine machine; /* set once, when the state is made */
    effects_off effects_off;      /* the same */
    uint32_t holds;               /* of all groups, to be seen quickly */
    uint64_t away_until_ns;       /* end of the last work beside another group's holding kernel */
    uint64_t front_free_ns, graph_front_free_ns;
    uint32_t groups_end;                  /* no group in use from here on */
    uint64_t busy_until_ns[MODEL_GROUPS]; /* beside the groups, to be scanned quickly */
    struct model_group groups[MODEL_GROUPS];
    struct model_context contexts[MODEL_CONTEXTS];
    uint64_t slices[MODEL_SLICES]; /* ring of claims, see slices.c */
};

/* One process's view; private to the process. */
struct model_process {
    uint32_t context; /* index in the table */
    uint32_t group;
    uint32_t queue_count, next_queue;
    uint32_t slot_limit;   /* all slots, or fewer under an active thread percentage */
    uint64_t memory_limit; /* bytes that it may have, 0: no limit; the caller's to set */
    uint64_t launch_free_ns;
    uint64_t staging_free_ns;
    uint64_t end_ns; /* of all work so far */
    uint64_t queues_free_ns[MODEL_QUEUES_MAX];
    uint64_t *host_free_ns; /* of the machine's host memory; the caller's, NULL: no limit */
    uint64_t slots_free_ns[MODEL_SLOTS_MAX]; /* the first slot_limit are used, where limited */
    /* Where the places of what is issued are noted, in its order, if anywhere; the caller's. */
    struct model_place *places;
    uint32_t places_room, places_count;
};

struct model_stream {
    uint32_t queue;
    uint64_t end_ns;
};

/* A piece of GPU work, ready to be placed. */
enum model_work_kind { MODEL_KERNEL, MODEL_COPY };
struct model_work {
    enum model_work_kind kind;
    uint32_t slots;                 /* kernel */
    enum model_direction direction; /* copy */
    uint64_t duration_ns;
    uint64_t host_ns; /* copy: of the host's memory, which serves one at a time; 0: no limit */
};

/* What work costs. A grid larger than the GPU runs in waves; delay_ns comes in place of the spin
 * where it is not 0. */
struct model_work model_kernel(const struct model_machine *machine, uint64_t blocks,
                               uint32_t threads, uint64_t spin, uint64_t delay_ns, bool in_graph);
/* A kernel that moves `bytes` of the GPU's own memory. It gets the share of the bandwidth
 * that its slots are of all slots. */
struct model_work model_memory_kernel(const struct model_machine *machine, uint64_t blocks,
                                      uint32_t threads, uint64_t bytes, bool in_graph);
struct model_work model_copy(const struct model_machine *machine, enum model_direction direction,
                             uint64_t bytes, bool pageable);

/* Registers a context of the process (pid, start_time); server is the MPS server that it is a
 * client of, or 0. First gives the entries back of those processes that alive() denies. False: all
 * entries are taken. Fills process; slot_limit is all slots, or what one client may use at once.
 */
bool model_context_open(struct model *model, int32_t pid, uint64_t start_time, int32_t server,
                        uint32_t queues, uint32_t slot_limit,
                        bool (*alive)(int32_t pid, uint64_t start_time),
                        struct model_process *process);

/* Gives the entry back, and with it the memory and the slices that were still claimed. */
void model_context_close(struct model *model, const struct model_process *process);

/* Accounts device memory. False: more than is left on the device, or more than was taken. */
bool model_memory_take(struct model *model, const struct model_process *process, uint64_t bytes);
bool model_memory_give(struct model *model, const struct model_process *process, uint64_t bytes);

/* What the process may still take of the device's memory. */
uint64_t model_memory_left(const struct model *model, const struct model_process *process);

/* Places a new stream on the next queue. */
void model_stream_init(struct model_process *process, struct model_stream *stream);

/* Where and when work is issued. */
struct model_issue {
    struct model *model;
    struct model_process *process;
    struct model_stream *stream;
    uint64_t now_ns;
    /* The calling thread's own clock: the time its calls have really cost, which may be ahead of
     * now since the calls return earlier. Each call moves it on by its cost, and the GPU's side
     * begins then. NULL: the host's side is paid, and the GPU's side may begin now. So work is
     * issued before what it waits for is known to end: model_pay_launch() first, the rest later. */
    uint64_t *host_ns;
};

/* Issue work. Each returns the time when the work ends. */
uint64_t model_issue_launch(const struct model_issue *at, const struct model_work *kernel);
/* With pinned memory; returns to the caller at once. */
uint64_t model_issue_copy(const struct model_issue *at, const struct model_work *copy);
/* With pageable memory: the caller must sleep until the end, where its clock then stands too. */
uint64_t model_issue_pageable(const struct model_issue *at, const struct model_work *copy);
/* A graph: its works one after the other, at the cost of one launch. Its kernels wait for the
 * queue, but do not hold it: the GPU takes them from the graph and not from the queue. */
uint64_t model_issue_graph(const struct model_issue *at, const struct model_work *works,
                           uint32_t count);
/* A copy between two GPUs that uses neither of their engines for the host, nor its time. */
uint64_t model_issue_direct(const struct model_issue *at, uint64_t duration_ns);

/* The host's side of a launch alone. Returns when the GPU's side may begin. */
uint64_t model_pay_launch(const struct model_issue *at, uint64_t cost_ns);

/* A kernel whose end is not known: returns when it begins. It lasts until model_hold_end(), whose
 * now is its end. Neither costs the host anything. */
uint64_t model_hold_begin(const struct model_issue *at);
void model_hold_end(const struct model_issue *at);

/* Makes the state usable after its holder died in the middle of a call. */
void model_repair(struct model *model);

/* slices.c: whether a kernel of another group holds the GPU. */
bool model_is_held_by_other(const struct model *model, uint32_t group);

/* slices.c: the slices that `group` needs for `work_ns` of work from `from_ns` on. Sets *begin_ns
 * to the start of the first and returns the end of the work. Claims them if `claim`. */
uint64_t model_slices_walk(struct model *model, uint32_t group, uint64_t now_ns, uint64_t from_ns,
                           uint64_t work_ns, bool claim, uint64_t *begin_ns);
