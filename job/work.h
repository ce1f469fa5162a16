/*
 * How an iteration is done: the values of the settings that a worker heeds.
 */
#pragma once

/* The kernels work on this share of what is copied, as in the experiment that it reproduces. */
#define WORK_COPIED_PER_WORKED 64

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
enum work_arrival { ARRIVAL_CONSTANT, ARRIVAL_POISSON };

/* Which copies an iteration makes. All but both are for calibration. */
enum work_copies { COPIES_BOTH, COPIES_IN, COPIES_OUT, COPIES_NONE };
