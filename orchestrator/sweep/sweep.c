#include "orchestrator/sweep/sweep.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/text.h"
#include "orchestrator/calibrate/plan.h"
#include "orchestrator/plan/device_choice.h"
#include "orchestrator/console/report.h"
#include "orchestrator/console/progress.h"
#include "orchestrator/record/record.h"
#include "orchestrator/campaign/saturation.h"
#include "orchestrator/campaign/campaign.h"
#include "orchestrator/results/point.h"
#include "orchestrator/round/openloop.h"

#define MOST_EXTENSION 30

static enum status open_session(struct sweep *sweep)
{
    const struct session_request request = {
        .device = options_text(sweep->options, OPTION_DEVICE),
        .external_mps = strcmp(options_text(sweep->options, OPTION_MPS), "external") == 0,
    };
    if (sweep->session.daemons)
        return STATUS_OK;
    return session_open(&request, &sweep->session);
}

static enum status close_session(struct sweep *sweep)
{
    return sweep->session.daemons ? session_close(&sweep->session) : STATUS_OK;
}

/* How many GPUs there are, only the driver knows. */
static enum status make_plan(struct sweep *sweep)
{
    struct device_choice choice;
    enum status status = device_choice_parse(options_text(sweep->options, OPTION_DEVICE), &choice);
    if (status == STATUS_OK && choice.all)
        status = open_session(sweep);
    if (status != STATUS_OK)
        return status;
    unsigned gpus = choice.all ? sweep->session.gpus->count : device_choice_count(&choice);
    return plan_make_for(sweep->job, gpus, &sweep->plan);
}

/* What was wrong, after the session has been closed. */
static int report_closed(struct sweep *sweep, enum status status)
{
    char text[512];
    snprintf(text, sizeof text, "%s", status_text());
    close_session(sweep);
    return report(status_set(status, "%s", text));
}

/* A list needs no GPU; but where limits are kept, it takes one to know whether they apply. */
static void list(struct sweep *sweep)
{
    if (sweep_limits_matter(sweep) && open_session(sweep) == STATUS_OK &&
        sweep_mark_beyond(sweep) != STATUS_OK)
        report(STATUS_MEMORY);
    sweep_print_list(sweep);
}

static enum status check_limits(struct sweep *sweep)
{
    const struct options *options = sweep->options;
    if (options_switch(options, OPTION_RESUME) && !options_text(options, OPTION_OUTPUT))
        return status_set(STATUS_USAGE, "--resume needs --output FILE");
    enum status status = sweep_check_fixed(options);
    if (status != STATUS_OK)
        return status;
    double duration = options_real(options, OPTION_DURATION);
    double longest = options_real(options, OPTION_MAX_DURATION);
    /* --duration 10 alone means a window of 10 s, not an error about a default; so does 0.1. */
    if (options->values[OPTION_MAX_DURATION].rank == 0) {
        if (longest < duration)
            longest = duration;
        if (longest > MOST_EXTENSION * duration)
            longest = MOST_EXTENSION * duration;
    }
    if (longest < duration)
        return status_set(STATUS_USAGE, "max-duration of %g s is shorter than duration of %g s",
                          longest, duration);
    /* Progress is counted in slices of which the longest window has 2000: a window that is a small
     * share of it would have too few. */
    if (longest > MOST_EXTENSION * duration)
        return status_set(STATUS_USAGE,
                          "max-duration of %g s is more than %d times duration of %g s", longest,
                          MOST_EXTENSION, duration);
    sweep->limits = (struct round_limits){
        .duration_ns = (uint64_t)(duration * 1e9),
        .max_duration_ns = (uint64_t)(longest * 1e9),
        .precision_rel = options_real(options, OPTION_PRECISION) / 100.0,
        .timeout_ns = (uint64_t)(options_real(options, OPTION_TIMEOUT) * 1e9),
        .samples = OPENLOOP_SAMPLES,
    };
    /* Fixed work is done, or it is not. */
    if (sweep_is_fixed(sweep))
        sweep->limits.precision_rel = INFINITY;
    return STATUS_OK;
}

/* The daemon is missing or does not start: better known before an hour of measuring than after. */
static enum status check_mps(struct sweep *sweep)
{
    for (size_t i = 0; i < sweep->plan.count; i++) {
        if (sweep->records[i] || !sweep_owns(sweep, i) || !point_over_mps(&sweep->plan.points[i]))
            continue;
        enum status status = round_set_daemons(&sweep->session, &sweep->plan.points[i]);
        return status == STATUS_OK ? status
                                   : status_prefix(status, "the plan has layouts over MPS, but: ");
    }
    return STATUS_OK;
}

static enum status finish_point(struct sweep *sweep, size_t index)
{
    struct measurement *measurement = &sweep->measurements[index];
    json_t *record =
        record_point(&sweep->plan.points[index], measurement, sweep->limits.precision_rel);
    measurement_release(measurement);
    if (!record)
        return status_set(STATUS_MEMORY, "out of memory for a record");
    sweep->records[index] = record;
    return results_write(&sweep->writer, record);
}

