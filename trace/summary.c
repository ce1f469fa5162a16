#include "trace/summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* -- what a thread or a stream does ------------------------------------------------------------ */

/* Calls or GPU work, thread by thread or stream by stream. */
struct order {
    const struct timeline_event **at; /* owned */
    size_t count;
};

/* The thread of a call, the stream of GPU work: within its process. */
static uint64_t track_of(const struct timeline_event *event)
{
    return timeline_is_call(event) ? event->record.thread
                                   : (uint64_t)event->record.context << 32 | event->record.stream;
}

static int by_track(const void *a, const void *b)
{
    const struct timeline_event *x = *(const struct timeline_event *const *)a;
    const struct timeline_event *y = *(const struct timeline_event *const *)b;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    if (track_of(x) != track_of(y))
        return track_of(x) < track_of(y) ? -1 : 1;
    return x->record.begin_ns == y->record.begin_ns  ? 0
           : x->record.begin_ns < y->record.begin_ns ? -1
                                                     : 1;
}

static enum status order_events(const struct timeline *timeline, bool calls, struct order *out)
{
    struct order order = {.at = calloc((size_t)timeline->count + 1, sizeof *order.at)};
    if (!order.at)
        return status_set(STATUS_MEMORY, "out of memory for a summary");
    for (uint32_t i = 0; i < timeline->count; i++)
        if (timeline_is_call(&timeline->events[i]) == calls)
            order.at[order.count++] = &timeline->events[i];
    qsort(order.at, order.count, sizeof *order.at, by_track);
    *out = order;
    return STATUS_OK;
}

/* Whether the event at index is the first of its thread or stream. */
static bool is_first(const struct order *order, size_t index)
{
    return index == 0 || order->at[index - 1]->process != order->at[index]->process ||
           track_of(order->at[index - 1]) != track_of(order->at[index]);
}

/* -- calls ------------------------------------------------------------------------------------- */

static enum status add_call(struct summary *summary, const struct timeline_event *event)
{
    uint64_t took_ns = timeline_duration_ns(event);
    size_t i = 0;
    while (i < summary->call_count && strcmp(summary->calls[i].name, event->name) != 0)
        i++;
    if (i == summary->call_count) {
        struct summary_call *calls = realloc(summary->calls, (i + 1) * sizeof *calls);
        if (!calls)
            return status_set(STATUS_MEMORY, "out of memory for a summary");
        summary->calls = calls;
        summary->calls[summary->call_count++] = (struct summary_call){.name = event->name};
    }
    struct summary_call *call = &summary->calls[i];
    call->calls++;
    call->total_ns += took_ns;
    if (took_ns > call->longest_ns)
        call->longest_ns = took_ns;
    return STATUS_OK;
}

/* Time in calls that are within others counts once. */
static enum status time_in_calls(const struct timeline *timeline, struct summary *out)
{
    struct order calls;
    uint64_t end_ns = 0;
    enum status status = order_events(timeline, true, &calls);
    if (status != STATUS_OK)
        return status;
    for (size_t i = 0; i < calls.count; i++) {
        const struct trace_record *record = &calls.at[i]->record;
        if (is_first(&calls, i))
            end_ns = 0;
        uint64_t from_ns = record->begin_ns > end_ns ? record->begin_ns : end_ns;
        if (record->end_ns > from_ns) {
            out->call_total_ns += record->end_ns - from_ns;
            end_ns = record->end_ns;
        }
    }
    free(calls.at);
    return STATUS_OK;
}

static int by_total(const void *a, const void *b)
{
    const struct summary_call *x = a, *y = b;
    return x->total_ns != y->total_ns ? (x->total_ns > y->total_ns ? -1 : 1)
                                      : strcmp(x->name, y->name);
}

/* -- when what runs ---------------------------------------------------------------------------- */

struct edge {
    uint64_t when_ns;
    int kernels, copies, sets; /* +1 or -1 */
};

static int by_time(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;
    return x->when_ns == y->when_ns ? 0 : x->when_ns < y->when_ns ? -1 : 1;
}

/* Beyond the moment of a cut there may have been other work, too. */
static void add_edges(struct edge *edges, size_t *count, const struct timeline_event *event,
                      uint64_t cut_ns)
{
    uint64_t end_ns = cut_ns && event->record.end_ns > cut_ns ? cut_ns : event->record.end_ns;
    uint8_t kind = event->record.kind;
    struct edge edge = {event->record.begin_ns, kind == TRACE_KERNEL, kind == TRACE_COPY,
                        kind == TRACE_SET};
    edges[(*count)++] = edge;
    edge = (struct edge){end_ns, -edge.kernels, -edge.copies, -edge.sets};
    edges[(*count)++] = edge;
}

