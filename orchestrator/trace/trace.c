#include "orchestrator/trace/trace.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "orchestrator/plan/device_choice.h"
#include "orchestrator/console/report.h"
#include "orchestrator/campaign/plugin.h"
#include "orchestrator/campaign/campaign.h"
#include "orchestrator/trace/internal.h"
#include "orchestrator/trace/run.h"

/* A moment is enough, and a second of small kernels is a million of records. */
#define DURATION_S 0.2

/* What is asked for, before a GPU is looked at. */
static enum status choose(struct trace *trace)
{
    const struct options *options = trace->options;
    size_t index;
    enum status single =
        device_choice_check_single(options_text(options, OPTION_DEVICE), "a trace");
    if (single != STATUS_OK)
        return single;
    enum status status = trace_check_program(trace->job->command);
    if (status == STATUS_OK)
        status = campaign_check_fixed(options);
    if (status == STATUS_OK)
        status = trace_check_outputs(trace);
    if (status == STATUS_OK)
        status = plan_make(trace->job, 1, &trace->plan);
    bool lists = options_switch(options, OPTION_LIST);
    const char *wanted = options_text(options, OPTION_TRACE_POINT);
    if (status == STATUS_OK && (wanted || !lists))
        status = trace_choose_point(trace->job, &trace->plan, wanted, &index);
    if (status != STATUS_OK || lists)
        return status;
    trace->point = trace->plan.points[index];
    if (trace->point.goal.permille)
        return status_set(STATUS_USAGE, "a rate that must be searched cannot be traced: give a "
                                        "number to --rate");
    double duration = options_is_given(options, OPTION_DURATION)
                          ? options_real(options, OPTION_DURATION)
                          : DURATION_S;
    /* What happens at the begin is part of the picture, unless the user sets it. */
    if (!options_is_given(options, OPTION_WARMUP))
        trace->point.work.warmup_ns = 0;
    trace->limits = (struct round_limits){
        .duration_ns = (uint64_t)(duration * 1e9),
        .max_duration_ns = (uint64_t)(duration * 1e9),
        .precision_rel = INFINITY,
        .timeout_ns = (uint64_t)(options_real(options, OPTION_TIMEOUT) * 1e9),
        .needs_no_window = true,
    };
    return point_check_stagger(&trace->point, trace->limits.duration_ns);
}

static enum status run_traced(struct trace *trace)
{
    struct round_result result;
    uint64_t records = (uint64_t)options_integer(trace->options, OPTION_TRACE_MAX_RECORDS);
    enum status status = trace_run_traced(&trace->session, &trace->point, &trace->limits, records,
                                          &trace->buffer, &trace->timeline, &result);
    trace->traced_ips = result.throughput_ips;
    round_result_release(&result);
    return status == STATUS_OK ? summary_make(&trace->timeline, &trace->summary) : status;
}

static enum status run_plain(struct trace *trace)
{
    struct round_result result;
    enum status status = trace_run(&trace->session, &trace->point, &trace->limits, &result);
    trace->plain_ips = result.throughput_ips;
    round_result_release(&result);
    return status;
}

static enum status prepare(struct trace *trace)
{
    struct plan one = {.points = &trace->point, .count = 1};
    json_t *plugins = NULL, *lengths = json_array();
    uint64_t timeout_ns = trace->limits.timeout_ns;
    bool quiet = options_switch(trace->options, OPTION_QUIET);
    enum status status = plugin_ask_all(&trace->session, &one, timeout_ns, &plugins);
    if (status == STATUS_OK)
        status = session_check_cupti(&trace->session, NULL, 0);
    if (status == STATUS_OK)
        status = lengths_find(&trace->session, &trace->point, 1, timeout_ns, quiet, report_notice,
                              lengths);
    if (status == STATUS_OK && point_over_mps(&trace->point))
        status = daemons_set(trace->session.daemons, 1, false);
    json_decref(plugins);
    json_decref(lengths);
    return status;
}

static enum status write_outputs(const struct trace *trace)
{
    const char *json = options_text(trace->options, OPTION_OUTPUT);
    const char *figure = options_text(trace->options, OPTION_TRACE_FIGURE);
    enum status status = json ? trace_write_json(trace, json) : STATUS_OK;
    if (status == STATUS_OK && json && !options_switch(trace->options, OPTION_QUIET))
        fprintf(stderr, "mpsweep: '%s' opens in https://ui.perfetto.dev or chrome://tracing\n",
                json);
    if (status == STATUS_OK && figure)
        status = trace_write_figure(trace, figure);
    return status;
}

static int run(struct trace *trace)
{
    campaign_notify_session(&trace->session, report_notice);
    enum status status = session_watch_signals(&trace->session);
    if (status == STATUS_OK)
        status = prepare(trace);
    if (status == STATUS_OK)
        status = run_plain(trace);
    if (status == STATUS_OK)
        status = run_traced(trace);
    if (status == STATUS_WORKER) {
        report(status);
        return EXIT_SOME_FAILED;
    }
    if (status == STATUS_OK) {
        trace_print(trace);
        status = write_outputs(trace);
    }
    return report(status);
}

int trace_command(const struct invocation *invocation)
{
    struct trace trace = {.options = invocation->options,
                          .job = invocation->job,
                          .job_path = invocation->operands[0],
                          .buffer = TRACE_BUFFER_EMPTY};
    const struct session_request request = {
        .device = options_text(trace.options, OPTION_DEVICE),
        .external_mps = strcmp(options_text(trace.options, OPTION_MPS), "external") == 0,
    };
    int result = EXIT_BAD_SETUP;
    enum status status = choose(&trace);
    bool lists = options_switch(trace.options, OPTION_LIST);
    if (status == STATUS_OK && !lists)
        status = session_open(&request, &trace.session);
    if (status != STATUS_OK) {
        report(status);
    } else if (lists) {
        trace_list_points(&trace.plan);
        result = EXIT_ALL_MEASURED;
    } else {
        result = run(&trace);
        if (session_close(&trace.session) != STATUS_OK)
            result = report(STATUS_SYSTEM);
    }
    summary_release(&trace.summary);
    timeline_release(&trace.timeline);
    trace_buffer_release(&trace.buffer);
    plan_release(&trace.plan);
    return result;
}
