#include "trace/chrome.h"

#include <stdlib.h>
#include <string.h>

#include "common/text.h"

/* A stream's further lanes get numbers of their own: streams are numbered far below this. */
#define LANE_STEP 1000000u

/* Threads of a process other than workers come behind those. */
#define OTHER_THREADS 100000u

/* Digits that keep a nanosecond of ten days. */
#define EVENT_FLAGS (JSON_COMPACT | JSON_REAL_PRECISION(15))

/* A thread or stream that has been met: an event names it once, and calls within calls end no later
 * than those. */
struct thread {
    unsigned pid, tid;
    uint64_t ends_ns[8];
    unsigned depth;
};

struct writer {
    FILE *out;
    const struct timeline *timeline;
    struct thread *threads;
    size_t count;
    bool begun, failed; /* failed: out of memory */
};

/* Writes an event, which it takes; NULL: there was no memory for it. */
static void put(struct writer *writer, json_t *event)
{
    fputs(writer->begun ? ",\n" : "\n", writer->out);
    writer->begun = true;
    writer->failed |=
        !event || (json_dumpf(event, writer->out, EVENT_FLAGS) != 0 && !ferror(writer->out));
    json_decref(event);
}

/* Names come from object files: what is not printable ASCII need not be UTF-8, and becomes '?'. */
static json_t *name_of(const char *from)
{
    size_t bytes = strlen(from);
    char *name = malloc(bytes + 1);
    json_t *text = name ? json_string(text_printable(from, bytes, name, bytes + 1)) : NULL;
    free(name);
    return text;
}

static unsigned call_pid(uint32_t process)
{
    return 2 * process + 1;
}

static unsigned work_pid(uint32_t process)
{
    return 2 * process + 2;
}

static unsigned call_tid(const struct timeline *timeline, const struct timeline_event *event)
{
    if (event->worker != TIMELINE_NONE)
        return event->worker + 1;
    bool is_main = event->record.thread == (uint32_t)timeline->processes[event->process].pid;
    return is_main ? OTHER_THREADS : OTHER_THREADS + event->record.thread;
}

static unsigned work_tid(const struct timeline_event *event)
{
    return event->record.stream + event->lane * LANE_STEP;
}

/* Microseconds from the begin of the trace. */
static double moment(const struct writer *writer, uint64_t ns)
{
    return (double)(ns - writer->timeline->begin_ns) / 1e3;
}

/* A slice on a thread; the arguments belong to it. Viewers add the duration to the begin in
 * floating point: half a nanosecond less, and the end of a slice is never beyond the begin of one
 * that adjoins it. */
static void put_slice(struct writer *writer, const struct timeline_event *event, uint64_t end_ns,
                      const struct thread *thread, json_t *arguments)
{
    static const char *const categories[] = {
        [TRACE_DRIVER_CALL] = "driver",
        [TRACE_RUNTIME_CALL] = "runtime",
        [TRACE_KERNEL] = "kernel",
        [TRACE_COPY] = "copy",
        [TRACE_SET] = "set",
    };
    uint64_t took_ns = end_ns - event->record.begin_ns;
    put(writer, json_pack("{s:s, s:o, s:s, s:I, s:I, s:f, s:f, s:o}", "ph", "X", "name",
                          name_of(event->name), "cat", categories[event->record.kind], "pid",
                          (json_int_t)thread->pid, "tid", (json_int_t)thread->tid, "ts",
                          moment(writer, event->record.begin_ns), "dur",
                          took_ns > 0 ? (double)took_ns / 1e3 - 0.0005 : 0.0, "args", arguments));
}

/* One end of the arrow from a call to a piece of work. */
static void put_arrow(struct writer *writer, const char *phase, uint32_t id, unsigned pid,
                      unsigned tid, uint64_t ns)
{
    json_t *event = json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:f}", "ph", phase, "name", "starts",
                              "cat", "flow", "id", (json_int_t)id, "pid", (json_int_t)pid, "tid",
                              (json_int_t)tid, "ts", moment(writer, ns));
    if (*phase == 'f')
        json_object_set_new(event, "bp", json_string("e"));
    put(writer, event);
}

