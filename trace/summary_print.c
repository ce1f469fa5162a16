#include <math.h>
#include <string.h>

#include "trace/summary.h"

/* Calls beyond these take next to no time. */
#define CALLS_SHOWN 12

/* A time in its unit: "12.3 us". Returns text. */
static const char *time_text(double ns, char *text, size_t size)
{
    double size_ns = fabs(ns);
    if (size_ns < 999.5)
        snprintf(text, size, "%.0f ns", ns);
    else if (size_ns < 999.95e3)
        snprintf(text, size, "%.1f us", ns / 1e3);
    else if (size_ns < 999.95e6)
        snprintf(text, size, "%.1f ms", ns / 1e6);
    else
        snprintf(text, size, "%.2f s", ns / 1e9);
    return text;
}

static double share(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0.0;
}

static void print_calls(FILE *out, const struct summary *summary)
{
    char total[32], mean[32], longest[32];
    fprintf(out, "\n%8s %10s %6s %10s %10s  %s\n", "calls", "time", "share", "mean", "longest",
            "call");
    for (size_t i = 0; i < summary->call_count && i < CALLS_SHOWN; i++) {
        const struct summary_call *call = &summary->calls[i];
        fprintf(out, "%8llu %10s %5.1f%% %10s %10s  %s\n", (unsigned long long)call->calls,
                time_text((double)call->total_ns, total, sizeof total),
                share(call->total_ns, summary->call_total_ns),
                time_text((double)call->total_ns / (double)call->calls, mean, sizeof mean),
                time_text((double)call->longest_ns, longest, sizeof longest), call->name);
    }
    if (summary->call_count > CALLS_SHOWN)
        fprintf(out, "%8s and %zu more\n", "", summary->call_count - CALLS_SHOWN);
}

static void print_use(FILE *out, const struct timeline *timeline, const struct summary *summary)
{
    char span[32], gap[32], at[32], all[32];
    if (summary->kernels + summary->copies + summary->sets == 0) {
        fputs("\nGPU: no work\n", out);
        return;
    }
    fprintf(out,
            "\nGPU: at work for %.1f%% of the %s from its first work to its last; kernels %.1f%%, "
            "copies %.1f%%\n",
            share(summary->busy_ns, summary->span_ns),
            time_text((double)summary->span_ns, span, sizeof span),
            share(summary->kernel_ns, summary->span_ns), share(summary->copy_ns, summary->span_ns));
    fprintf(out, "gaps: %llu without any work", (unsigned long long)summary->gaps);
    if (summary->gaps)
        fprintf(
            out, ", the longest %s at %s",
            time_text((double)summary->longest_gap_ns, gap, sizeof gap),
            time_text((double)(summary->longest_gap_at_ns - timeline->begin_ns), at, sizeof at));
    fprintf(out, "; %llu stream%s idle for %s between their work, the longest for %s\n",
            (unsigned long long)summary->streams, summary->streams == 1 ? "" : "s",
            time_text((double)summary->stream_gap_ns, all, sizeof all),
            time_text((double)summary->longest_stream_gap_ns, gap, sizeof gap));
    if (summary->copies && summary->kernels)
        fprintf(out, "overlap: %.1f%% of the time of copies is beside kernels\n",
                share(summary->both_ns, summary->copy_ns));
}

static void print_admission(FILE *out, const char *what, const struct summary_admission *admission)
{
    char p50[32], p90[32], p99[32], longest[32];
    if (admission->count == 0)
        return;
    fprintf(out,
            "admission of %s, from the return of the call to the start: median %s, 90%% %s, "
            "99%% %s, longest %s",
            what, time_text(admission->p50_ns, p50, sizeof p50),
            time_text(admission->p90_ns, p90, sizeof p90),
            time_text(admission->p99_ns, p99, sizeof p99),
            time_text(admission->longest_ns, longest, sizeof longest));
    if (admission->early)
        fprintf(out, "; %.1f%% start before the return", share(admission->early, admission->count));
    fputc('\n', out);
}

