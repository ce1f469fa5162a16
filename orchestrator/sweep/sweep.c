#include "orchestrator/sweep/sweep.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/text.h"
#include "orchestrator/calibrate/plan.h"
#include "orchestrator/campaign/saturation.h"
#include "orchestrator/console/progress.h"
#include "orchestrator/console/report.h"
#include "orchestrator/plan/device_choice.h"
#include "orchestrator/record/record.h"
#include "orchestrator/results/fields.h"
#include "orchestrator/results/point.h"
#include "orchestrator/round/openloop.h"
#include "orchestrator/sweep/internal.h"

#define MOST_EXTENSION 30

struct sweep {
    struct campaign campaign;
    const char *program;               /* as it was called */
    struct measurement_packed **begun; /* a point each: of its rounds so far, or NULL */
    bool keeps_all;                    /* of the records, not only what the table needs */
    struct progress progress;
    const json_t *failed; /* the last point whose failure was printed, or NULL */
};

/* Only the driver knows how many GPUs there are. */
static enum status make_plan(struct campaign *campaign)
{
    struct device_choice choice;
    enum status status =
        device_choice_parse(options_text(campaign->options, OPTION_DEVICE), &choice);
    if (status == STATUS_OK && choice.all)
        status = campaign_open_session(campaign);
    if (status != STATUS_OK)
        return status;
    unsigned gpus = choice.all ? campaign->session.gpus->count : device_choice_count(&choice);
    return plan_make(campaign->job, gpus, &campaign->plan);
}

/* A list needs no GPU; but where limits are known, it takes one to know whether they apply. */
static void list(struct campaign *campaign)
{
    if (campaign_limits_matter(campaign) && campaign_open_session(campaign) == STATUS_OK &&
        campaign_mark_beyond(campaign) != STATUS_OK)
        report(STATUS_MEMORY);
    if (campaign_mark_impossible(campaign) != STATUS_OK)
        report(STATUS_MEMORY);
    sweep_print_list(campaign);
}

