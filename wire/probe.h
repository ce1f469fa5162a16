/*
 * A probe: a process that makes a context, reports what it got, and keeps it until its standard
 * input ends. It answers whether one more client fits, and what a client sees.
 *
 *     mpsweep-worker --probe [--driver FILE]
 *
 * takes device 0 of those that the environment shows, and is an MPS client or not as the
 * environment asks. It writes one struct worker_probe to standard output, also when a CUDA call
 * failed, waits, releases the context and ends with status 0. What is not CUDA's (no driver, no
 * reader) is a line on standard error and another exit status. It submits no work to the GPU: a
 * probe may be ended by a signal.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

#define WORKER_PROBE_MAGIC UINT64_C(0xb172656265706f72)
#define WORKER_PROBE_VERSION 2

/* Plain data, texts end with NUL, unused bytes are zero. What was not reached is zero, too. */
struct worker_probe {
    uint64_t magic;
    uint32_t version;
    int32_t cuda_error;         /* CUresult of the call that failed; 0: it has a context */
    int32_t mps;                /* 1: an MPS client, 0: not, -1: unknown */
    int32_t sms;                /* multiprocessors of the context: fewer under a thread limit */
    uint64_t memory_free_bytes; /* as this process may use it */
    char uuid[64];              /* as struct device_info */
    char error[256];            /* "" without an error */
};

/* Is what a probe wrote a whole struct of this version? STATUS_PROTOCOL if not. */
enum status worker_probe_check(const struct worker_probe *probe, size_t bytes);
