#include "orchestrator/tune/tune.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/text.h"
#include "explain/calibration_json.h"
#include "orchestrator/calibrate/plan.h"
#include "orchestrator/campaign/bracket.h"
#include "orchestrator/campaign/estimate.h"
#include "orchestrator/emit/emit.h"
#include "orchestrator/console/columns.h"
#include "orchestrator/console/report.h"
#include "orchestrator/session/mps_limits.h"
#include "orchestrator/plan/plugin.h"
#include "orchestrator/round/openloop.h"
#include "orchestrator/record/record.h"
#include "orchestrator/results/point.h"
#include "orchestrator/results/table.h"
#include "orchestrator/tune/internal.h"

/* The finals are this many rounds with this window, more as long as the best may or may not meet a
 * limit; a job or the options give others, of rounds the maximum. */
#define ROUNDS_LEAST 3
#define ROUNDS_MOST 8
#define ROUNDS_UNSURE 32
#define FINAL_S 1.0

/* A first look is so much shorter than a window of the finals, but not shorter than that. */
#define LOOK_WINDOW_SHARE 0.25
#define LOOK_WINDOW_LEAST_S 0.04
#define LOOK_WARMUP_S 0.1

/* Where all can be looked at, nothing need be predicted, nor left out. */
#define SMALL_SPACE 48
#define WHOLE_SPACE 16

/* Windows of a search for a rate, until one was seen. */
#define RATE_STEPS 2.0

/* A calibration takes no more than this share of a budget. */
#define CALIBRATION_SHARE 0.6

static double chosen_or(const struct options *options, enum option_id id, double otherwise)
{
    return options_is_given(options, id) ? options_real(options, id) : otherwise;
}

static enum status check_options(struct tune *tune)
{
    const struct options *options = tune->campaign.options;
    double duration_s = chosen_or(options, OPTION_DURATION, FINAL_S);
    double warmup_s = options_real(options, OPTION_WARMUP);
    unsigned rounds = (unsigned)options_integer(options, OPTION_ROUNDS);
    /* No margin comes of one. */
    bool rounds_given = options_is_given(options, OPTION_ROUNDS) && rounds > 1;
    bool exhaustive = options_switch(options, OPTION_EXHAUSTIVE);
    bool bounded = !exhaustive || options_is_given(options, OPTION_BUDGET);
    tune->objective = (enum tune_objective)options_integer(options, OPTION_OBJECTIVE);
    tune->max_memory_bytes = (uint64_t)options_integer(options, OPTION_MAX_GPU_MEMORY);
    tune_pace_init(bounded ? options_real(options, OPTION_BUDGET) : INFINITY,
                   tune->campaign.started_ns, &tune->pace);
    if (!options_switch(options, OPTION_LIST) && !options_switch(options, OPTION_DRY_RUN))
        tune->campaign.deadline_ns = tune->pace.deadline_ns;
    tune->rules = (struct tune_rules){
        .max_p99_us = 1e6 * options_real(options, OPTION_MAX_P99),
        .max_cpus = chosen_or(options, OPTION_MAX_CPUS, 0.0),
        .window_s = fmin(duration_s, fmax(LOOK_WINDOW_SHARE * duration_s, LOOK_WINDOW_LEAST_S)),
        .final_s = duration_s,
        .final_grows = !options_is_given(options, OPTION_DURATION),
        .rounds_least = rounds_given && rounds < ROUNDS_LEAST ? rounds : ROUNDS_LEAST,
        .rounds_most = rounds_given ? rounds : ROUNDS_MOST,
        .rounds_unsure = rounds_given ? rounds : ROUNDS_UNSURE,
        .exhaustive = exhaustive,
    };
    tune->pace.warmup_ns =
        (uint64_t)(1e9 * chosen_or(options, OPTION_WARMUP, fmin(warmup_s, LOOK_WARMUP_S)));
    tune->costs = tune_pace_first_costs();
    tune->campaign.limits = (struct round_limits){
        .duration_ns = (uint64_t)(duration_s * 1e9),
        .max_duration_ns = (uint64_t)(duration_s * 1e9),
        .precision_rel = INFINITY,
        .timeout_ns = (uint64_t)(options_real(options, OPTION_TIMEOUT) * 1e9),
        .samples = OPENLOOP_SAMPLES,
    };
    return campaign_check_resume(options);
}