static enum status check_limits(struct campaign *campaign)
{
    const struct options *options = campaign->options;
    enum status status = campaign_check_resume(options);
    if (status == STATUS_OK)
        status = campaign_check_fixed(options);
    if (status != STATUS_OK)
        return status;
    double duration = options_real(options, OPTION_DURATION);
    double longest = options_real(options, OPTION_MAX_DURATION);
    /* --duration 10 alone means a window of 10 s, not an error about a default; so does 0.1. */
    if (!options_is_given(options, OPTION_MAX_DURATION)) {
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
    campaign->limits = (struct round_limits){
        .duration_ns = (uint64_t)(duration * 1e9),
        .max_duration_ns = (uint64_t)(longest * 1e9),
        .fits_program = !options_is_given(options, OPTION_DURATION),
        .precision_rel = options_real(options, OPTION_PRECISION) / 100.0,
        .timeout_ns = (uint64_t)(options_real(options, OPTION_TIMEOUT) * 1e9),
        .samples = OPENLOOP_SAMPLES,
    };
    /* Fixed work is done, or it is not. */
    if (campaign_is_fixed(campaign))
        campaign->limits.precision_rel = INFINITY;
    return STATUS_OK;
}

/* The daemon is missing or does not start: better known before an hour of measuring than after. */
static enum status check_mps(struct campaign *campaign)
{
    for (size_t i = 0; i < campaign->plan.count; i++) {
        if (campaign->records[i] || !campaign_owns(campaign, i) ||
            !point_over_mps(&campaign->plan.points[i]))
            continue;
        enum status status = round_set_daemons(&campaign->session, &campaign->plan.points[i]);
        return status == STATUS_OK ? status
                                   : status_prefix(status, "the plan has layouts over MPS, but: ");
    }
    return STATUS_OK;
}

/* The caller releases *out. */
static enum status write_record(struct sweep *sweep, size_t index,
                                const struct measurement *measurement, json_t **out)
{
    struct campaign *campaign = &sweep->campaign;
    unsigned rounds = (unsigned)options_integer(campaign->options, OPTION_ROUNDS);
    unsigned rounds_left =
        measurement->status == STATUS_OK ? rounds - measurement->rounds : 0; /* else it ended */
    json_t *record =
        record_point(&campaign->plan.points[index], measurement, campaign->limits.precision_rel);
    if (record && rounds_left > 0)
        json_object_set_new(record, "rounds_left", json_integer(rounds_left));
    *out = record;
    if (!record)
        return status_set(STATUS_MEMORY, "out of memory for a record");
    campaign_mark(campaign, record);
    return results_write(&campaign->writer, record);
}

/* Whether an earlier run has more rounds of a point, so that these do not replace its record. */
static bool has_fewer_rounds(const struct sweep *sweep, size_t index,
                             const struct measurement *measurement)
{
    const json_t *earlier = sweep->campaign.interrupted[index];
    bool ended = measurement->status != STATUS_OK && measurement->status != STATUS_INTERRUPTED;
    return !ended && measurement->rounds < json_array_size(json_object_get(earlier, "rounds"));
}

/* Releases the measurement. */
static enum status finish_point(struct sweep *sweep, size_t index, struct measurement *measurement)
{
    struct campaign *campaign = &sweep->campaign;
    json_t *record;
    enum status status = STATUS_OK;
    if (has_fewer_rounds(sweep, index, measurement))
        record = json_incref(campaign->interrupted[index]);
    else
        status = write_record(sweep, index, measurement, &record);
    measurement_release(measurement);
    campaign->records[index] = record;
    if (!record)
        return status;
    if (!sweep->keeps_all)
        fields_keep_for_tables(record);
    return status;
}

/* Keeps the measurement for the point's next round. What it is until then goes to the file after
 * the first, second, fourth, eighth ... round: a kill leaves at least half of the rounds, and a
 * file grows by the logarithm of their number. */
static enum status keep(struct sweep *sweep, size_t index, struct measurement *measurement)
{
    unsigned done = measurement->rounds;
    json_t *record = NULL;
    enum status status = STATUS_OK;
    if (sweep->campaign.writer.regular && (done & (done - 1)) == 0 &&
        !has_fewer_rounds(sweep, index, measurement))
        status = write_record(sweep, index, measurement, &record);
    json_decref(record);
    sweep->begun[index] = measurement_pack(measurement);
    if (sweep->begun[index])
        return status;
    measurement_release(measurement);
    return status_set(STATUS_MEMORY, "out of memory for the results");
}

static void open_measurement(struct sweep *sweep, size_t index, struct measurement *out)
{
    measurement_unpack(sweep->begun[index], out);
    sweep->begun[index] = NULL;
}

static void show_step(void *data, const char *step)
{
    progress_step(data, step);
}

/* What a point came to. A program that does not start fails in one way in all of them. */
static const char *result_text(struct sweep *sweep, const json_t *record,
                               char out[POINT_FAILURE_TEXT])
{
    char number[32];
    const char *status = text_at(record, "status");
    bool ok = strcmp(status, "ok") == 0;
    if (!json_object_get(record, "throughput_ips")) {
        bool same = point_fails_like(record, sweep->failed);
        sweep->failed = record;
        if (!same)
            return point_failure(record, out);
        snprintf(out, POINT_FAILURE_TEXT, "%s: for the same reason", status);
        return out;
    }
    snprintf(out, POINT_FAILURE_TEXT, "%s iterations/s%s%s",
             text_number(number_at(record, "throughput_ips"), number, sizeof number),
             ok ? "" : ", ", ok ? "" : status);
    return out;
}

/* One round of one point; last_round when nothing more comes for it. */
static enum status measure(struct sweep *sweep, const struct turn *turn, bool last_round)
{
    struct campaign *campaign = &sweep->campaign;
    size_t index = turn->point;
    const struct point *point = &campaign->plan.points[index];
    struct round_limits limits = campaign->limits;
    struct round_result round;
    struct measurement measurement;
    struct status_saved swept;
    char what[POINT_DESCRIPTION], result[POINT_FAILURE_TEXT];
    uint64_t begin_ns = clock_now_ns();
    /* What each of several rounds leaves open is divided by the root of their number. */
    limits.precision_rel *= sqrt((double)options_integer(campaign->options, OPTION_ROUNDS));
    point_describe(point, what, sizeof what);
    progress_begin(&sweep->progress, what);
    open_measurement(sweep, index, &measurement);
    const struct searching searching = {.session = &campaign->session,
                                        .point = point,
                                        .limits = &limits,
                                        .crew = &campaign->crew,
                                        .progress = show_step,
                                        .data = &sweep->progress,
                                        .search = &measurement.search};
    status_save(saturation_run(&searching, turn, measurement.rounds, &round), &swept);
    enum status status =
        measurement_add(&measurement, &round, (double)(clock_now_ns() - begin_ns) / 1e9);
    bool interrupted = measurement.status == STATUS_INTERRUPTED;
    if (status != STATUS_OK)
        measurement_release(&measurement);
    else if (last_round || measurement.status != STATUS_OK)
        status = finish_point(sweep, index, &measurement);
    else
        status = keep(sweep, index, &measurement);
    const json_t *record = campaign->records[index];
    progress_end(&sweep->progress,
                 record && !interrupted ? result_text(sweep, record, result) : NULL);
    return status == STATUS_OK ? status_restore(&swept) : status;
}

/* After an interrupt: the points of which some rounds are done keep those, of this run or of an
 * earlier one. */
static void keep_rounds(struct sweep *sweep)
{
    struct campaign *campaign = &sweep->campaign;
    struct measurement measurement;
    for (size_t i = 0; i < campaign->plan.count; i++) {
        if (!sweep->begun[i]) {
            if (!campaign->records[i])
                campaign->records[i] = json_incref(campaign->interrupted[i]);
            continue;
        }
        open_measurement(sweep, i, &measurement);
        if (finish_point(sweep, i, &measurement) != STATUS_OK)
            return;
    }
    status_record("interrupted");
}

/* Every point that is left, once. No worker outlives a round: what it measures is independent of
 * the others. */
static enum status measure_round(struct sweep *sweep, unsigned round, bool last_round)
{
    struct turn *turns;
    size_t count;
    enum status status = campaign_make_turns(&sweep->campaign, round, &turns, &count);
    if (status != STATUS_OK)
        return status;
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        status = session_check_signals(&sweep->campaign.session);
        if (status == STATUS_OK)
            status = measure(sweep, &turns[i], last_round);
    }
    free(turns);
    return status;
}