static void sweep_edges(const struct edge *edges, size_t count, struct summary *out)
{
    int kernels = 0, copies = 0, sets = 0;
    for (size_t i = 0; i < count; i++) {
        if (i > 0) {
            bool busy = kernels || copies || sets;
            uint64_t passed_ns = edges[i].when_ns - edges[i - 1].when_ns;
            out->span_ns += passed_ns;
            out->busy_ns += busy ? passed_ns : 0;
            out->kernel_ns += kernels ? passed_ns : 0;
            out->copy_ns += copies ? passed_ns : 0;
            out->both_ns += kernels && copies ? passed_ns : 0;
            out->gaps += !busy && passed_ns > 0;
            if (!busy && passed_ns > out->longest_gap_ns) {
                out->longest_gap_ns = passed_ns;
                out->longest_gap_at_ns = edges[i - 1].when_ns;
            }
        }
        kernels += edges[i].kernels;
        copies += edges[i].copies;
        sets += edges[i].sets;
    }
}

static enum status use_of_gpu(const struct timeline *timeline, struct summary *out)
{
    struct edge *edges = calloc(2 * (size_t)timeline->count + 1, sizeof *edges);
    size_t count = 0;
    if (!edges)
        return status_set(STATUS_MEMORY, "out of memory for a summary");
    for (uint32_t i = 0; i < timeline->count; i++)
        if (!timeline_is_call(&timeline->events[i]))
            add_edges(edges, &count, &timeline->events[i], timeline->full_at_ns);
    qsort(edges, count, sizeof *edges, by_time);
    sweep_edges(edges, count, out);
    free(edges);
    return STATUS_OK;
}

/* -- streams ----------------------------------------------------------------------------------- */

static void gaps_of_streams(const struct order *work, struct summary *out)
{
    uint64_t end_ns = 0;
    for (size_t i = 0; i < work->count; i++) {
        const struct trace_record *record = &work->at[i]->record;
        bool first = is_first(work, i);
        out->streams += first;
        if (!first && record->begin_ns > end_ns) {
            uint64_t gap_ns = record->begin_ns - end_ns;
            out->stream_gap_ns += gap_ns;
            if (gap_ns > out->longest_stream_gap_ns)
                out->longest_stream_gap_ns = gap_ns;
        }
        if (first || record->end_ns > end_ns)
            end_ns = record->end_ns;
    }
}

/* -- quantiles --------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* The smallest value that so large a share of them does not exceed, as statistics/histogram.h has
 * it.
 */
static double quantile(const double *sorted, size_t count, double share)
{
    size_t rank = (size_t)ceil(share * (double)count);
    return sorted[rank > 0 ? rank - 1 : 0];
}

static enum status lengths_of_iterations(const struct timeline *timeline, struct summary *out)
{
    uint32_t count = timeline->iteration_count;
    double *lengths_ns = calloc((size_t)count + 1, sizeof *lengths_ns);
    if (!lengths_ns)
        return status_set(STATUS_MEMORY, "out of memory for a summary");
    for (uint32_t i = 0; i < count; i++)
        lengths_ns[i] = (double)(timeline->iterations[i].end_ns - timeline->iterations[i].begin_ns);
    qsort(lengths_ns, count, sizeof *lengths_ns, by_value);
    if (count > 0) {
        out->iteration_p50_ns = quantile(lengths_ns, count, 0.50);
        out->longest_iteration_ns = lengths_ns[count - 1];
    }
    free(lengths_ns);
    return STATUS_OK;
}

/* Of a call with several pieces of work, as a graph's launch, only the first is admitted by it. */
static enum status admission(const struct timeline *timeline, enum trace_kind kind,
                             struct summary_admission *out)
{
    double *values = calloc((size_t)timeline->count + 1, sizeof *values);
    if (!values)
        return status_set(STATUS_MEMORY, "out of memory for a summary");
    for (uint32_t i = 0; i < timeline->count; i++) {
        const struct timeline_event *event = &timeline->events[i];
        if (event->record.kind != kind)
            continue;
        const struct timeline_event *call = &timeline->events[event->call];
        if (call->work != i)
            continue;
        double after_ns = (double)event->record.begin_ns - (double)call->record.end_ns;
        out->early += after_ns < 0;
        values[out->count++] = after_ns;
    }
    qsort(values, out->count, sizeof *values, by_value);
    if (out->count > 0) {
        out->p50_ns = quantile(values, out->count, 0.50);
        out->p90_ns = quantile(values, out->count, 0.90);
        out->p99_ns = quantile(values, out->count, 0.99);
        out->longest_ns = values[out->count - 1];
    }
    free(values);
    return STATUS_OK;
}

/* -- pageable memory --------------------------------------------------------------------------- */

struct transfer {
    uint32_t process, event;
    uint64_t issue_ns, begin_ns, end_ns;
    uint64_t ready_ns; /* issued, and what stands before it in its stream has ended */
};

static int by_issue(const void *a, const void *b)
{
    const struct transfer *x = a, *y = b;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    return x->issue_ns == y->issue_ns ? 0 : x->issue_ns < y->issue_ns ? -1 : 1;
}

