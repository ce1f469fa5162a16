#include "tests/unit/trace/made.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static uint64_t at(double us)
{
    return MADE_BEGIN_NS + (uint64_t)(us * 1e3 + 0.5);
}

void made_open(unsigned processes, unsigned threads, uint64_t records, struct trace_buffer *out)
{
    assert_int_equal(trace_buffer_create(processes, threads, records, out), STATUS_OK);
    for (unsigned p = 0; p < processes; p++) {
        trace_buffer_process(out, p)->from_ns = MADE_BEGIN_NS;
        trace_buffer_process(out, p)->pid = (int32_t)(1000 + p);
        atomic_store(&trace_buffer_process(out, p)->complete, 1);
        for (unsigned t = 0; t < threads; t++)
            trace_buffer_threads(out, p)[t].id = 100 * p + t;
    }
}

void made_call(const struct trace_buffer *buffer, unsigned process, unsigned thread,
               const char *name, uint32_t correlation, double begin_us, double end_us)
{
    const struct trace_record record = {.kind = TRACE_DRIVER_CALL,
                                        .begin_ns = at(begin_us),
                                        .end_ns = at(end_us),
                                        .correlation = correlation,
                                        .thread = 100 * process + thread,
                                        .name = trace_buffer_intern(buffer, process, name)};
    trace_buffer_add(buffer, process, &record);
}

void made_kernel(const struct trace_buffer *buffer, unsigned process, uint32_t stream,
                 uint32_t correlation, double begin_us, double end_us)
{
    const struct trace_record record = {.kind = TRACE_KERNEL,
                                        .begin_ns = at(begin_us),
                                        .end_ns = at(end_us),
                                        .correlation = correlation,
                                        .stream = stream,
                                        .grid = {5, 1, 1},
                                        .block = {64, 1, 1},
                                        .name = trace_buffer_intern(buffer, process, "ker\"nel")};
    trace_buffer_add(buffer, process, &record);
}

void made_copy(const struct trace_buffer *buffer, unsigned process, uint32_t stream, bool in,
               enum trace_memory host, uint32_t correlation, double begin_us, double end_us)
{
    const struct trace_record record = {.kind = TRACE_COPY,
                                        .begin_ns = at(begin_us),
                                        .end_ns = at(end_us),
                                        .correlation = correlation,
                                        .stream = stream,
                                        .bytes = 1000,
                                        .direction = in ? TRACE_TO_DEVICE : TRACE_TO_HOST,
                                        .source = (uint8_t)(in ? host : TRACE_MEMORY_DEVICE),
                                        .sink = (uint8_t)(in ? TRACE_MEMORY_DEVICE : host)};
    trace_buffer_add(buffer, process, &record);
}

void made_copying(const struct trace_buffer *buffer, unsigned process, unsigned thread, bool in,
                  enum trace_memory host, uint32_t correlation, const double call_us[2],
                  const double work_us[2])
{
    made_call(buffer, process, thread, in ? "cuMemcpyHtoDAsync" : "cuMemcpyDtoHAsync", correlation,
              call_us[0], call_us[1]);
    made_copy(buffer, process, 13 + thread, in, host, correlation, work_us[0], work_us[1]);
}

struct timeline made_merge(const struct trace_buffer *buffer)
{
    struct timeline timeline;
    assert_int_equal(timeline_merge(buffer, &timeline), STATUS_OK);
    return timeline;
}

void made_iteration(const struct trace_buffer *buffer, unsigned process, unsigned thread,
                    double begin_us, double end_us)
{
    const struct trace_record record = {.kind = TRACE_ITERATION,
                                        .begin_ns = at(begin_us),
                                        .end_ns = at(end_us),
                                        .thread = 100 * process + thread};
    trace_buffer_add(buffer, process, &record);
}
