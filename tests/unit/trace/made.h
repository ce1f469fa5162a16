/* Traces made by hand: times in microseconds from a begin that is not a round number. */
#pragma once

#include "trace/timeline.h"

#define MADE_BEGIN_NS UINT64_C(123456789)

/* A trace of processes with threads each, whose operating system's numbers are 100 * process +
 * thread; with room for records each. */
void made_open(unsigned processes, unsigned threads, uint64_t records, struct trace_buffer *out);

/* A call of thread 100 * process + thread; its correlation belongs to what it starts. */
void made_call(const struct trace_buffer *buffer, unsigned process, unsigned thread,
               const char *name, uint32_t correlation, double begin_us, double end_us);

void made_kernel(const struct trace_buffer *buffer, unsigned process, uint32_t stream,
                 uint32_t correlation, double begin_us, double end_us);

/* A copy of 1000 bytes to the device, or to the host. */
void made_copy(const struct trace_buffer *buffer, unsigned process, uint32_t stream, bool in,
               enum trace_memory host, uint32_t correlation, double begin_us, double end_us);

/* The calls of a copy or a launch, and its work. */
void made_copying(const struct trace_buffer *buffer, unsigned process, unsigned thread, bool in,
                  enum trace_memory host, uint32_t correlation, const double call_us[2],
                  const double work_us[2]);

void made_iteration(const struct trace_buffer *buffer, unsigned process, unsigned thread,
                    double begin_us, double end_us);

struct timeline made_merge(const struct trace_buffer *buffer);