static bool is_pageable(const struct timeline_event *event)
{
    return event->record.kind == TRACE_COPY && (event->record.source == TRACE_MEMORY_PAGEABLE ||
                                                event->record.sink == TRACE_MEMORY_PAGEABLE);
}

/* Calls that begin as close together as this come to the driver in any order. */
#define ISSUE_MARGIN_NS 20000

static void judge_transfer(const struct transfer *transfer, const struct transfer *pending,
                           struct summary_pageable *out)
{
    uint64_t wait_ns = transfer->begin_ns - transfer->ready_ns;
    out->crossed++;
    if (transfer->end_ns < pending->end_ns)
        out->overtook++;
    if (transfer->begin_ns < pending->end_ns)
        return;
    out->waited++;
    if (wait_ns <= out->longest_wait_ns)
        return;
    out->longest_wait_ns = wait_ns;
    out->longest = transfer->event;
    out->behind = pending->event;
}

/* Of those that were issued before and are pending when it is ready, the one that ends last
 * decides. */
static void judge_transfers(const struct transfer *transfers, size_t count,
                            struct summary_pageable *out)
{
    const struct transfer *last = NULL;
    for (size_t i = 0, earlier = 0; i < count; i++) {
        const struct transfer *transfer = &transfers[i];
        if (last && last->process != transfer->process)
            last = NULL;
        for (; earlier < i; earlier++) {
            const struct transfer *before = &transfers[earlier];
            if (before->process != transfer->process)
                continue;
            if (before->issue_ns + ISSUE_MARGIN_NS > transfer->issue_ns)
                break;
            if (!last || before->end_ns > last->end_ns)
                last = before;
        }
        if (last && last->end_ns > transfer->ready_ns)
            judge_transfer(transfer, last, out);
    }
}

static enum status pageable_copies(const struct timeline *timeline, const struct order *work,
                                   struct summary_pageable *out)
{
    size_t count = 0;
    uint64_t before_ns = 0;
    struct transfer *transfers = calloc(work->count + 1, sizeof *transfers);
    if (!transfers)
        return status_set(STATUS_MEMORY, "out of memory for a summary");
    for (size_t i = 0; i < work->count; i++) {
        const struct timeline_event *event = work->at[i];
        const struct trace_record *record = &event->record;
        if (is_first(work, i))
            before_ns = 0;
        /* A graph's copies are issued when it is launched, and do not hold its launch up. */
        const struct timeline_event *call = &timeline->events[event->call];
        uint64_t issue_ns = call->record.begin_ns;
        if (is_pageable(event) && issue_ns <= record->begin_ns && !strstr(call->name, "Graph"))
            transfers[count++] = (struct transfer){
                .process = event->process,
                .event = (uint32_t)(event - timeline->events),
                .issue_ns = issue_ns,
                .begin_ns = record->begin_ns,
                .end_ns = record->end_ns,
                .ready_ns = before_ns > issue_ns ? before_ns : issue_ns,
            };
        if (record->end_ns > before_ns)
            before_ns = record->end_ns;
    }
    qsort(transfers, count, sizeof *transfers, by_issue);
    *out = (struct summary_pageable){.copies = count};
    judge_transfers(transfers, count, out);
    free(transfers);
    return STATUS_OK;
}

/* -- all of it --------------------------------------------------------------------------------- */

static enum status work_of_streams(const struct timeline *timeline, struct summary *out)
{
    struct order work;
    enum status status = order_events(timeline, false, &work);
    if (status != STATUS_OK)
        return status;
    gaps_of_streams(&work, out);
    status = pageable_copies(timeline, &work, &out->pageable);
    free(work.at);
    return status;
}

enum status summary_make(const struct timeline *timeline, struct summary *out)
{
    struct summary summary = {0};
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < timeline->count && status == STATUS_OK; i++) {
        const struct timeline_event *event = &timeline->events[i];
        if (timeline_is_call(event))
            status = add_call(&summary, event);
        summary.kernels += event->record.kind == TRACE_KERNEL;
        summary.copies += event->record.kind == TRACE_COPY;
        summary.sets += event->record.kind == TRACE_SET;
    }
    if (summary.calls)
        qsort(summary.calls, summary.call_count, sizeof *summary.calls, by_total);
    if (status == STATUS_OK)
        status = time_in_calls(timeline, &summary);
    if (status == STATUS_OK)
        status = use_of_gpu(timeline, &summary);
    if (status == STATUS_OK)
        status = lengths_of_iterations(timeline, &summary);
    if (status == STATUS_OK)
        status = admission(timeline, TRACE_KERNEL, &summary.kernel_admission);
    if (status == STATUS_OK)
        status = admission(timeline, TRACE_COPY, &summary.copy_admission);
    if (status == STATUS_OK)
        status = work_of_streams(timeline, &summary);
    if (status != STATUS_OK) {
        summary_release(&summary);
        return status;
    }
    *out = summary;
    return STATUS_OK;
}

void summary_release(struct summary *summary)
{
    free(summary->calls);
    *summary = (struct summary){0};
}