static enum status measure_all(struct sweep *sweep)
{
    struct campaign *campaign = &sweep->campaign;
    unsigned rounds = (unsigned)options_integer(campaign->options, OPTION_ROUNDS);
    size_t left = 0;
    for (size_t i = 0; i < campaign->plan.count; i++)
        left += campaign->records[i] == NULL && campaign_owns(campaign, i);
    progress_init(&sweep->progress, options_switch(campaign->options, OPTION_QUIET), left * rounds,
                  sweep_estimate_s(campaign, NULL));
    enum status status = STATUS_OK;
    for (unsigned round = 0; round < rounds && status == STATUS_OK; round++) {
        char what[64];
        status = measure_round(sweep, round, round + 1 == rounds);
        snprintf(what, sizeof what, "%u of %u rounds measured", round + 1, rounds);
        if (status == STATUS_OK && round + 1 < rounds && left > 0)
            progress_pass(&sweep->progress, what);
    }
    progress_clear(&sweep->progress);
    /* An error or a signal may have ended the loop. */
    status = crew_dismiss_after(&campaign->crew, &campaign->session, campaign->limits.timeout_ns,
                                status);
    /* A signal may have come while the last point ended. */
    if (status == STATUS_OK)
        status = session_check_signals(&campaign->session);
    if (status == STATUS_INTERRUPTED)
        keep_rounds(sweep);
    return status;
}

