/*
 * An iteration as a described workload: at most WORKLOAD_STEPS steps of its grammar. Pure
 * functions.
 *
 * Equal steps in a row become one with a count: kernels of one name, grid and block whose durations
 * are near each other. Where there are too many for the grammar, what comes several times in a row
 * becomes a repeat (fold.h), and then more and more different ones become one, of the mean
 * duration. Short host times are gathered until they are long enough for a step.
 */
#pragma once

#include "orchestrator/capture/iteration.h"

/* The shortest that a step of the host can be. */
#define CAPTURE_HOST_NS_LEAST 1e3

/* GPU threads that a multiprocessor has room for. */
#define CAPTURE_SM_THREADS 2048

struct captured_workload {
    struct workload workload;
    bool graph;      /* its launch: most of the GPU's work came in graphs */
    bool pageable;   /* its memory: most bytes between host and GPU did */
    bool folded;     /* it has repeats, of the means of what the iteration does several times */
    unsigned merged; /* 0: only equal steps are one; more: how freely others were put together */
    unsigned others; /* steps that the grammar lacks, such as kernels that are too short for it */
};

struct capture_choice {
    const char *name;         /* of the workload */
    double host_scale;        /* of host times: what tracing itself took is not the program's */
    bool busy;                /* the host computes; it sleeps otherwise */
    double turns_per_ns;      /* of its work (common/host_work.h) */
    uint64_t least_kernel_ns; /* what is shorter becomes as short a kernel as there is */
};

/* STATUS_NOT_FOUND: the iteration gives the GPU nothing. STATUS_USAGE: not a valid name. */
enum status capture_describe(const struct captured_iteration *iteration,
                             const struct capture_choice *choice, struct captured_workload *out);

/* Nanoseconds of three digits: the next ones are noise. */
uint64_t capture_rounded(double ns);
