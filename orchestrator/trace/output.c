#include "orchestrator/trace/internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"
#include "files/atomic_file.h"
#include "files/file_name.h"
#include "orchestrator/plot/gnuplot.h"
#include "orchestrator/record/record.h"
#include "trace/chrome.h"
#include "trace/gantt.h"
#include "trace/listing.h"

enum status trace_check_outputs(const struct trace *trace)
{
    const char *json = options_text(trace->options, OPTION_OUTPUT);
    const char *figure = options_text(trace->options, OPTION_TRACE_FIGURE);
    enum status status = STATUS_OK;
    if (figure)
        status = plot_check_output(figure);
    if (status == STATUS_OK && figure)
        status = atomic_file_check(figure, ATOMIC_FILE_REPLACE);
    if (status == STATUS_OK && figure)
        status = file_name_refuse_input(figure, trace->job_path);
    if (status == STATUS_OK && json)
        status = file_name_check(json, "a timeline", ".json");
    return status == STATUS_OK && json ? atomic_file_check(json, 0) : status;
}

/* Which part of the iterations/s tracing takes. */
static double slowdown_rel(const struct trace *trace)
{
    return trace->plain_ips > 0 && trace->traced_ips > 0
               ? 1.0 - trace->traced_ips / trace->plain_ips
               : NAN;
}

#define SLOWDOWN_TEXT 64

/* "4.1% slower", as the summary and the picture have it; a slowdown that is known. Returns out. */
static const char *slowdown_text(const struct trace *trace, char out[SLOWDOWN_TEXT])
{
    double slowdown = slowdown_rel(trace);
    snprintf(out, SLOWDOWN_TEXT, "%.1f%% %s", fabs(100.0 * slowdown),
             slowdown < 0 ? "faster, which is chance" : "slower");
    return out;
}

static json_t *pageable_json(const struct summary_pageable *pageable)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:s}", "copies", (json_int_t)pageable->copies, "crossed",
                     (json_int_t)pageable->crossed, "waited", (json_int_t)pageable->waited,
                     "overtook", (json_int_t)pageable->overtook, "verdict",
                     summary_pageable_verdict(pageable));
}

static json_t *admission_json(const struct summary_admission *admission)
{
    if (admission->count == 0)
        return json_null();
    return json_pack("{s:I, s:I, s:f, s:f, s:f, s:f}", "count", (json_int_t)admission->count,
                     "early", (json_int_t)admission->early, "p50_us", admission->p50_ns / 1e3,
                     "p90_us", admission->p90_ns / 1e3, "p99_us", admission->p99_ns / 1e3,
                     "longest_us", admission->longest_ns / 1e3);
}

static json_t *summary_json(const struct timeline *timeline, const struct summary *summary)
{
    return json_pack("{s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:I, s:I, s:I, s:o, s:o, s:o}", "kernels",
                     (json_int_t)summary->kernels, "copies", (json_int_t)summary->copies, "sets",
                     (json_int_t)summary->sets, "span_ms", (double)summary->span_ns / 1e6,
                     "busy_ms", (double)summary->busy_ns / 1e6, "copying_ms",
                     (double)summary->copy_ns / 1e6, "overlap_ms", (double)summary->both_ns / 1e6,
                     "after_full", (json_int_t)timeline->after_full, "dropped",
                     (json_int_t)timeline->dropped, "orphans", (json_int_t)timeline->orphans,
                     "pageable", pageable_json(&summary->pageable), "kernel_admission",
                     admission_json(&summary->kernel_admission), "copy_admission",
                     admission_json(&summary->copy_admission));
}

/* What made the trace, as in the header of results but for the window, which has defaults of its
 * own, and its summary: in the file itself, so that they stay together. */