static json_t *kernel_arguments(const struct trace_record *record)
{
    char grid[48], block[48];
    snprintf(grid, sizeof grid, "%ux%ux%u", record->grid[0], record->grid[1], record->grid[2]);
    snprintf(block, sizeof block, "%ux%ux%u", record->block[0], record->block[1], record->block[2]);
    return json_pack("{s:s, s:s, s:i, s:i}", "grid", grid, "block", block, "registers",
                     (int)record->registers, "shared",
                     (int)(record->static_shared + record->dynamic_shared));
}

static json_t *copy_arguments(const struct trace_record *record)
{
    json_t *arguments =
        json_pack("{s:I, s:s, s:s}", "bytes", (json_int_t)record->bytes, "from",
                  timeline_memory_name(record->source), "to", timeline_memory_name(record->sink));
    if (record->kind == TRACE_COPY && record->direction == TRACE_BETWEEN_DEVICES) {
        json_object_set_new(arguments, "from_device", json_integer(record->source_device));
        json_object_set_new(arguments, "to_device", json_integer(record->sink_device));
    }
    return arguments;
}

static void put_work(struct writer *writer, uint32_t index, const struct thread *thread)
{
    const struct timeline *timeline = writer->timeline;
    const struct timeline_event *event = &timeline->events[index];
    const struct timeline_event *call = &timeline->events[event->call];
    const struct trace_record *record = &event->record;
    json_t *arguments =
        record->kind == TRACE_KERNEL ? kernel_arguments(record) : copy_arguments(record);
    json_object_set_new(arguments, "correlation", json_integer(record->correlation));
    json_object_set_new(arguments, "context", json_integer(record->context));
    json_object_set_new(arguments, "device", json_integer(record->device));
    if (event->symbol)
        json_object_set_new(arguments, "symbol", name_of(event->symbol));
    put_slice(writer, event, record->end_ns, thread, arguments);
    put_arrow(writer, "s", index, call_pid(event->process), call_tid(timeline, call),
              call->record.begin_ns);
    put_arrow(writer, "f", index, thread->pid, thread->tid, record->begin_ns);
}

/* -- names and order --------------------------------------------------------------------------- */

/* Names what has this pid and tid, and puts it in the order of its numbers. */
static void put_name(struct writer *writer, const char *what, unsigned pid, unsigned tid,
                     const char *name)
{
    char kind[32];
    unsigned order = strcmp(what, "process") == 0 ? pid : tid;
    snprintf(kind, sizeof kind, "%s_name", what);
    put(writer, json_pack("{s:s, s:s, s:I, s:I, s:{s:s}}", "ph", "M", "name", kind, "pid",
                          (json_int_t)pid, "tid", (json_int_t)tid, "args", "name", name));
    snprintf(kind, sizeof kind, "%s_sort_index", what);
    put(writer,
        json_pack("{s:s, s:s, s:I, s:I, s:{s:I}}", "ph", "M", "name", kind, "pid", (json_int_t)pid,
                  "tid", (json_int_t)tid, "args", "sort_index", (json_int_t)order));
}

static void put_processes(struct writer *writer, const char *gpu)
{
    char name[160];
    for (uint32_t p = 0; p < writer->timeline->process_count; p++) {
        snprintf(name, sizeof name, "process %u (PID %d)", p,
                 (int)writer->timeline->processes[p].pid);
        put_name(writer, "process", call_pid(p), 0, name);
        snprintf(name, sizeof name, "process %u on %.100s", p, gpu);
        put_name(writer, "process", work_pid(p), 0, name);
    }
}

