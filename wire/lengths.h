/*
 * What kernels must be given to take as long as they are asked to, on this GPU:
 *
 *     mpsweep-worker --lengths UUID,KIND:BLOCKS:THREADS:SHARED:NANOSECONDS[:AMOUNT],...
 *                    [--driver FILE]
 *
 * takes device 0 of those that the environment shows, which must be UUID and no MPS client,
 * measures with events, alone, and writes one struct worker_lengths to standard output. KIND is
 * that of enum step_kind, a kernel's length is its part of a CUDA graph of such kernels one after
 * the other. With an AMOUNT nothing is searched for: it is how long that takes. What fails on the
 * GPU, or a driver that is missing, is the answer's status; only a malformed argument or a reader
 * that is gone gives another exit status than 0.
 */
#pragma once

#include <stdint.h>

#include "job/workload_text.h"

#define WORKER_LENGTHS_MAGIC UINT64_C(0xb16c656e67746873)
#define WORKER_LENGTHS_VERSION 4
#define WORKER_LENGTHS_MOST WORKLOAD_STEPS
#define WORKER_LENGTHS_TEXT 16384 /* of all kernels in the argument */

struct length {
    uint64_t amount;
    double got_ns;
};

/* Plain data, texts end with NUL. */
struct worker_lengths {
    uint64_t magic;
    uint32_t version;
    uint32_t count;     /* found, in the order asked for */
    uint32_t status;    /* enum status of the one after those, or STATUS_OK */
    int32_t cuda_error; /* CUresult, 0 if none */
    struct length found[WORKER_LENGTHS_MOST];
    char error[256];
};
