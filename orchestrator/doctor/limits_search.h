/*
 * Finds a GPU's MPS limits by trying: for each number of connections a fresh private daemon, and
 * clients that make a context and keep it, one after the other, until one is refused.
 */
#pragma once

#include "orchestrator/session/mps_limits.h"
#include "orchestrator/session/session.h"

/* Told before each client is started: how many there are, of how many connections each. */
typedef void (*limits_progress)(void *data, unsigned connections, unsigned clients);

/*
 * The search; some 150 clients on an H200. The session must watch signals. Whatever happens, all
 * clients have ended on return; the error names one that could not be ended. STATUS_INTERRUPTED
 * after a signal; STATUS_WORKER: a client crashed, hung, or is not attached to MPS; STATUS_CUDA:
 * not even one client gets a context. *out is set only on success.
 */
enum status limits_search(struct session *session, limits_progress progress, void *data,
                          struct mps_limits *out);