static void put_thread(struct writer *writer, const struct timeline_event *event,
                       const struct thread *thread)
{
    char name[96];
    struct text text = {.at = name, .size = sizeof name};
    if (!timeline_is_call(event)) {
        text_append(&text, "stream %u", event->record.stream);
        if (event->worker != TIMELINE_NONE)
            text_append(&text, " of thread %u", event->worker);
        if (event->lane)
            text_append(&text, ", lane %u", event->lane + 1);
    } else if (event->worker != TIMELINE_NONE) {
        text_append(&text, "thread %u (%u)", event->worker, event->record.thread);
    } else if (thread->tid == OTHER_THREADS) {
        text_append(&text, "main thread");
    } else {
        text_append(&text, "other thread (%u)", event->record.thread);
    }
    put_name(writer, "thread", thread->pid, thread->tid, name);
}

/* The thread or stream of an event, named if it is new; NULL without memory. */
static struct thread *thread_of(struct writer *writer, const struct timeline_event *event)
{
    bool call = timeline_is_call(event);
    unsigned pid = call ? call_pid(event->process) : work_pid(event->process);
    unsigned tid = call ? call_tid(writer->timeline, event) : work_tid(event);
    for (size_t i = 0; i < writer->count; i++)
        if (writer->threads[i].pid == pid && writer->threads[i].tid == tid)
            return &writer->threads[i];
    struct thread *more = reallocarray(writer->threads, writer->count + 1, sizeof *more);
    if (!more)
        return NULL;
    writer->threads = more;
    struct thread *thread = &writer->threads[writer->count++];
    *thread = (struct thread){.pid = pid, .tid = tid};
    put_thread(writer, event, thread);
    return thread;
}

/* Clocks of different origin may disagree by a little: a call that is within another one ends with
 * it, and a nanosecond earlier. */
static uint64_t nested_end(struct thread *thread, const struct trace_record *record)
{
    uint64_t end_ns = record->end_ns;
    while (thread->depth > 0 && thread->ends_ns[thread->depth - 1] <= record->begin_ns)
        thread->depth--;
    if (thread->depth > 0 && thread->ends_ns[thread->depth - 1] <= end_ns)
        end_ns = thread->ends_ns[thread->depth - 1] - 1;
    if (thread->depth < sizeof thread->ends_ns / sizeof thread->ends_ns[0])
        thread->ends_ns[thread->depth++] = end_ns;
    return end_ns;
}

/* Those of a thread with several streams overlap, so they are no slices of the thread. */
static void put_iterations(struct writer *writer)
{
    const struct timeline *timeline = writer->timeline;
    for (uint32_t i = 0; i < timeline->iteration_count; i++) {
        const struct timeline_iteration *iteration = &timeline->iterations[i];
        const uint64_t ends_ns[] = {iteration->begin_ns, iteration->end_ns};
        const char *const phases[] = {"b", "e"};
        for (int end = 0; end < 2; end++)
            put(writer,
                json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:f}", "ph", phases[end], "name",
                          "iteration", "cat", "iteration", "id", (json_int_t)i, "pid",
                          (json_int_t)call_pid(iteration->process), "tid",
                          (json_int_t)iteration->worker + 1, "ts", moment(writer, ends_ns[end])));
    }
}

enum status chrome_write(FILE *out, const struct timeline *timeline, const char *gpu,
                         const json_t *other)
{
    struct writer writer = {.out = out, .timeline = timeline};
    fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", out);
    put_processes(&writer, gpu);
    for (uint32_t i = 0; i < timeline->count && !writer.failed; i++) {
        const struct timeline_event *event = &timeline->events[i];
        const struct trace_record *record = &event->record;
        struct thread *thread = thread_of(&writer, event);
        if (!thread)
            writer.failed = true;
        else if (timeline_is_call(event))
            put_slice(&writer, event, nested_end(thread, record), thread,
                      json_pack("{s:I, s:I}", "correlation", (json_int_t)record->correlation,
                                "result", (json_int_t)record->result));
        else
            put_work(&writer, i, thread);
    }
    put_iterations(&writer);
    free(writer.threads);
    fputs("\n],\"otherData\":", out);
    writer.failed |= json_dumpf(other, out, JSON_COMPACT) != 0 && !ferror(out);
    fputs("}\n", out);
    return writer.failed ? status_set(STATUS_MEMORY, "out of memory for a trace") : STATUS_OK;
}