/* What bounds the space: CPUs, and MPS clients where they were counted. */
static struct tune_machine machine_of(const struct campaign *campaign)
{
    struct mps_limits limits;
    bool bounded;
    struct tune_machine machine = {.cpus = bind_usable_cpus(campaign->session.topology),
                                   .gpus = campaign->session.gpus->count};
    if (strcmp(options_text(campaign->options, OPTION_LIMITS), "known") == 0 &&
        mps_limits_known(&campaign->session, &limits) == STATUS_OK)
        machine.clients = mps_limits_client_cap(&limits, &bounded);
    return machine;
}

static enum status make_space(struct tune *tune)
{
    struct campaign *campaign = &tune->campaign;
    const struct tune_machine machine = machine_of(campaign);
    enum status status = tune_space_make(campaign->job, &machine, &tune->space);
    if (status != STATUS_OK)
        return status;
    size_t count = tune->space.plan.count;
    campaign->plan = tune->space.plan;
    if (!options_switch(campaign->options, OPTION_QUIET))
        campaign_notify_unused(campaign);
    tune->points = calloc(count + 1, sizeof *tune->points);
    if (!tune->points)
        return status_set(STATUS_MEMORY, "out of memory");
    status = campaign_make_records(campaign);
    if (status == STATUS_OK)
        status = campaign_ask_plugins(campaign);
    return status == STATUS_OK ? campaign_mark_beyond(campaign) : status;
}

/* -- before the search ------------------------------------------------------------------------- */

static enum status choose_guide(struct tune *tune)
{
    const char *guide = options_text(tune->campaign.options, OPTION_GUIDE);
    bool can = tune_space_can_calibrate(&tune->space);
    if (strcmp(guide, "calibration") == 0 && !can)
        return status_set(STATUS_USAGE,
                          "there is no calibration for this workload in this loop: leave out "
                          "'--guide calibration'");
    tune->guided = can && (strcmp(guide, "calibration") == 0 ||
                           (strcmp(guide, "auto") == 0 && !tune->rules.exhaustive &&
                            tune->space.candidates > SMALL_SPACE &&
                            tune->pace.budget_s >= TUNE_CALIBRATION_LEAST_S));
    return STATUS_OK;
}

const struct rate_goal *tune_goal(const struct tune *tune)
{
    return &tune->space.plan.points[0].goal;
}

/* Without a watt nothing can be found that saves them: better known before than after. */
static enum status check_objective(const struct tune *tune, bool only_looks)
{
    const struct session *session = &tune->campaign.session;
    bool searched = tune_goal(tune)->permille > 0;
    if (searched && tune->objective != TUNE_THROUGHPUT)
        return status_set(STATUS_USAGE,
                          "with --rate max-under-%s the objective is the rate: leave "
                          "out '--objective'",
                          rate_percentile_name(tune_goal(tune)->permille));
    if (searched && tune->rules.max_p99_us > 0.0)
        return status_set(STATUS_USAGE,
                          "--rate max-under-%s has the limit of the latency: leave out '--max-p99'",
                          rate_percentile_name(tune_goal(tune)->permille));
    if (!only_looks && tune->objective == TUNE_IPS_PER_WATT && !session->telemetry)
        return status_set(
            STATUS_UNSUPPORTED, "objective 'ips-per-watt' needs the GPU's power from NVML; %s",
            session->emulated ? "the emulated GPU has none" : "there is no NVML for this GPU");
    return STATUS_OK;
}

/* After the first layouts, whether or not those can win. */
static enum status check_power(const struct tune *tune)
{
    size_t measured = 0;
    bool told = tune->objective != TUNE_IPS_PER_WATT;
    for (size_t i = 0; i < tune->space.plan.count && !told; i++) {
        const json_t *record = tune->campaign.records[i];
        const json_t *telemetry = json_object_get(record, "telemetry");
        if (!record || !point_is_measured(record))
            continue;
        measured++;
        told = number_at(telemetry, "joules_per_iteration") > 0.0;
    }
    if (told || measured == 0)
        return STATUS_OK;
    return status_set(
        STATUS_UNSUPPORTED,
        "objective 'ips-per-watt' needs the GPU's power, and NVML does not report it");
}

bool tune_is_excluded(const struct tune *tune, size_t point)
{
    char why[256];
    return tune->campaign.beyond[point] ||
           plugin_rules_out(&tune->space.plan.points[point], why, sizeof why);
}

