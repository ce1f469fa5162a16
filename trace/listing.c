#include "trace/listing.h"

static void print_times(FILE *out, const struct timeline *timeline,
                        const struct timeline_event *event)
{
    fprintf(out, "%12.6f %13.3f", (double)(event->record.begin_ns - timeline->begin_ns) / 1e6,
            (double)timeline_duration_ns(event) / 1e3);
}

static const char *size_text(uint64_t bytes, char *text, size_t size)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes;
    size_t unit = 0;
    for (; value >= 1024 && unit + 1 < sizeof units / sizeof units[0]; unit++)
        value /= 1024;
    snprintf(text, size, "%.4g%s", value, units[unit]);
    return text;
}

static void print_kernel(FILE *out, const struct trace_record *record)
{
    char grid[48], block[48], shared[24], dynamic[24];
    snprintf(grid, sizeof grid, "%ux%ux%u", record->grid[0], record->grid[1], record->grid[2]);
    snprintf(block, sizeof block, "%ux%ux%u", record->block[0], record->block[1], record->block[2]);
    fprintf(out, " %12s %11s %4u %7s %7s %9s %8s %-8s %-8s", grid, block, record->registers,
            size_text(record->static_shared, shared, sizeof shared),
            size_text(record->dynamic_shared, dynamic, sizeof dynamic), "-", "-", "-", "-");
}

/* Names the device only where there are two. */
static const char *place_text(const struct trace_record *record, uint8_t memory, uint32_t device,
                              char *text, size_t size)
{
    if (record->direction != TRACE_BETWEEN_DEVICES)
        return timeline_memory_name(memory);
    snprintf(text, size, "%.6s%u", timeline_memory_name(memory), device);
    return text;
}

static void print_copy(FILE *out, const struct timeline_event *event)
{
    char size[24], rate[24] = "-", from[24], to[24];
    const struct trace_record *record = &event->record;
    uint64_t took_ns = timeline_duration_ns(event);
    if (took_ns > 0)
        snprintf(rate, sizeof rate, "%.2f", (double)record->bytes / (double)took_ns);
    fprintf(out, " %12s %11s %4s %7s %7s %9s %8s %-8s %-8s", "-", "-", "-", "-", "-",
            size_text(record->bytes, size, sizeof size), rate,
            place_text(record, record->source, record->source_device, from, sizeof from),
            place_text(record, record->sink, record->sink_device, to, sizeof to));
}

void listing_print_gpu(FILE *out, const struct timeline *timeline)
{
    fprintf(out, "%12s %13s %12s %11s %4s %7s %7s %9s %8s %-8s %-8s %6s %7s %6s %7s  %s\n",
            "start ms", "duration us", "grid", "block", "regs", "ssmem", "dsmem", "size", "GB/s",
            "from", "to", "device", "context", "stream", "process", "name");
    for (uint32_t i = 0; i < timeline->count; i++) {
        const struct timeline_event *event = &timeline->events[i];
        const struct trace_record *record = &event->record;
        if (timeline_is_call(event))
            continue;
        print_times(out, timeline, event);
        if (record->kind == TRACE_KERNEL)
            print_kernel(out, record);
        else
            print_copy(out, event);
        fprintf(out, " %6u %7u %6u %7u  %s\n", record->device, record->context, record->stream,
                event->process, event->name);
    }
}

void listing_print_calls(FILE *out, const struct timeline *timeline)
{
    fprintf(out, "%12s %13s %7s %6s %6s  %s\n", "start ms", "duration us", "process", "thread",
            "stream", "call");
    for (uint32_t i = 0; i < timeline->count; i++) {
        const struct timeline_event *event = &timeline->events[i];
        const struct timeline_event *work =
            event->work != TIMELINE_NONE ? &timeline->events[event->work] : NULL;
        char thread[16] = "-", stream[16] = "-";
        if (!timeline_is_call(event))
            continue;
        if (event->worker != TIMELINE_NONE)
            snprintf(thread, sizeof thread, "%u", event->worker);
        if (work)
            snprintf(stream, sizeof stream, "%u", work->record.stream);
        print_times(out, timeline, event);
        fprintf(out, " %7u %6s %6s  %s", event->process, thread, stream, event->name);
        if (work)
            fprintf(out, " (%s)", work->name);
        if (event->record.result)
            fprintf(out, " error %u", event->record.result);
        fputc('\n', out);
    }
}