/* For what this run measures. */
static enum status calibrate(struct campaign *campaign)
{
    struct plan own;
    enum status status = campaign_own_plan(campaign, &own);
    if (status != STATUS_OK)
        return status;
    status = calibrate_plan(&campaign->session, &own, &campaign->limits,
                            options_switch(campaign->options, OPTION_QUIET), report_line,
                            &campaign->writer, campaign->calibrations);
    plan_release(&own);
    return status;
}

static int exit_status_of(const struct campaign *campaign)
{
    for (size_t i = 0; i < campaign->plan.count; i++)
        if (strcmp(text_at(campaign->records[i], "status"), "failed") == 0)
            return EXIT_SOME_FAILED;
    return EXIT_ALL_MEASURED;
}

/* Everything between an open session and its end. */
static int run(struct sweep *sweep)
{
    struct campaign *campaign = &sweep->campaign;
    enum status status = campaign_open_results(campaign);
    if (status != STATUS_OK)
        return report(status);
    bool resumed = options_switch(campaign->options, OPTION_RESUME);
    status = campaign_find_lengths(campaign);
    if (status == STATUS_OK)
        status = check_mps(campaign);
    if (status == STATUS_OK)
        status = campaign_make_header(campaign, resumed);
    status = campaign_begin_file(campaign, resumed, status);
    if (status != STATUS_OK)
        return report(status);
    if (options_switch(campaign->options, OPTION_CALIBRATE))
        status = calibrate(campaign);
    if (status == STATUS_OK)
        status = measure_all(sweep);
    int result = exit_status_of(campaign);
    if (status != STATUS_OK)
        result = report(status);
    json_t *points = campaign_measured_points(campaign);
    json_t *footer = record_footer(result, "points", points, "status",
                                   (double)(clock_now_ns() - campaign->started_ns) / 1e9);
    if ((status == STATUS_OK || status == STATUS_INTERRUPTED) &&
        results_write(&campaign->writer, footer) != STATUS_OK)
        result = report(STATUS_SYSTEM);
    sweep_print_results(campaign, sweep->program, points, footer, status == STATUS_INTERRUPTED);
    json_decref(footer);
    json_decref(points);
    return result;
}

/* A whole number behind -t may be meant as threads, where no layout and no program has a number of
 * them. */
static void notify_window(const struct invocation *invocation)
{
    const struct options *options = invocation->options;
    if (options_is_given(options, OPTION_LAYOUT) || invocation->job->command)
        return;
    for (size_t i = 0; i < invocation->given_count; i++) {
        const struct given_option *given = &invocation->given[i];
        long seconds = strtol(given->text, NULL, 10);
        char text[128];
        if (given->row->id != OPTION_DURATION || seconds < 2 || seconds > LAYOUT_MOST_WORKERS ||
            given->text[strspn(given->text, "0123456789")])
            continue;
        snprintf(text, sizeof text,
                 "windows of %ld s ('%lds' leaves out this notice); for %ld threads: -l "
                 "threads:%ld",
                 seconds, seconds, seconds, seconds);
        report_notice(text);
    }
}

