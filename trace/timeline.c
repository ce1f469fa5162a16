#include "trace/timeline.h"

#include <stdlib.h>
#include <string.h>

bool timeline_is_call(const struct timeline_event *event)
{
    return event->record.kind == TRACE_DRIVER_CALL || event->record.kind == TRACE_RUNTIME_CALL;
}

uint64_t timeline_duration_ns(const struct timeline_event *event)
{
    return event->record.end_ns - event->record.begin_ns;
}

const char *timeline_memory_name(uint8_t memory)
{
    static const char *const names[TRACE_MEMORIES] = {"-",      "pageable", "pinned",
                                                      "device", "array",    "managed"};
    return memory < TRACE_MEMORIES ? names[memory] : "-";
}

static const char *work_name(const struct trace_record *record)
{
    if (record->kind == TRACE_SET)
        return "[set]";
    switch (record->direction) {
    case TRACE_TO_DEVICE:
        return "[copy in]";
    case TRACE_TO_HOST:
        return "[copy out]";
    case TRACE_WITHIN_DEVICE:
        return "[copy within]";
    case TRACE_BETWEEN_DEVICES:
        return "[copy between]";
    default:
        return "[copy]";
    }
}

/* From the earliest record on that did not fit, a trace would be one of holes. */
static uint64_t full_moment(const struct trace_buffer *buffer)
{
    uint64_t at_ns = 0;
    for (unsigned p = 0; p < buffer->header->processes; p++) {
        const struct trace_process *process = trace_buffer_process(buffer, p);
        uint64_t from_ns = atomic_load(&process->full_from_ns);
        if (from_ns > 0 && (at_ns == 0 || from_ns < at_ns))
            at_ns = from_ns;
    }
    return at_ns;
}

static uint32_t worker_of(const struct trace_buffer *buffer, unsigned process, uint32_t thread)
{
    const struct trace_thread *threads = trace_buffer_threads(buffer, process);
    for (uint32_t t = 0; t < buffer->header->threads; t++)
        if (threads[t].id == thread)
            return t;
    return TIMELINE_NONE;
}

/* Whether a call is made when all iterations are over: of a worker its own, of others any. */
static bool is_tidying(const struct trace_buffer *buffer, const struct timeline_event *event)
{
    const struct trace_thread *threads = trace_buffer_threads(buffer, event->process);
    uint64_t end_ns = 0;
    for (uint32_t t = 0; t < buffer->header->threads; t++) {
        if (t == event->worker)
            return threads[t].end_ns && event->record.begin_ns >= threads[t].end_ns;
        if (threads[t].end_ns == 0)
            return false;
        if (threads[t].end_ns > end_ns)
            end_ns = threads[t].end_ns;
    }
    return event->record.begin_ns >= end_ns;
}

static void take_process(const struct trace_buffer *buffer, unsigned process, uint64_t from_ns,
                         struct timeline *out)
{
    const struct trace_process *own = trace_buffer_process(buffer, process);
    const struct trace_record *records = trace_buffer_records(buffer, process);
    uint64_t count = trace_buffer_count(buffer, process);
    out->processes[process] = (struct timeline_process){
        .pid = atomic_load(&own->pid),
        .cupti_version = own->cupti_version,
        .own_clock = own->own_clock,
        .shift_error_ns = own->shift_error_ns,
        .complete = atomic_load(&own->complete) != 0,
    };
    out->after_full += trace_buffer_full(buffer, process);
    out->dropped += own->dropped;
    out->timeless += own->timeless;
    for (uint64_t i = 0; i < count; i++) {
        const struct trace_record *record = &records[i];
        /* A worker that went astray may have written anything. */
        if (record->begin_ns < from_ns || record->end_ns < record->begin_ns ||
            record->kind > TRACE_ITERATION)
            continue;
        if (out->full_at_ns && record->begin_ns >= out->full_at_ns) {
            out->after_full++;
            continue;
        }
        if (record->kind == TRACE_ITERATION) {
            out->iterations[out->iteration_count++] =
                (struct timeline_iteration){.begin_ns = record->begin_ns,
                                            .end_ns = record->end_ns,
                                            .process = process,
                                            .thread = record->thread,
                                            .worker = worker_of(buffer, process, record->thread)};
            continue;
        }
        struct timeline_event *event = &out->events[out->count];
        *event = (struct timeline_event){.record = *record,
                                         .process = process,
                                         .worker = TIMELINE_NONE,
                                         .call = TIMELINE_NONE,
                                         .work = TIMELINE_NONE,
                                         .next = TIMELINE_NONE};
        bool named = timeline_is_call(event) || record->kind == TRACE_KERNEL;
        event->name = named ? trace_buffer_name(buffer, process, record->name) : work_name(record);
        if (timeline_is_call(event)) {
            event->worker = worker_of(buffer, process, record->thread);
            event->tidies = is_tidying(buffer, event);
        }
        out->count++;
    }
}