static void show_step(void *data, const char *step)
{
    progress_step(data, step);
}

/* What a point came to. */
static const char *result_text(const json_t *record, char out[POINT_FAILURE_TEXT])
{
    char number[32];
    const char *status = point_string(record, "status");
    bool ok = strcmp(status, "ok") == 0;
    if (!json_object_get(record, "throughput_ips"))
        return point_failure(record, out);
    snprintf(out, POINT_FAILURE_TEXT, "%s iterations/s%s%s",
             text_number(point_number(record, "throughput_ips"), number, sizeof number),
             ok ? "" : ", ", ok ? "" : status);
    return out;
}

/* One round of one point; last_round when nothing more comes for it. */
static enum status measure(struct sweep *sweep, const struct turn *turn, bool last_round,
                           struct progress *progress)
{
    size_t index = turn->point;
    const struct point *point = &sweep->plan.points[index];
    struct round_limits limits = sweep->limits;
    struct round_result round;
    uint64_t begin_ns = clock_now_ns();
    /* What each of several rounds leaves open is divided by the root of their number. */
    limits.precision_rel *= sqrt((double)options_integer(sweep->options, OPTION_ROUNDS));
    char what[POINT_DESCRIPTION], result[POINT_FAILURE_TEXT];
    point_describe(point, what, sizeof what);
    progress_begin(progress, what);
    enum status swept = saturation_run(&sweep->session, point, &limits, &sweep->crew, turn,
                                       show_step, progress, &sweep->measurements[index], &round);
    char swept_text[512];
    snprintf(swept_text, sizeof swept_text, "%s", status_text());
    enum status status = measurement_add(&sweep->measurements[index], &round,
                                         (double)(clock_now_ns() - begin_ns) / 1e9);
    bool ended = last_round || sweep->measurements[index].status != STATUS_OK;
    if (status == STATUS_OK && ended)
        status = finish_point(sweep, index);
    const json_t *record = sweep->records[index];
    progress_end(progress, record ? result_text(record, result) : NULL);
    if (status == STATUS_OK && swept != STATUS_OK)
        status = status_set(swept, "%s", swept_text);
    return status;
}

/* After an interrupt: the points of which some rounds are done keep those. */
static void keep_rounds(struct sweep *sweep)
{
    for (size_t i = 0; i < sweep->plan.count; i++)
        if (!sweep->records[i] && sweep->measurements[i].rounds > 0 &&
            finish_point(sweep, i) != STATUS_OK)
            return;
    status_record("interrupted");
}

/* Every point that is left, once. No worker outlives a round: what it measures is independent of
 * the others. */
static enum status measure_round(struct sweep *sweep, unsigned round, bool last_round,
                                 struct progress *progress)
{
    struct turn *turns;
    size_t count;
    enum status status = sweep_make_turns(sweep, round, &turns, &count);
    if (status != STATUS_OK)
        return status;
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        status = session_check_signals(&sweep->session);
        if (status == STATUS_OK)
            status = measure(sweep, &turns[i], last_round, progress);
    }
    free(turns);
    return status;
}

static enum status measure_all(struct sweep *sweep)
{
    unsigned rounds = (unsigned)options_integer(sweep->options, OPTION_ROUNDS);
    size_t count = sweep->plan.count, left = 0;
    struct progress progress;
    for (size_t i = 0; i < count; i++)
        left += sweep->records[i] == NULL && sweep_owns(sweep, i);
    progress_init(&progress, options_switch(sweep->options, OPTION_QUIET), left * rounds,
                  sweep_estimate_s(sweep));
    enum status status = STATUS_OK;
    for (unsigned round = 0; round < rounds && status == STATUS_OK; round++)
        status = measure_round(sweep, round, round + 1 == rounds, &progress);
    progress_clear(&progress);
    /* Something came between two points. */
    status = crew_dismiss_after(&sweep->crew, &sweep->session, sweep->limits.timeout_ns, status);
    /* One that came while the last point ended. */
    if (status == STATUS_OK)
        status = session_check_signals(&sweep->session);
    if (status == STATUS_INTERRUPTED)
        keep_rounds(sweep);
    return status;
}

/* For what this run measures. */
static enum status calibrate(struct sweep *sweep)
{
    struct plan own;
    enum status status = sweep_own_plan(sweep, &own);
    if (status != STATUS_OK)
        return status;
    status = calibrate_plan(&sweep->session, &own, &sweep->limits,
                            options_switch(sweep->options, OPTION_QUIET), &sweep->writer,
                            sweep->calibrations);
    plan_release(&own);
    return status;
}

