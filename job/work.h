/*
 * How an iteration is done: the values of the settings that a worker heeds.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* CPUs that a binding can name. */
#define WORK_CPUS 4096

/* NUMA nodes that a memory policy can name. */
#define WORK_NODES 1024

/* Multiprocessors that a GPU can have. */
#define WORK_MULTIPROCESSORS 512

/* Whether a mask of any of these has one. */
static inline bool work_mask_any(const uint64_t *mask, unsigned most)
{
    for (unsigned i = 0; i < most / 64; i++)
        if (mask[i])
            return true;
    return false;
}

/* The kernels work on this share of what is copied, as in the experiment that it reproduces. */
#define WORK_COPIED_PER_WORKED 64

/* What a thread of the kernels reads or writes at once. */
#define WORK_VECTOR_BYTES 16

enum work_memory { MEMORY_PINNED, MEMORY_PAGEABLE };
enum work_sync { SYNC_STREAM, SYNC_NONE };
enum work_launch { LAUNCH_STREAM, LAUNCH_GRAPH };
enum work_schedule { SCHEDULE_AUTO, SCHEDULE_SPIN, SCHEDULE_YIELD, SCHEDULE_BLOCK };
enum work_workload {
    WORKLOAD_CHAIN,     /* built in: dependent small kernels between two copies */
    WORKLOAD_DELAY,     /* built in: the same with kernels that wait */
    WORKLOAD_DESCRIBED, /* steps of a job file */
    WORKLOAD_PLUGIN,    /* a shared object of the user's */
    WORKLOAD_PROGRAM,   /* a program of the user's, in place of the worker program */
};
enum work_contexts { CONTEXTS_SHARED, CONTEXTS_OWN };
enum work_arrival { ARRIVAL_CONSTANT, ARRIVAL_POISSON, ARRIVAL_TRACE };

/* Which copies an iteration makes. All but both are for calibration. */
enum work_copies { COPIES_BOTH, COPIES_IN, COPIES_OUT, COPIES_NONE };

/* The numbers that a worker heeds; see the option table for the meaning. */
struct work {
    uint32_t memory, sync, launch, schedule, workload; /* the enums above */
    uint32_t kernels;                                  /* an iteration; 0 in calibration only */
    uint32_t blocks;                                   /* grid size */
    uint32_t threads_per_block;                        /* block size */
    uint32_t spin;         /* length of each GPU thread's dependent chain, in steps */
    uint32_t arrival;      /* of an open loop; the enum above */
    uint32_t copies;       /* enum work_copies; out alone only without kernels */
    uint32_t stagger_us;   /* each worker is released so much later than the one before */
    uint64_t bytes;        /* copied each way, a multiple of 1024 */
    uint64_t delay_cycles; /* delay workload: GPU clock cycles that a kernel waits */
    /* For calibration, 0 otherwise. What the kernels work on, a multiple of 16: 0 is 1/64 of what
     * is copied, and it may be more than that. */
    uint64_t worked_bytes;
    /* What explain/ knows of a described workload (explain/steps.h), 0 otherwise: which steps it
     * has, and how long its host computes, how many turns of work it does (common/host_work.h) and
     * how long it sleeps in an iteration. */
    uint64_t steps_id, busy_ns, turns, think_ns;
    uint64_t warmup_ns;  /* from the start; nothing before counts */
    uint64_t iterations; /* fixed work of each worker from then on; 0: until the stop */
    /* Iterations planned for all workers together, RATE_UNITS of a second; 0: a closed loop. */
    uint64_t rate_units;
    uint64_t arrival_seed; /* of random arrivals */
};

/* What a plug-in workload is; all zero without one. */
#define WORK_PLUGIN_TEXT 4096
struct work_plugin {
    char path[WORK_PLUGIN_TEXT];    /* absolute */
    char options[WORK_PLUGIN_TEXT]; /* for the plug-in, as they were given */
};
