#include "trace/chrome.h"

#include <stdlib.h>
#include <string.h>

/* A stream's further lanes get numbers of their own: streams are numbered far below this. */
#define LANE_STEP 1000000u
/* Threads of a process that are no workers come behind those. */
#define OTHER_THREADS 100000u

struct writer {
    FILE *out;
    bool begun;
};

static void text(FILE *out, const char *from)
{
    fputc('"', out);
    for (; *from; from++) {
        unsigned char letter = (unsigned char)*from;
        if (letter == '"' || letter == '\\')
            fprintf(out, "\\%c", letter);
        else if (letter < 0x20)
            fprintf(out, "\\u%04x", letter);
        else
            /* Names come from object files: what is no ASCII need not be UTF-8. */
            fputc(letter < 0x7f ? letter : '?', out);
    }
    fputc('"', out);
}

static void begin(struct writer *writer)
{
    fputs(writer->begun ? ",\n" : "\n", writer->out);
    writer->begun = true;
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

static void moment(FILE *out, const char *name, uint64_t ns)
{
    fprintf(out, ",\"%s\":%llu.%03u", name, (unsigned long long)(ns / 1000), (unsigned)(ns % 1000));
}

/* Viewers add this to the begin in floating point: half a nanosecond less, and the end of a slice
 * is never beyond the begin of one that adjoins it. */
static void lasting(FILE *out, uint64_t ns)
{
    uint64_t halves = ns > 0 ? 2 * ns - 1 : 0;
    fprintf(out, ",\"dur\":%llu.%04u", (unsigned long long)(halves / 2000),
            (unsigned)(halves % 2000) * 5);
}

static void slice(struct writer *writer, const struct timeline *timeline,
                  const struct timeline_event *event, uint64_t end_ns, unsigned pid, unsigned tid)
{
    begin(writer);
    fputs("{\"ph\":\"X\",\"name\":", writer->out);
    text(writer->out, event->name);
    fprintf(writer->out, ",\"cat\":\"%s\",\"pid\":%u,\"tid\":%u",
            event->record.kind == TRACE_KERNEL         ? "kernel"
            : event->record.kind == TRACE_DRIVER_CALL  ? "driver"
            : event->record.kind == TRACE_RUNTIME_CALL ? "runtime"
            : event->record.kind == TRACE_COPY         ? "copy"
                                                       : "set",
            pid, tid);
    moment(writer->out, "ts", event->record.begin_ns - timeline->begin_ns);
    lasting(writer->out, end_ns - event->record.begin_ns);
    fprintf(writer->out, ",\"args\":{\"correlation\":%u", event->record.correlation);
}

static void write_moved(FILE *out, const struct trace_record *record)
{
    fprintf(out, ",\"bytes\":%llu,\"from\":\"%s\",\"to\":\"%s\"", (unsigned long long)record->bytes,
            timeline_memory_name(record->source), timeline_memory_name(record->sink));
    if (record->kind == TRACE_COPY && record->direction == TRACE_BETWEEN_DEVICES)
        fprintf(out, ",\"from_device\":%u,\"to_device\":%u", record->source_device,
                record->sink_device);
    fprintf(out, ",\"context\":%u,\"device\":%u}}", record->context, record->device);
}

static void write_work(struct writer *writer, const struct timeline *timeline, uint32_t index)
{
    const struct timeline_event *event = &timeline->events[index];
    const struct timeline_event *call = &timeline->events[event->call];
    const struct trace_record *record = &event->record;
    FILE *out = writer->out;
    slice(writer, timeline, event, record->end_ns, work_pid(event->process), work_tid(event));
    if (event->symbol) {
        fputs(",\"symbol\":", out);
        text(out, event->symbol);
    }
    if (record->kind == TRACE_KERNEL)
        fprintf(out,
                ",\"grid\":\"%ux%ux%u\",\"block\":\"%ux%ux%u\",\"registers\":%u,"
                "\"shared\":%u,\"context\":%u,\"device\":%u}}",
                record->grid[0], record->grid[1], record->grid[2], record->block[0],
                record->block[1], record->block[2], record->registers,
                record->static_shared + record->dynamic_shared, record->context, record->device);
    else
        write_moved(out, record);
    begin(writer);
    fprintf(out,
            "{\"ph\":\"s\",\"name\":\"starts\",\"cat\":\"flow\",\"id\":%u,\"pid\":%u,\"tid\":%u",
            index, call_pid(event->process), call_tid(timeline, call));
    moment(out, "ts", call->record.begin_ns - timeline->begin_ns);
    fputc('}', out);
    begin(writer);
    fprintf(out,
            "{\"ph\":\"f\",\"bp\":\"e\",\"name\":\"starts\",\"cat\":\"flow\",\"id\":%u,\"pid\":%u,"
            "\"tid\":%u",
            index, work_pid(event->process), work_tid(event));
    moment(out, "ts", record->begin_ns - timeline->begin_ns);
    fputc('}', out);
}

/* -- threads ----------------------------------------------------------------------------------- */

/* What is known of a thread that has been met: its name is told once, and calls within calls end no
 * later than those. */
struct thread {
    unsigned pid, tid;
    uint64_t ends_ns[8];
    unsigned depth;
};

struct threads {
    struct thread *at;
    size_t count, room;
};

static struct thread *find_thread(struct threads *threads, unsigned pid, unsigned tid, bool *fresh)
{
    for (size_t i = 0; i < threads->count; i++)
        if (threads->at[i].pid == pid && threads->at[i].tid == tid)
            return &threads->at[i];
    if (threads->count == threads->room) {
        size_t room = threads->room ? 2 * threads->room : 64;
        struct thread *more = realloc(threads->at, room * sizeof *more);
        if (!more)
            return NULL;
        threads->at = more;
        threads->room = room;
    }
    struct thread *thread = &threads->at[threads->count++];
    *thread = (struct thread){.pid = pid, .tid = tid};
    *fresh = true;
    return thread;
}

static void name_thread(struct writer *writer, const struct timeline *timeline,
                        const struct timeline_event *event, const struct thread *thread)
{
    FILE *out = writer->out;
    begin(writer);
    fprintf(out,
            "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%u,\"tid\":%u,\"args\":{\"name\":\"",
            thread->pid, thread->tid);
    if (!timeline_is_call(event)) {
        fprintf(out, "stream %u", event->record.stream);
        if (event->worker != TIMELINE_NONE)
            fprintf(out, " of thread %u", event->worker);
        if (event->lane)
            fprintf(out, ", lane %u", event->lane + 1);
    } else if (event->worker != TIMELINE_NONE) {
        fprintf(out, "thread %u (%u)", event->worker, event->record.thread);
    } else if (event->record.thread == (uint32_t)timeline->processes[event->process].pid) {
        fputs("main thread", out);
    } else {
        fprintf(out, "other thread (%u)", event->record.thread);
    }
    fputs("\"}}", out);
    begin(writer);
    fprintf(out,
            "{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":%u,\"tid\":%u,"
            "\"args\":{\"sort_index\":%u}}",
            thread->pid, thread->tid, thread->tid);
}

static void name_processes(struct writer *writer, const struct timeline *timeline, const char *gpu)
{
    for (uint32_t p = 0; p < timeline->process_count; p++) {
        for (int work = 0; work < 2; work++) {
            unsigned pid = work ? work_pid(p) : call_pid(p);
            char name[160];
            if (work)
                snprintf(name, sizeof name, "process %u on %.100s", p, gpu);
            else
                snprintf(name, sizeof name, "process %u (PID %d)", p,
                         (int)timeline->processes[p].pid);
            begin(writer);
            fprintf(writer->out,
                    "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%u,\"tid\":0,"
                    "\"args\":{\"name\":",
                    pid);
            text(writer->out, name);
            fputs("}}", writer->out);
            begin(writer);
            fprintf(writer->out,
                    "{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":%u,\"tid\":0,"
                    "\"args\":{\"sort_index\":%u}}",
                    pid, pid);
        }
    }
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

static enum status write_events(struct writer *writer, const struct timeline *timeline,
                                struct threads *threads)
{
    for (uint32_t i = 0; i < timeline->count; i++) {
        const struct timeline_event *event = &timeline->events[i];
        bool call = timeline_is_call(event), fresh = false;
        unsigned pid = call ? call_pid(event->process) : work_pid(event->process);
        unsigned tid = call ? call_tid(timeline, event) : work_tid(event);
        struct thread *thread = find_thread(threads, pid, tid, &fresh);
        if (!thread)
            return status_set(STATUS_MEMORY, "out of memory for a trace");
        if (fresh)
            name_thread(writer, timeline, event, thread);
        if (!call) {
            write_work(writer, timeline, i);
            continue;
        }
        slice(writer, timeline, event, nested_end(thread, &event->record), pid, tid);
        fprintf(writer->out, ",\"result\":%u}}", event->record.result);
    }
    return STATUS_OK;
}

enum status chrome_write(FILE *out, const struct timeline *timeline, const char *gpu,
                         const json_t *other)
{
    struct writer writer = {.out = out};
    struct threads threads = {0};
    fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", out);
    name_processes(&writer, timeline, gpu);
    enum status status = write_events(&writer, timeline, &threads);
    free(threads.at);
    fputs("\n],\"otherData\":", out);
    if (status == STATUS_OK && json_dumpf(other, out, JSON_COMPACT) != 0 && !ferror(out))
        status = status_set(STATUS_MEMORY, "out of memory for a trace");
    fputs("}\n", out);
    return status;
}