const char *summary_pageable_verdict(const struct summary_pageable *pageable)
{
    if (pageable->copies == 0)
        return "there are none";
    if (pageable->crossed == 0)
        return "none could begin while another was pending";
    if (pageable->overtook == 0)
        return "complete in issue order";
    if (pageable->overtook * 20 <= pageable->crossed)
        return "complete in issue order but for a few";
    return pageable->overtook * 2 < pageable->crossed ? "mostly complete in issue order"
                                                      : "do not complete in issue order";
}

static void print_worker(FILE *out, const struct timeline_event *event)
{
    fprintf(out, "process %u", event->process);
    if (event->worker != TIMELINE_NONE)
        fprintf(out, " thread %u", event->worker);
}

static void print_pageable(FILE *out, const struct timeline *timeline,
                           const struct summary_pageable *pageable)
{
    char wait[32], alone[32];
    if (pageable->copies == 0)
        return;
    if (pageable->crossed == 0) {
        fputs("transfers to and from pageable memory: none could begin while one issued before it "
              "was "
              "pending\n",
              out);
        return;
    }
    fprintf(out,
            "transfers to and from pageable memory %s: of %llu that could begin while one issued "
            "before was pending, %llu waited until that had ended, %llu overtook\n",
            summary_pageable_verdict(pageable), (unsigned long long)pageable->crossed,
            (unsigned long long)pageable->waited, (unsigned long long)pageable->overtook);
    if (!pageable->waited)
        return;
    const struct timeline_event *event = &timeline->events[pageable->longest];
    const struct timeline_event *behind = &timeline->events[pageable->behind];
    fprintf(out, "  longest: %s of ", event->name);
    print_worker(out, event);
    fprintf(out, " waited %s for one that takes %s, behind %s of ",
            time_text((double)pageable->longest_wait_ns, wait, sizeof wait),
            time_text((double)timeline_duration_ns(event), alone, sizeof alone), behind->name);
    print_worker(out, behind);
    fputc('\n', out);
}

static void print_left_out(FILE *out, const struct timeline *timeline)
{
    char at[32];
    if (timeline->full_at_ns)
        fprintf(out,
                "cut: the records were full after %s; %llu later ones are left out (a higher "
                "--max-records or a shorter --duration keeps all)\n",
                time_text((double)timeline->full_at_ns - (double)timeline->begin_ns, at, sizeof at),
                (unsigned long long)timeline->after_full);
    if (timeline->dropped)
        fprintf(out, "lost: CUPTI dropped %llu records for want of buffers\n",
                (unsigned long long)timeline->dropped);
    if (timeline->timeless)
        fprintf(out, "left out: %llu records without times\n",
                (unsigned long long)timeline->timeless);
    if (timeline->orphans)
        fprintf(out, "left out: %llu pieces of GPU work whose calls came before the trace\n",
                (unsigned long long)timeline->orphans);
    for (uint32_t p = 0; p < timeline->process_count; p++)
        if (timeline->processes[p].pid == 0)
            fprintf(out, "empty: process %u did not use the GPU through CUDA's driver\n", p);
        else if (!timeline->processes[p].complete)
            fprintf(out, "lost: process %u did not deliver all that it had\n", p);
}

void summary_print(FILE *out, const struct timeline *timeline, const struct summary *summary)
{
    char span[32], median[32], longest[32];
    uint64_t calls = 0;
    for (size_t i = 0; i < summary->call_count; i++)
        calls += summary->calls[i].calls;
    fprintf(out, "traced %s: %llu calls, %llu kernels, %llu copies",
            time_text((double)(timeline->end_ns - timeline->begin_ns), span, sizeof span),
            (unsigned long long)calls, (unsigned long long)summary->kernels,
            (unsigned long long)summary->copies);
    if (summary->sets)
        fprintf(out, ", %llu memsets", (unsigned long long)summary->sets);
    fputc('\n', out);
    print_left_out(out, timeline);
    if (timeline->iteration_count)
        fprintf(out, "iterations: %u, median %s, longest %s\n", timeline->iteration_count,
                time_text(summary->iteration_p50_ns, median, sizeof median),
                time_text(summary->longest_iteration_ns, longest, sizeof longest));
    if (summary->call_count)
        print_calls(out, summary);
    print_use(out, timeline, summary);
    print_admission(out, "kernels", &summary->kernel_admission);
    print_admission(out, "copies", &summary->copy_admission);
    print_pageable(out, timeline, &summary->pageable);
}