static int by_begin(const void *a, const void *b)
{
    const struct timeline_event *x = a, *y = b;
    if (x->record.begin_ns != y->record.begin_ns)
        return x->record.begin_ns < y->record.begin_ns ? -1 : 1;
    if (x->record.end_ns != y->record.end_ns)
        return x->record.end_ns > y->record.end_ns ? -1 : 1;
    /* A call before what it starts. */
    return (int)x->record.kind - (int)y->record.kind;
}

/* -- calls and their work ---------------------------------------------------------------------- */

struct key {
    uint32_t process, correlation;
    bool runtime;
    uint32_t event;
};

static int by_key(const void *a, const void *b)
{
    const struct key *x = a, *y = b;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    if (x->correlation != y->correlation)
        return x->correlation < y->correlation ? -1 : 1;
    return (int)x->runtime - (int)y->runtime;
}

/* The driver's call rather than that of the runtime around it, which has the same number. */
static uint32_t find_call(const struct key *keys, size_t count, uint32_t process,
                          uint32_t correlation)
{
    size_t low = 0, high = count;
    const struct key wanted = {.process = process, .correlation = correlation};
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (by_key(&keys[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == count || keys[low].process != process || keys[low].correlation != correlation)
        return TIMELINE_NONE;
    return keys[low].event;
}

/* Keys of the calls, in order; none without memory for them. */
static struct key *make_keys(const struct timeline *timeline, size_t *count)
{
    struct key *keys = calloc((size_t)timeline->count + 1, sizeof *keys);
    *count = 0;
    for (uint32_t i = 0; keys && i < timeline->count; i++) {
        const struct timeline_event *event = &timeline->events[i];
        if (timeline_is_call(event))
            keys[(*count)++] = (struct key){.process = event->process,
                                            .correlation = event->record.correlation,
                                            .runtime = event->record.kind == TRACE_RUNTIME_CALL,
                                            .event = i};
    }
    if (keys)
        qsort(keys, *count, sizeof *keys, by_key);
    return keys;
}

/* Drops the events that are left out. moved: for the new place of each one that stays. */
static void drop(struct timeline *timeline, uint32_t *moved)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < timeline->count; i++) {
        const struct timeline_event *event = &timeline->events[i];
        if (event->tidies || (!timeline_is_call(event) && event->call == TIMELINE_NONE))
            continue;
        moved[i] = kept;
        timeline->events[kept++] = *event;
    }
    timeline->count = kept;
}

/* Ties GPU work to its calls. Work without a call was started before the trace began, and what
 * tidies up goes with its work. */
static enum status tie(struct timeline *timeline)
{
    size_t calls;
    struct key *keys = make_keys(timeline, &calls);
    uint32_t *moved = calloc((size_t)timeline->count + 1, sizeof *moved);
    bool done = keys && moved;
    for (uint32_t i = 0; i < timeline->count && done; i++) {
        struct timeline_event *event = &timeline->events[i];
        if (timeline_is_call(event))
            continue;
        event->call = find_call(keys, calls, event->process, event->record.correlation);
        if (event->call == TIMELINE_NONE)
            timeline->orphans++;
        else
            event->tidies = timeline->events[event->call].tidies;
    }
    if (done)
        drop(timeline, moved);
    /* From the last on, so that each call's work is in its order. */
    for (uint32_t i = timeline->count; i-- > 0 && done;) {
        struct timeline_event *event = &timeline->events[i];
        if (timeline_is_call(event))
            continue;
        event->call = moved[event->call];
        struct timeline_event *call = &timeline->events[event->call];
        event->worker = call->worker;
        event->next = call->work;
        call->work = i;
    }
    free(keys);
    free(moved);
    return done ? STATUS_OK : status_set(STATUS_MEMORY, "out of memory for a trace");
}

/* -- lanes ------------------------------------------------------------------------------------- */

struct lane {
    uint32_t process, device, context, stream, lane;
    uint64_t end_ns;
};

static bool is_of(const struct lane *lane, const struct timeline_event *event)
{
    return lane->process == event->process && lane->device == event->record.device &&
           lane->context == event->record.context && lane->stream == event->record.stream;
}

/* Branches of a graph may run beside each other in one stream: on a lane nothing overlaps. */
static enum status give_lanes(struct timeline *timeline)
{
    struct lane *lanes = NULL;
    size_t count = 0;
    for (uint32_t i = 0; i < timeline->count; i++) {
        struct timeline_event *event = &timeline->events[i];
        uint32_t number = 0;
        size_t at = 0;
        if (timeline_is_call(event))
            continue;
        for (; at < count; at++) {
            if (!is_of(&lanes[at], event))
                continue;
            if (lanes[at].end_ns <= event->record.begin_ns)
                break;
            number++;
        }
        if (at == count) {
            struct lane *more = reallocarray(lanes, count + 1, sizeof *more);
            if (!more) {
                free(lanes);
                return status_set(STATUS_MEMORY, "out of memory for a trace");
            }
            lanes = more;
            lanes[count++] = (struct lane){.process = event->process,
                                           .device = event->record.device,
                                           .context = event->record.context,
                                           .stream = event->record.stream,
                                           .lane = number};
        }
        lanes[at].end_ns = event->record.end_ns;
        event->lane = lanes[at].lane;
    }
    free(lanes);
    return STATUS_OK;
}

