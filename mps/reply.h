/*
 * Replies of nvidia-cuda-mps-control, protocol 2. Parsed strictly: what we do not understand is an
 * error, never a guess, and raw bytes are never echoed.
 */
#ifndef MPSWEEP_MPS_REPLY_H
#define MPSWEEP_MPS_REPLY_H

#include <stddef.h>
#include <sys/types.h>

#include "common/status.h"

/* Reads one decimal process ID a line; blank lines are allowed, an empty reply is an empty list.
 * STATUS_PROTOCOL for anything else, and for more than capacity IDs. */
enum status mps_reply_pids(const char *reply, size_t bytes, pid_t *pids, size_t capacity,
                           size_t *count);

#endif