static enum status make_search(struct tune *tune)
{
    struct calibration_record record;
    const struct calibration *calibration = NULL;
    json_t *known = tune->campaign.calibrations;
    if (tune->guided && json_array_size(known) > 0 &&
        calibration_from_json(json_array_get(known, json_array_size(known) - 1), &record) ==
            STATUS_OK)
        calibration = &record.figures;
    bool predicted;
    struct tune_candidate *candidates =
        tune_space_candidates(&tune->space, tune->objective, calibration, &predicted);
    if (!candidates)
        return status_set(STATUS_MEMORY, "out of memory");
    for (size_t i = 0; i < tune->space.plan.count; i++)
        candidates[i].excluded = tune_is_excluded(tune, i);
    tune->rules.predicted = predicted;
    const struct point *any = tune->space.plan.count > 0 ? tune->space.plan.points : NULL;
    tune->rules.program = any && point_is_program(any);
    tune->rules.server = any && point_is_server(any);
    tune->rules.names_processes = any && point_uses_placeholder(any, PLACEHOLDER_PROCESSES);
    tune->rules.names_threads = any && point_uses_placeholder(any, PLACEHOLDER_THREADS);
    tune->rules.may_ignore_threads =
        tune->rules.program && !tune->rules.server && !tune_heeds_threads(tune, any);
    tune->rules.fresh = options_switch(tune->campaign.options, OPTION_NO_REUSE);
    tune->rules.latency = tune->objective == TUNE_P99;
    tune->rules.budget_s = tune->pace.budget_s;
    tune->rules.resolution = tune_goal(tune)->permille ? BRACKET_WIDTH : 0.0;
    if (tune->rules.resolution > 0.0)
        tune->costs.search_s = RATE_STEPS * tune->rules.final_s;
    tune->rules.exhaustive |= tune->space.candidates <= WHOLE_SPACE;
    /* On one GPU of several the CPUs are one share of all, and nothing is there for comparison. */
    struct tune_rules rules = tune->rules;
    rules.max_cpus /= tune->space.gpus;
    rules.cpus = tune->space.cpus;
    rules.trusted = tune->space.gpus > 1;
    size_t count = tune->space.gpus > 1 ? tune->space.candidates : tune->space.plan.count;
    enum status status = tune_search_new(candidates, count, &rules, &tune->search);
    free(candidates);
    return status;
}

/* What it does not measure in its share of the time it leaves out: without that, predictions would
 * mislead, and the search goes by measuring. */
static enum status calibrate(struct tune *tune)
{
    struct campaign *campaign = &tune->campaign;
    struct round_limits limits = campaign->limits;
    const struct plan one = {.points = tune->space.plan.points, .count = 1};
    bool quiet = options_switch(campaign->options, OPTION_QUIET);
    if (!tune->guided)
        return STATUS_OK;
    if (tune->pace.deadline_ns) {
        uint64_t share_ns = (uint64_t)(CALIBRATION_SHARE * tune_seconds_left(tune) * 1e9);
        limits.ready_by_ns = clock_now_ns() + share_ns;
        limits.timeout_ns = limits.timeout_ns < share_ns ? limits.timeout_ns : share_ns;
    }
    enum status status = calibrate_plan(&campaign->session, &one, &limits, quiet, report_line,
                                        &campaign->writer, campaign->calibrations);
    if (limits.ready_by_ns && clock_now_ns() >= limits.ready_by_ns) {
        tune->guided = false;
        tune->unguided = true;
        if (!quiet)
            report_line("the calibration's share of the budget is over: the search is guided by "
                        "measuring alone");
    }
    return status;
}

/* The record of a finished tune in the file of --resume, if it answers the same question. */
static json_t *earlier_answer(const struct tune *tune)
{
    const struct results *results = &tune->campaign.earlier;
    bool answers = results->tune && results->footer && tune_record_answers(tune, results->tune);
    return answers ? json_incref(results->tune) : NULL;
}

/* -- the search -------------------------------------------------------------------------------- */

/* The end of the budget is not that of the command. */
static enum status without_lateness(struct tune *tune, enum status status)
{
    struct session *session = &tune->campaign.session;
    if (status != STATUS_INTERRUPTED || session_check_signals(session) == STATUS_OK)
        return status;
    tune->late = session->late;
    return tune->late ? STATUS_OK : status;
}

static enum status go_on(struct tune *tune)
{
    enum status status = STATUS_OK;
    bool more = true;
    tune_take_over(tune);
    while (status == STATUS_OK && more) {
        struct tune_batch batch;
        bool waits = tune->campaign.crew.pool.count > 0;
        tune_search_hold(tune->search, waits ? tune->crew_for : TUNE_NO_POINT);
        tune_search_next(tune->search, tune_seconds_left_for_search(tune), &tune->costs, &batch);
        bool on_one = tune->space.gpus > 1 && tune->phase == TUNE_ON_ONE_GPU;
        more = on_one || batch.count > 0;
        if (on_one && (batch.stage == TUNE_STAGE_FINAL || batch.count == 0)) {
            status = tune_dismiss(tune, STATUS_OK);
            if (status == STATUS_OK)
                status = tune_confirm_begin(tune, &batch);
        } else if (more) {
            status = tune_measure(tune, &batch);
            if (status == STATUS_OK)
                status = check_power(tune);
        }
    }
    status = tune_dismiss(tune, status);
    return status == STATUS_OK ? session_check_signals(&tune->campaign.session) : status;
}

