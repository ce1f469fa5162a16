/*
 * The log of the MPS daemon and its servers, which `nvidia-cuda-mps-control -f` writes to its
 * standard output: the only place that shows a fatal fault afterwards. Source: driver 580.
 *
 *   [2026-11-21 06:16:57.925 Server   550] Client {PID: 592, Context: 1} encountered a fatal GPU
 * error.
 *
 * text is any part of it, and may be cut at both ends within a line; NUL bytes before a line, as a
 * file has that was truncated under its writer, are passed over. Only lines of servers count:
 * the daemon's own repeat what was asked and answered.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/status.h"

#define MPS_FAULT_CLIENTS 64 /* a server has at most 60 */

struct mps_fault {
    /* The client that the server named when it noticed the fault; 0 if that line is not in text.
     * It need not be the culprit: a client in good order was seen named here while another one
     * had made the illegal access. Without more evidence, all of clients are suspects. */
    pid_t first;
    /* Those that got the error, each once. Further ones than fit are left out. */
    pid_t clients[MPS_FAULT_CLIENTS];
    size_t count;
    /* The list of clients holds each one that the server announced to tear down. Otherwise more
     * may come, since a server writes its lines one by one. */
    bool is_whole;
};

/* The last fatal fault in text, as far as text contains it. STATUS_NOT_FOUND: there is none. */
enum status mps_log_fault(const char *text, size_t bytes, struct mps_fault *out);

/* The processes that connected to a server, each once, in the order in which they connected.
 * STATUS_PROTOCOL: they are more than capacity. */
enum status mps_log_clients(const char *text, size_t bytes, pid_t *pids, size_t capacity,
                            size_t *count);