/* What can be wrong before a GPU is needed. */
static enum status prepare(struct sweep *sweep, const struct invocation *invocation)
{
    struct campaign *campaign = &sweep->campaign;
    enum status status = check_limits(campaign);
    sweep->keeps_all = strcmp(options_text(campaign->options, OPTION_FORMAT), "json") == 0;
    if (status == STATUS_OK)
        status = campaign_name_output(campaign);
    /* A dry run does not take the lock of the file that it would continue. */
    bool only_looks = options_switch(campaign->options, OPTION_DRY_RUN) &&
                      options_switch(campaign->options, OPTION_RESUME);
    if (status == STATUS_OK && !options_switch(campaign->options, OPTION_LIST) && !only_looks)
        status = campaign_claim_results(campaign, sweep->keeps_all ? NULL : fields_of_tables);
    if (status == STATUS_OK)
        status = make_plan(campaign);
    if (status == STATUS_OK)
        status = plan_check_stagger(&campaign->plan);
    if (status == STATUS_OK && !options_switch(campaign->options, OPTION_QUIET)) {
        campaign_notify_unused(campaign);
        notify_window(invocation);
    }
    if (status == STATUS_OK)
        status = campaign_deal(campaign);
    if (status == STATUS_OK)
        status = sweep_check_publish(campaign);
    if (status == STATUS_OK)
        status = campaign_make_records(campaign);
    sweep->begun = calloc(campaign->plan.count + 1, sizeof *sweep->begun);
    if (status == STATUS_OK && !sweep->begun)
        status = status_set(STATUS_MEMORY, "out of memory");
    return status;
}

static enum status open_campaign(struct campaign *campaign, bool only_looks)
{
    enum status status = campaign_open_session(campaign);
    if (status != STATUS_OK)
        return status;
    campaign_notify_session(&campaign->session, campaign->notify);
    status = session_watch_signals(&campaign->session);
    if (status == STATUS_OK)
        status = campaign_ask_plugins(campaign);
    if (status == STATUS_OK)
        status = campaign_mark_beyond(campaign);
    if (status == STATUS_OK && only_looks)
        status = campaign_mark_impossible(campaign);
    if (status == STATUS_OK && !only_looks && session_watch_gpu(&campaign->session) != STATUS_OK)
        report(STATUS_TIMEOUT);
    return status;
}

/* Does what the options ask for. *result is the exit status where that is STATUS_OK. */
static enum status list_or_measure(struct sweep *sweep, int *result)
{
    struct campaign *campaign = &sweep->campaign;
    bool only_looks = options_switch(campaign->options, OPTION_DRY_RUN);
    *result = EXIT_ALL_MEASURED;
    if (options_switch(campaign->options, OPTION_LIST)) {
        list(campaign);
        return STATUS_OK;
    }
    enum status status = open_campaign(campaign, only_looks);
    if (status != STATUS_OK)
        return status;
    if (only_looks) {
        status = campaign_look_at_results(campaign);
        if (status == STATUS_OK)
            sweep_print_plan(campaign);
        return status;
    }
    *result = run(sweep);
    if (campaign_close_session(campaign) != STATUS_OK)
        *result = report(STATUS_SYSTEM);
    return sweep_publish(campaign, *result);
}

int sweep_command(const struct invocation *invocation)
{
    struct sweep sweep = {.program = invocation->program};
    struct campaign *campaign = &sweep.campaign;
    struct status_saved saved;
    int result = EXIT_ALL_MEASURED;
    campaign_init(campaign, invocation->job, invocation->operands[0], report_notice);
    campaign->dated = "sweep";
    enum status status = prepare(&sweep, invocation);
    if (status == STATUS_OK)
        status = list_or_measure(&sweep, &result);
    status_save(status, &saved);
    bool closed = campaign_close_session(campaign) == STATUS_OK;
    if (status != STATUS_OK)
        result = report(status_restore(&saved));
    else if (!closed)
        result = report(STATUS_SYSTEM);
    for (size_t i = 0; sweep.begun && i < campaign->plan.count; i++) {
        struct measurement measurement;
        open_measurement(&sweep, i, &measurement);
        measurement_release(&measurement);
    }
    free(sweep.begun);
    campaign_release(campaign);
    plan_release(&campaign->plan);
    return result;
}
