/*
 * A probe client: a process that becomes a client of a daemon, reports what it got, and ends. The
 * last word on whether a daemon is ready.
 */
#pragma once

#include <stdint.h>

#include "common/status.h"
#include "mps/settings.h"
#include "wire/probe.h"

struct mps_probe_options {
    const char *program;        /* path of mpsweep-worker */
    const char *driver;         /* its --driver; NULL: the machine's */
    const char *pipe_directory; /* of the daemon */
    const char *gpu;            /* UUID; NULL or "": as in the environment */
    const char *partition;      /* CUDA_MPS_SM_PARTITION; NULL: the daemon has none */
    const int *interrupt;       /* a descriptor: readable ends the probe; NULL: none */
};

/* STATUS_WORKER: it did not become a client, and why, with what to do about it.
 * STATUS_INTERRUPTED. */
enum status mps_probe_run(const struct mps_probe_options *options, uint64_t deadline_ns,
                          struct worker_probe *out);

/* Whether what a probe saw agrees with the settings that the daemon was given. STATUS_UNSUPPORTED.
 */
enum status mps_probe_check(const struct worker_probe *probe, const struct mps_settings *settings);
