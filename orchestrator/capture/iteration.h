/*
 * What one iteration of a program does, from its timeline; and the one that stands for several.
 * Pure functions.
 */
#pragma once

#include "job/workload_text.h"
#include "trace/timeline.h"

/* What the program gave the GPU in one piece, or a wait for the GPU. */
struct captured_step {
    uint32_t kind;    /* enum step_kind: a copy, STEP_COMPUTE for any kernel, STEP_SYNCHRONIZE */
    const char *name; /* of a kernel: the timeline's; else NULL */
    uint32_t blocks, threads, shared; /* of a kernel; bytes of shared memory of a block */
    uint64_t bytes;                   /* of a copy */
    double duration_ns;               /* on the GPU */
    double before_ns; /* host time since the step before it, or the iteration's begin: the program
                         was neither giving the GPU work nor waiting for it */
    double wait_ns;   /* in a wait's call */
    bool graph;       /* it came with the launch of a graph */
    bool pageable;    /* of a copy: the host's memory is not pinned */
};

struct captured_iteration {
    struct captured_step *steps; /* owned */
    size_t count;
    double after_ns; /* host time behind the last step */
    double took_ns;  /* to the begin of the next iteration */
};

/* What process 0 did between two moments, of all of its threads together: those calls that began
 * there, with their work. A set of memory is a copy within it of half the bytes, which moves as
 * many; a copy of nothing is none. STATUS_MEMORY. */
enum status capture_iteration(const struct timeline *timeline, uint64_t from_ns, uint64_t to_ns,
                              struct captured_iteration *out);

/* Makes one of several: of those that do the same, which most do, or else of the one whose length
 * is the median, with the median of each duration. *alike: how many those were. STATUS_MEMORY. */
enum status capture_median(const struct captured_iteration *iterations, size_t count,
                           struct captured_iteration *out, size_t *alike);

void captured_iteration_release(struct captured_iteration *iteration);

/* Whether neither is more than `factor` times the other. */
bool captured_is_near(double a, double b, double factor);

/* Durations of equal kernels, one over the other. */
#define CAPTURED_EQUAL_NEAR 1.25

/* Sums over an iteration. */
double captured_host_ns(const struct captured_iteration *iteration);
double captured_wait_ns(const struct captured_iteration *iteration);
