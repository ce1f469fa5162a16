/*
 * Summarises a trace in a few lines. Pure functions of a timeline.
 */
#pragma once

#include <stdio.h>

#include "trace/timeline.h"

/* All calls of one name. */
struct summary_call {
    const char *name;
    uint64_t calls, total_ns, longest_ns;
};

/* From the return of a call to the start of what it put on the GPU: below zero where that had begun
 * before the call returned. Nanoseconds. */
struct summary_admission {
    uint64_t count, early; /* early: began before the return */
    double p50_ns, p90_ns, p99_ns, longest_ns;
};

/*
 * Copies to and from pageable memory. One is pending from its call until it has ended on the GPU.
 * What could begin, issued and its stream done, while another of the process that was issued before
 * is pending, either waits for it or overtakes it; a few that overtake prove little, since a thread
 * may lose its CPU between the call and the driver's queue.
 */
struct summary_pageable {
    uint64_t copies;
    uint64_t crossed;         /* ready while another, issued before, was pending */
    uint64_t waited;          /* of those, begun when all that were pending had ended */
    uint64_t overtook;        /* of those, ended before one that was pending */
    uint32_t longest, behind; /* events: the one that waited longest, and what it waited for */
    uint64_t longest_wait_ns; /* from when it was ready to its begin on the GPU */
};

struct summary {
    struct summary_call *calls; /* most time first; owned */
    size_t call_count;
    uint64_t call_total_ns; /* in which threads were in calls: of those within others once */
    uint64_t kernels, copies, sets;
    uint64_t span_ns;   /* from the first GPU work to the end of the last, or to the cut */
    uint64_t busy_ns;   /* of it, some work ran */
    uint64_t kernel_ns; /* a kernel ran */
    uint64_t copy_ns;   /* a copy ran */
    uint64_t both_ns;   /* a kernel and a copy */
    uint64_t gaps, longest_gap_ns, longest_gap_at_ns;       /* of the whole GPU */
    uint64_t streams, stream_gap_ns, longest_stream_gap_ns; /* between the work of a stream */
    double iteration_p50_ns, longest_iteration_ns;          /* of programs; 0 without iterations */
    struct summary_admission kernel_admission, copy_admission;
    struct summary_pageable pageable;
};

enum status summary_make(const struct timeline *timeline, struct summary *out);
void summary_release(struct summary *summary);

/* "complete in issue order", the same "but for a few" (one in twenty at most), "mostly" (less than
 * half overtake), "do not complete in issue order", or that it is not known. */
const char *summary_pageable_verdict(const struct summary_pageable *pageable);

void summary_print(FILE *out, const struct timeline *timeline, const struct summary *summary);