/* Everything between an open session and its end. */
static int run(struct sweep *sweep)
{
    enum status status = sweep_open_results(sweep);
    if (status != STATUS_OK)
        return report(status);
    bool resumed = options_switch(sweep->options, OPTION_RESUME);
    status = sweep_find_lengths(sweep);
    if (status == STATUS_OK)
        status = check_mps(sweep);
    if (status == STATUS_OK)
        status = sweep_make_header(sweep, resumed);
    status = sweep_begin_file(sweep, resumed, status);
    if (status != STATUS_OK)
        return report(status);
    if (options_switch(sweep->options, OPTION_CALIBRATE))
        status = calibrate(sweep);
    if (status == STATUS_OK)
        status = measure_all(sweep);
    int result = sweep_exit_status(sweep);
    if (status != STATUS_OK)
        result = report(status);
    json_t *points = sweep_measured_points(sweep);
    json_t *footer =
        record_footer(result, points, (double)(clock_now_ns() - sweep->started_ns) / 1e9);
    if (status == STATUS_OK || status == STATUS_INTERRUPTED) {
        if (results_write(&sweep->writer, footer) != STATUS_OK)
            result = report(STATUS_SYSTEM);
    }
    sweep_print_results(sweep, points, footer);
    json_decref(footer);
    json_decref(points);
    return result;
}

void sweep_print_notice(const struct session *session)
{
    if (session->emulated_by_default)
        fputs(
            "mpsweep: no NVIDIA driver here: using the EMULATED GPU. Its numbers show how mpsweep\n"
            "mpsweep: works and say nothing about hardware. ('--device emulated' asks for it.)\n",
            stderr);
    char differ[1024];
    if (gpu_models_differ(session->gpus, differ, sizeof differ))
        fprintf(stderr,
                "mpsweep: the GPUs differ: %s; the sums of points on several of them hide that, so "
                "look at each\n",
                differ);
}

int sweep_command(const struct invocation *invocation)
{
    struct sweep sweep = {
        .options = invocation->options,
        .job = invocation->job,
        .job_path = invocation->operands[0],
        .writer.fd = -1,
        .crew = CREW_EMPTY,
        .started_ns = clock_now_ns(),
    };
    int result = EXIT_ALL_MEASURED;
    enum status status = check_limits(&sweep);
    if (status == STATUS_OK)
        status = make_plan(&sweep);
    if (status == STATUS_OK)
        status = plan_check_stagger(&sweep.plan, 0);
    if (status == STATUS_OK)
        status = sweep_deal(&sweep);
    if (status == STATUS_OK)
        status = sweep_check_publish(&sweep);
    if (status != STATUS_OK) {
        sweep_release_shard(&sweep);
        plan_release(&sweep.plan);
        return report_closed(&sweep, status);
    }
    sweep.records = calloc(sweep.plan.count, sizeof *sweep.records);
    sweep.beyond = calloc(sweep.plan.count, sizeof *sweep.beyond);
    sweep.measurements = calloc(sweep.plan.count, sizeof *sweep.measurements);
    sweep.calibrations = json_array();
    if (!sweep.records || !sweep.measurements || !sweep.beyond || !sweep.calibrations) {
        result = report(status_set(STATUS_MEMORY, "out of memory"));
        goto out;
    }
    if (options_switch(sweep.options, OPTION_LIST)) {
        list(&sweep);
        goto out;
    }
    status = open_session(&sweep);
    if (status != STATUS_OK) {
        result = report(status);
        goto out;
    }
    sweep_print_notice(&sweep.session);
    status = session_watch_signals(&sweep.session);
    /* One that cannot be used is better known before an hour of measuring, too. */
    if (status == STATUS_OK)
        status = sweep_ask_plugins(&sweep);
    if (status == STATUS_OK)
        status = sweep_mark_beyond(&sweep);
    if (status == STATUS_OK && !options_switch(sweep.options, OPTION_DRY_RUN) &&
        session_watch_gpu(&sweep.session) != STATUS_OK)
        report(STATUS_TIMEOUT);
    if (status != STATUS_OK) {
        result = report(status);
        goto out;
    }
    if (options_switch(sweep.options, OPTION_DRY_RUN))
        sweep_print_plan(&sweep);
    else
        result = run(&sweep);
    if (close_session(&sweep) != STATUS_OK)
        result = report(STATUS_SYSTEM);
    if (!options_switch(sweep.options, OPTION_DRY_RUN)) {
        status = sweep_publish(&sweep, result);
        if (status != STATUS_OK)
            result = report(status);
    }
out:
    if (close_session(&sweep) != STATUS_OK)
        result = report(STATUS_SYSTEM);
    results_close(&sweep.writer);
    for (size_t i = 0; i < sweep.plan.count; i++) {
        if (sweep.records)
            json_decref(sweep.records[i]);
        if (sweep.measurements)
            measurement_release(&sweep.measurements[i]);
    }
    free(sweep.records);
    free(sweep.beyond);
    free(sweep.measurements);
    json_decref(sweep.plugins);
    json_decref(sweep.header);
    json_decref(sweep.calibrations);
    json_decref(sweep.lengths);
    sweep_release_shard(&sweep);
    plan_release(&sweep.plan);
    return result;
}