static json_t *other_data(const struct trace *trace)
{
    char what[POINT_DESCRIPTION];
    const struct timeline *timeline = &trace->timeline;
    const struct point *point = &trace->point;
    point_describe(point, what, sizeof what);
    json_t *other =
        record_header(&trace->session, trace->job, trace->job_path, &trace->plan, false);
    json_t *own = json_pack(
        "{s:s, s:s?, s:f, s:f, s:i, s:i, s:i, s:o, s:o, s:o, s:o}", "point", what, "section",
        point->section, "duration_s", (double)trace->limits.duration_ns / 1e9, "warmup_s",
        (double)point->work.warmup_ns / 1e9, "processes", (int)point->processes, "threads",
        (int)point->threads, "cupti", (int)timeline->processes[0].cupti_version, "plain_ips",
        record_real_or_null(trace->plain_ips > 0 ? trace->plain_ips : NAN), "traced_ips",
        record_real_or_null(trace->traced_ips > 0 ? trace->traced_ips : NAN), "slowdown_rel",
        record_real_or_null(slowdown_rel(trace)), "summary",
        summary_json(timeline, &trace->summary));
    if (!other || !own || json_object_update(other, own) != 0) {
        json_decref(other);
        other = NULL;
    }
    json_decref(own);
    /* It is not a line of results. */
    json_object_del(other, "type");
    json_object_del(other, "schema");
    return other;
}

enum status trace_write_json(const struct trace *trace, const char *path)
{
    struct atomic_file file;
    json_t *other = other_data(trace);
    if (!other)
        return status_set(STATUS_MEMORY, "out of memory for a trace");
    enum status status = atomic_file_open(path, 0, &file);
    if (status == STATUS_OK)
        status = atomic_file_end(&file, chrome_write(file.stream, &trace->timeline,
                                                     gpu_at(trace->session.gpus, 0)->name, other));
    json_decref(other);
    return status;
}

enum status trace_write_figure(const struct trace *trace, const char *path)
{
    char what[POINT_DESCRIPTION], notes[POINT_DESCRIPTION + 256], *rows = NULL;
    char slowdown[SLOWDOWN_TEXT];
    struct text text = {.at = notes, .size = sizeof notes};
    uint32_t left_out = 0;
    struct text_stream body, data;
    json_t *header =
        record_header(&trace->session, trace->job, trace->job_path, &trace->plan, false);
    enum status status = header ? plot_begin(&body) : status_set(STATUS_MEMORY, "out of memory");
    if (status == STATUS_OK) {
        status = gantt_write(body.file, &trace->timeline, &left_out);
        rows = text_stream_close(&body);
    }
    if (!rows && status == STATUS_OK)
        status = status_set(STATUS_MEMORY, "out of memory for the data of a figure");
    point_describe(&trace->point, what, sizeof what);
    text_append(&text, "%s.", what);
    if (isfinite(slowdown_rel(trace)))
        text_append(&text, " Tracing made it %s.", slowdown_text(trace, slowdown));
    if (left_out)
        text_append(&text, " Not drawn: %u more row%s.", left_out, left_out == 1 ? "" : "s");
    if (status == STATUS_OK)
        status = plot_begin(&data);
    if (status == STATUS_OK) {
        status = plot_write_heading(data.file, "timeline", "Calls and GPU work", header, notes);
        fputs(rows, data.file);
        status = plot_end(&data, status, "timeline", path);
    }
    json_decref(header);
    free(rows);
    return status;
}

void trace_print(const struct trace *trace)
{
    char what[POINT_DESCRIPTION], plain[32], traced[32], slowdown[SLOWDOWN_TEXT];
    const char *print = options_text(trace->options, OPTION_TRACE_PRINT);
    if (strcmp(print, "gpu-trace") == 0)
        listing_print_gpu(stdout, &trace->timeline);
    if (strcmp(print, "api-trace") == 0)
        listing_print_calls(stdout, &trace->timeline);
    if (strcmp(print, "summary") != 0)
        putchar('\n');
    point_describe(&trace->point, what, sizeof what);
    printf("%s on %s%s\n", what, gpu_at(trace->session.gpus, 0)->name,
           session_mark(&trace->session));
    summary_print(stdout, &trace->timeline, &trace->summary);
    if (isfinite(slowdown_rel(trace)))
        printf("tracing: %s iterations/s without, %s with: %s\n",
               text_number(trace->plain_ips, plain, sizeof plain),
               text_number(trace->traced_ips, traced, sizeof traced),
               slowdown_text(trace, slowdown));
}
