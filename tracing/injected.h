/*
 * The trace of a process that does not know of it, from a library that the driver loads into it
 * (CUDA_INJECTION64_PATH).
 *
 * Everything is recorded from the call on. A thread of its own waits until the point stops and the
 * process's workers have published, and then delivers: the supervisor ends the process soon after.
 * So does the process's exit, which may come first.
 */
#pragma once

#include "tracing/activities.h"

/* To be called before anything else of CUDA's, as from the driver's initialisation. CUPTI is
 * what OBSERVER_CUPTI_VARIABLE (wire/program.h) names. Errors as of
 * activities_open(), and STATUS_SYSTEM. */
enum status injected_begin(const struct trace_buffer *buffer, unsigned process,
                           const struct shm *shm);
