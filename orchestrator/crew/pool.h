/*
 * Processes that use the GPU for us, and the one way to end them: let them drain, then
 * terminate_client where they are MPS clients, then SIGKILL.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "orchestrator/session/session.h"

struct gpu_child {
    pid_t pid; /* 0: not started */
    int pidfd;
    bool ended;
    bool forced; /* it did not end by itself when asked to, and was ended */
    int wait_status;
    unsigned gpu;    /* that it uses, as daemons_at() takes it */
    bool supervises; /* a program (worker/program.h), whose processes are the ones that use the GPU
                      */
};

/* Notices the processes that have ended. Returns the index of one that ended since, or -1. */
int children_reap(struct gpu_child *children, unsigned count);

/* Tells supervisors that the stop flag is set and how long their programs may take. */
void children_tell(const struct gpu_child *children, unsigned count, uint64_t grace_ns);

/* Waits up to grace_ns (less after an interrupt) for all to end, which the caller has asked them
 * to; then the MPS way, then SIGKILL. All have ended and are reaped on success. tainted is set when
 * one had to be ended. STATUS_TIMEOUT names the processes that could not be. */
enum status children_end(struct session *session, struct gpu_child *children, unsigned count,
                         bool over_mps, uint64_t grace_ns, bool *tainted);