static enum status search(struct tune *tune)
{
    enum status status = tune_share_begin(tune);
    if (status == STATUS_OK)
        status = without_lateness(tune, calibrate(tune));
    if (status == STATUS_OK)
        status = make_search(tune);
    if (status == STATUS_OK && !tune->late)
        status = without_lateness(tune, go_on(tune));
    return status;
}

static enum status check_emit(const struct campaign *campaign)
{
    const struct options *options = campaign->options;
    const char *format = options_text(options, OPTION_TUNE_EMIT);
    if (!format && options_is_given(options, OPTION_TUNE_EMIT_DIR))
        return status_set(STATUS_USAGE, "--emit-dir needs --emit FORMAT");
    /* Better known before the search than after. */
    return format ? emit_check(format, options_text(options, OPTION_TUNE_EMIT_DIR),
                               campaign->job->command)
                  : STATUS_OK;
}

/* The deployment of the winner, if one is wanted and there is a winner. */
static enum status emit_winner(const struct tune *tune)
{
    const struct campaign *campaign = &tune->campaign;
    const char *results = campaign_output(campaign);
    const json_t *winner = json_object_get(tune->record, "winner");
    bool unfinished = strcmp(text_at(tune->record, "verdict"), "unfinished") == 0;
    const char *format = options_text(campaign->options, OPTION_TUNE_EMIT);
    if (!format || !json_is_object(winner))
        return STATUS_OK;
    const struct emit_request request = {
        .header = campaign->header,
        .point = campaign->records[integer_at(winner, "point")],
        .results = results ? results : "a tuning whose results were not kept",
        .chosen = unfinished ? "the best so far, and not the winner" : "the winner",
        .format = format,
        .directory = options_text(campaign->options, OPTION_TUNE_EMIT_DIR),
        .command = campaign->job->command,
        .port = options_integer(campaign->options, OPTION_PORT),
    };
    enum status status = emit_write(&request);
    if (status == STATUS_OK)
        emit_report(columns_is_format(options_text(campaign->options, OPTION_FORMAT)) ? stdout
                                                                                      : stderr,
                    &request);
    return status;
}

static bool has_winner(const struct tune *tune)
{
    return json_is_object(json_object_get(tune->record, "winner"));
}

static int exit_status_of(const struct tune *tune)
{
    return has_winner(tune) ? EXIT_ALL_MEASURED : EXIT_NOTHING_FITS;
}

/* Prints and writes what was found, also of a search that was interrupted; after an error only
 * prints it, if there is a best layout. */
static int conclude(struct tune *tune, enum status status)
{
    struct campaign *campaign = &tune->campaign;
    int result = EXIT_ALL_MEASURED;
    if (status != STATUS_OK)
        result = report(status);
    /* It takes time, too; what does not stop is reported at the end of the session. */
    (void)tune_share_end(tune);
    (void)daemons_set(campaign->session.daemons, 0, false);
    (void)session_end_at(&campaign->session, 0);
    tune->interrupted = status != STATUS_OK;
    bool failed = tune->interrupted && status != STATUS_INTERRUPTED;
    if (!tune->search && !failed)
        tune_print_closing(tune);
    if (!tune->search)
        return result;
    if (tune_make_record(tune) != STATUS_OK)
        return report(STATUS_MEMORY);
    if (failed && !has_winner(tune))
        return result;
    if (!tune->interrupted)
        result = exit_status_of(tune);
    json_t *points = campaign_measured_points(campaign);
    json_t *footer = record_footer(result, "points", points, "status",
                                   (double)(clock_now_ns() - campaign->started_ns) / 1e9);
    json_decref(points);
    if (!failed && (results_write(&campaign->writer, tune->record) != STATUS_OK ||
                    results_write(&campaign->writer, footer) != STATUS_OK))
        result = report(STATUS_SYSTEM);
    tune_print(tune, footer);
    json_decref(footer);
    if (!tune->interrupted && emit_winner(tune) != STATUS_OK)
        result = report(STATUS_SYSTEM);
    tune_print_closing(tune);
    return result;
}

