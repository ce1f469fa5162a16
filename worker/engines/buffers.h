/*
 * Host memory that copies use. Pinned memory takes long to make and to end, on an H100 about 0.9
 * and 0.3 ms for each MB. A process that serves one assignment after the other keeps it for the
 * next one, as long as it lies equally near to every thread and belongs to the context that all
 * share.
 */
#pragma once

#include "worker/engines/process.h"

/* What a process keeps; it is the process's until that ends. NULL: there is no memory for it. */
struct worker_buffers *worker_buffers_new(void);

/* All zero, and pinned if the settings demand it. Belongs to the calling thread's memory node.
 * 0 bytes: none, *out stays as it is. Any thread may call it, with its context current. */
enum status worker_buffer_new(const struct worker_process *process, size_t bytes, int **out);
void worker_buffer_free(const struct worker_process *process, int *memory, size_t bytes);

/* Before a further assignment, while no worker runs and with the shared context current: ends what
 * the last one has not used. */
void worker_buffers_renew(const struct worker_process *process);