/* The point's processes begin together; 0: none has. */
static uint64_t begin_of(const struct trace_buffer *buffer)
{
    uint64_t from_ns = 0;
    for (unsigned p = 0; p < buffer->header->processes; p++) {
        uint64_t own_ns = trace_buffer_process(buffer, p)->from_ns;
        if (own_ns && (from_ns == 0 || own_ns < from_ns))
            from_ns = own_ns;
    }
    return from_ns;
}

static uint64_t count_iterations(const struct trace_buffer *buffer, unsigned process)
{
    const struct trace_record *records = trace_buffer_records(buffer, process);
    uint64_t count = 0, most = trace_buffer_count(buffer, process);
    for (uint64_t i = 0; i < most; i++)
        count += records[i].kind == TRACE_ITERATION;
    return count;
}

static int by_iteration_begin(const void *a, const void *b)
{
    const struct timeline_iteration *x = a, *y = b;
    return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

/* What takes part in the trace's end. */
static void find_end(struct timeline *timeline)
{
    for (uint32_t i = 0; i < timeline->count; i++)
        if (timeline->events[i].record.end_ns > timeline->end_ns)
            timeline->end_ns = timeline->events[i].record.end_ns;
    for (uint32_t i = 0; i < timeline->iteration_count; i++)
        if (timeline->iterations[i].end_ns > timeline->end_ns)
            timeline->end_ns = timeline->iterations[i].end_ns;
}

enum status timeline_merge(const struct trace_buffer *buffer, struct timeline *out)
{
    uint64_t from_ns = begin_of(buffer);
    struct timeline timeline = {.process_count = buffer->header->processes,
                                .begin_ns = from_ns,
                                .end_ns = from_ns,
                                .full_at_ns = full_moment(buffer)};
    uint64_t most = 0, iterations = 0;
    for (unsigned p = 0; p < timeline.process_count; p++) {
        most += trace_buffer_count(buffer, p);
        iterations += count_iterations(buffer, p);
    }
    enum status status = STATUS_OK;
    timeline.processes = calloc((size_t)timeline.process_count + 1, sizeof *timeline.processes);
    timeline.events = calloc(most + 1, sizeof *timeline.events);
    timeline.iterations = calloc(iterations + 1, sizeof *timeline.iterations);
    if (!timeline.processes || !timeline.events || !timeline.iterations || most >= TIMELINE_NONE)
        status = status_set(STATUS_MEMORY, "out of memory for a trace");
    for (unsigned p = 0; p < timeline.process_count && status == STATUS_OK; p++)
        take_process(buffer, p, from_ns, &timeline);
    if (status == STATUS_OK) {
        qsort(timeline.events, timeline.count, sizeof *timeline.events, by_begin);
        qsort(timeline.iterations, timeline.iteration_count, sizeof *timeline.iterations,
              by_iteration_begin);
        status = tie(&timeline);
    }
    if (status == STATUS_OK)
        status = give_lanes(&timeline);
    if (status != STATUS_OK) {
        timeline_release(&timeline);
        return status;
    }
    find_end(&timeline);
    *out = timeline;
    return STATUS_OK;
}

/* -- names ------------------------------------------------------------------------------------- */

void timeline_rename(struct timeline *timeline, char *(*name_of)(const char *symbol))
{
    size_t room = (size_t)timeline->process_count * TRACE_NAMES;
    bool *asked = calloc(room + 1, sizeof *asked);
    char **names = timeline->names ? NULL : calloc(room + 1, sizeof *names);
    for (uint32_t i = 0; asked && names && i < timeline->count; i++) {
        struct timeline_event *event = &timeline->events[i];
        if (event->record.kind != TRACE_KERNEL || event->record.name >= TRACE_NAMES)
            continue;
        size_t at = (size_t)event->process * TRACE_NAMES + event->record.name;
        if (!asked[at])
            names[at] = name_of(event->name);
        asked[at] = true;
        if (!names[at])
            continue;
        event->symbol = event->name;
        event->name = names[at];
    }
    if (asked && names)
        timeline->names = names;
    else
        free(names);
    free(asked);
}

void timeline_release(struct timeline *timeline)
{
    size_t names = timeline->names ? (size_t)timeline->process_count * TRACE_NAMES : 0;
    for (size_t i = 0; i < names; i++)
        free(timeline->names[i]);
    free(timeline->names);
    free(timeline->processes);
    free(timeline->events);
    free(timeline->iterations);
    *timeline = (struct timeline){0};
}
