/*
 * What this process's CUDA calls and its GPU did, by CUPTI, into the memory of a trace
 * (trace/buffer.h). Only of processes that are traced: no others load CUPTI.
 *
 * Order: activities_open() before anything else of CUDA's, activities_name_thread() by each worker,
 * activities_close() when all workers have ended and the context is still there. There is one
 * timeline in a process, since CUPTI's callbacks carry no data of ours.
 */
#pragma once

#include "common/status.h"
#include "shm/shm.h"
#include "trace/buffer.h"

/* Loads CUPTI (path NULL: from where it usually is) and has it record calls of the driver and the
 * runtime, kernels, copies (also between GPUs) and memsets from now on. What began before the
 * counted part of the point (the agreed start and the warm-up) is not kept. Errors of cupti_load(),
 * of a process that the memory has not or that another has taken (STATUS_PROTOCOL), and
 * STATUS_CUDA. All that is passed lives to the process's end. */
enum status activities_open(const char *path, const struct trace_buffer *buffer, unsigned process,
                            const struct shm *shm);

/* The calling thread is worker number `thread` of this process. Nothing without a timeline. */
void activities_name_thread(unsigned thread);

/* The calling worker has done its last iteration; what it calls from now on is not of interest. */
void activities_end_thread(void);

/* Delivers what is left, once. Returns when it is delivered, also if another thread does it.
 * Nothing without a timeline. */
void activities_close(void);

/* mpsweep-worker --cupti-check [--cupti FILE]: prints CUPTI's file and version. Returns the exit
 * status: 0, or an enum status. */
int activities_check_run(const char *path);