/* Why the search did not begin. */
static int report_before(struct tune *tune, enum status status)
{
    char budget[32];
    status = without_lateness(tune, status);
    if (!tune->late)
        return report(status);
    report(status_set(STATUS_TIMEOUT,
                      "the budget of %s was over before a layout could be measured: give a longer "
                      "--budget",
                      text_duration(tune->pace.budget_s, budget, sizeof budget)));
    return EXIT_NOTHING_FITS;
}

static int run(struct tune *tune)
{
    struct campaign *campaign = &tune->campaign;
    bool resumed = options_switch(campaign->options, OPTION_RESUME);
    json_t *answer = earlier_answer(tune);
    campaign->takes_any_rounds = true;
    enum status status = campaign_open_results(campaign);
    if (status == STATUS_OK)
        status = campaign_find_lengths(campaign);
    if (status == STATUS_OK)
        status = campaign_make_header(campaign, resumed);
    if (status == STATUS_OK && answer) {
        tune->record = answer;
        tune_print(tune, NULL);
        bool emitted = emit_winner(tune) == STATUS_OK;
        tune_print_closing(tune);
        return emitted ? exit_status_of(tune) : report(STATUS_SYSTEM);
    }
    json_decref(answer);
    status = campaign_begin_file(campaign, resumed, status);
    if (status != STATUS_OK)
        return report_before(tune, status);
    return conclude(tune, search(tune));
}

static void print_list(const struct campaign *campaign, size_t count)
{
    char line[CAMPAIGN_LINE];
    if (table_print_planned(stdout, options_text(campaign->options, OPTION_FORMAT), NULL,
                            campaign_planned(campaign, count)))
        return;
    for (size_t i = 0; i < count; i++)
        printf("%s%s\n", columns_item(), campaign_point_line(campaign, i, line));
}

/* With an open session. */
static int plan_and_run(struct tune *tune)
{
    struct campaign *campaign = &tune->campaign;
    bool only_looks = options_switch(campaign->options, OPTION_DRY_RUN) ||
                      options_switch(campaign->options, OPTION_LIST);
    enum status status = session_watch_signals(&campaign->session);
    if (status == STATUS_OK && campaign->deadline_ns)
        status = session_end_at(&campaign->session, campaign->deadline_ns);
    if (status == STATUS_OK && !only_looks && session_watch_gpu(&campaign->session) != STATUS_OK)
        report(STATUS_TIMEOUT);
    if (status == STATUS_OK)
        status = make_space(tune);
    if (status == STATUS_OK)
        status = choose_guide(tune);
    if (status == STATUS_OK)
        status = check_objective(tune, only_looks);
    if (status != STATUS_OK)
        return report_before(tune, status);
    if (options_switch(campaign->options, OPTION_LIST)) {
        print_list(campaign, tune->space.gpus > 1 ? tune->space.candidates : campaign->plan.count);
        return EXIT_ALL_MEASURED;
    }
    if (!only_looks)
        return run(tune);
    status = make_search(tune);
    if (status != STATUS_OK)
        return report(status);
    if (!table_print_planned(stdout, options_text(campaign->options, OPTION_FORMAT),
                             campaign_plan_record(campaign, 0.0, 0.0),
                             campaign_planned(campaign, campaign->plan.count)))
        tune_print_plan(tune);
    return EXIT_ALL_MEASURED;
}

static void release(struct tune *tune)
{
    for (size_t i = 0; tune->points && i < tune->space.plan.count; i++)
        if (tune->points[i].measurement) {
            measurement_release(tune->points[i].measurement);
            free(tune->points[i].measurement);
        }
    free(tune->points);
    free(tune->chosen);
    json_decref(tune->record);
    campaign_release(&tune->campaign);
    tune_search_free(tune->search);
    tune_space_release(&tune->space);
}

int tune_command(const struct invocation *invocation)
{
    static struct tune tune;
    tune = (struct tune){.program = invocation->program, .failed = TUNE_NO_POINT};
    campaign_init(&tune.campaign, invocation->job, invocation->operands[0], report_notice);
    tune.campaign.dated = "tune";
    enum status status = check_options(&tune);
    if (status == STATUS_OK)
        status = check_emit(&tune.campaign);
    if (status == STATUS_OK && !options_switch(tune.campaign.options, OPTION_LIST) &&
        !options_switch(tune.campaign.options, OPTION_DRY_RUN))
        status = campaign_claim_results(&tune.campaign, NULL);
    if (status == STATUS_OK)
        status = campaign_open_session(&tune.campaign);
    if (status != STATUS_OK)
        return report(status);
    campaign_notify_session(&tune.campaign.session, report_notice);
    int result = plan_and_run(&tune);
    if (campaign_close_session(&tune.campaign) != STATUS_OK)
        result = report(STATUS_SYSTEM);
    release(&tune);
    return result;
}
