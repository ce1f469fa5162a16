#include "orchestrator/tune/tune.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "files/results_read.h"
#include "explain/calibration_json.h"
#include "orchestrator/calibrate/plan.h"
#include "orchestrator/emit/emit.h"
#include "orchestrator/console/report.h"
#include "orchestrator/session/mps_limits.h"
#include "orchestrator/plan/plugin.h"
#include "orchestrator/round/openloop.h"
#include "orchestrator/results/point.h"
#include "orchestrator/tune/internal.h"

/* The finals are this many rounds; a job or --rounds says how many at most. */
#define ROUNDS_LEAST 3
#define ROUNDS_MOST 8

/* A first look is so much shorter than a window of the finals, but not shorter than that. */
#define LOOK_SHARE 0.25
#define LOOK_LEAST_S 0.04
#define LOOK_WARMUP_S 0.1

/* Where all can be looked at, nothing need be foretold, nor left out. */
#define SMALL_SPACE 48
#define WHOLE_SPACE 16

/* With less there is no time for a calibration; it takes no more than this share of a budget. */
#define CALIBRATION_LEAST_S 120.0
#define CALIBRATION_SHARE 0.5

/* What workers cost on an H200, until this machine shows what they cost here. */
#define POINT_S 0.15
#define START_S 0.3
#define START_PROCESS_S 0.1

/* Of the budget, to end workers and daemon and to write what was found. */
#define END_SHARE 0.01
#define END_MOST_S 0.5

static double chosen_or(const struct options *options, enum option_id id, double otherwise)
{
    return options->values[id].rank > 0 ? options_real(options, id) : otherwise;
}

static enum status check_options(struct tune *tune)
{
    const struct options *options = tune->sweep.options;
    double duration_s = options_real(options, OPTION_DURATION);
    double warmup_s = options_real(options, OPTION_WARMUP);
    unsigned rounds = (unsigned)options_integer(options, OPTION_ROUNDS);
    bool rounds_given = rounds > 1; /* 1 is a sweep's default, and no margin comes of it */
    bool exhaustive = options_switch(options, OPTION_EXHAUSTIVE);
    bool bounded = !exhaustive || options->values[OPTION_BUDGET].rank > 0;
    if (options_switch(options, OPTION_RESUME) && !options_text(options, OPTION_OUTPUT))
        return status_set(STATUS_USAGE, "--resume needs --output FILE");
    tune->objective = (enum tune_objective)options_integer(options, OPTION_OBJECTIVE);
    tune->max_memory_bytes = (uint64_t)options_integer(options, OPTION_MAX_GPU_MEMORY);
    tune->budget_s = bounded ? options_real(options, OPTION_BUDGET) : INFINITY;
    tune->rules = (struct tune_rules){
        .max_p99_us = 1e6 * options_real(options, OPTION_MAX_P99),
        .window_s = fmin(duration_s, fmax(LOOK_SHARE * duration_s, LOOK_LEAST_S)),
        .final_s = duration_s,
        .rounds_least = rounds_given && rounds < ROUNDS_LEAST ? rounds : ROUNDS_LEAST,
        .rounds_most = rounds_given ? rounds : ROUNDS_MOST,
        .exhaustive = exhaustive,
    };
    tune->look_warmup_ns =
        (uint64_t)(1e9 * chosen_or(options, OPTION_WARMUP, fmin(warmup_s, LOOK_WARMUP_S)));
    tune->costs = (struct tune_costs){POINT_S, START_S, START_PROCESS_S};
    tune->sweep.limits = (struct round_limits){
        .duration_ns = (uint64_t)(duration_s * 1e9),
        .max_duration_ns = (uint64_t)(duration_s * 1e9),
        .precision_rel = INFINITY,
        .timeout_ns = (uint64_t)(options_real(options, OPTION_TIMEOUT) * 1e9),
        .samples = OPENLOOP_SAMPLES,
    };
    return STATUS_OK;
}

static enum status open_session(struct sweep *sweep)
{
    const struct session_request request = {
        .device = options_text(sweep->options, OPTION_DEVICE),
        .external_mps = strcmp(options_text(sweep->options, OPTION_MPS), "external") == 0,
    };
    return session_open(&request, &sweep->session);
}

/* What bounds the space: CPUs, and MPS clients where they were counted. */
static struct tune_machine machine_of(const struct sweep *sweep)
{
    struct mps_limits limits;
    bool bounded;
    double quota = bind_cpu_quota();
    struct tune_machine machine = {.cpus = bind_cpu_count(sweep->session.topology),
                                   .gpus = sweep->session.gpus->count};
    if (quota > 0.0 && quota < machine.cpus)
        machine.cpus = quota < 1.0 ? 1 : (unsigned)quota;
    if (strcmp(options_text(sweep->options, OPTION_LIMITS), "known") == 0 &&
        mps_limits_known(&sweep->session, &limits) == STATUS_OK)
        machine.clients = mps_limits_client_cap(&limits, &bounded);
    return machine;
}

static enum status make_space(struct tune *tune)
{
    struct sweep *sweep = &tune->sweep;
    const struct tune_machine machine = machine_of(sweep);
    enum status status = tune_space_make(sweep->job, &machine, &tune->space);
    if (status != STATUS_OK)
        return status;
    /* The search counts the processes of a GPU. */
    tune->costs.process_s *= point_gpus(&tune->space.plan.points[0]);
    size_t count = tune->space.plan.count;
    sweep->plan = tune->space.plan;
    sweep->records = calloc(count + 1, sizeof *sweep->records);
    sweep->beyond = calloc(count + 1, sizeof *sweep->beyond);
    sweep->calibrations = json_array();
    tune->measurements = calloc(count + 1, sizeof(struct measurement *));
    tune->stages = calloc(count + 1, sizeof *tune->stages);
    tune->windows = calloc(count + 1, sizeof *tune->windows);
    if (!sweep->records || !sweep->beyond || !sweep->calibrations || !tune->measurements ||
        !tune->stages || !tune->windows)
        return status_set(STATUS_MEMORY, "out of memory");
    status = sweep_ask_plugins(sweep);
    return status == STATUS_OK ? sweep_mark_beyond(sweep) : status;
}

/* -- before the search ------------------------------------------------------------------------- */

static enum status choose_guide(struct tune *tune)
{
    const char *guide = options_text(tune->sweep.options, OPTION_GUIDE);
    bool can = tune_space_can_calibrate(&tune->space);
    if (strcmp(guide, "calibration") == 0 && !can)
        return status_set(STATUS_USAGE,
                          "there is no calibration for this workload in this loop: leave out "
                          "'--guide calibration'");
    tune->guided =
        can && (strcmp(guide, "calibration") == 0 ||
                (strcmp(guide, "auto") == 0 && !tune->rules.exhaustive &&
                 tune->space.candidates > SMALL_SPACE && tune->budget_s >= CALIBRATION_LEAST_S));
    return STATUS_OK;
}

/* Without a watt nothing can be found that saves them: better known before than after. */
static enum status check_objective(const struct tune *tune)
{
    const struct session *session = &tune->sweep.session;
    if (tune->objective == TUNE_IPS_PER_WATT && !session->telemetry)
        return status_set(STATUS_UNSUPPORTED,
                          "objective 'ips-per-watt' needs the GPU's power, which NVML tells; %s",
                          session->emulated ? "the emulated GPU has none"
                                            : "there is no NVML for this GPU");
    return STATUS_OK;
}

/* After the naive layouts, whether or not those can win. */
static enum status check_power(const struct tune *tune)
{
    size_t measured = 0;
    bool told = tune->objective != TUNE_IPS_PER_WATT;
    for (size_t i = 0; i < tune->space.naive_count && !told; i++) {
        const json_t *record = tune->sweep.records[tune->space.naive[i].point];
        const json_t *telemetry = json_object_get(record, "telemetry");
        if (!record || !point_is_measured(record))
            continue;
        measured++;
        told = point_number(telemetry, "joules_per_iteration") > 0.0;
    }
    if (told || measured == 0)
        return STATUS_OK;
    return status_set(STATUS_UNSUPPORTED,
                      "objective 'ips-per-watt' needs the GPU's power, and NVML does not tell it");
}

static enum status make_search(struct tune *tune)
{
    struct calibration_record record;
    const struct calibration *calibration = NULL;
    json_t *known = tune->sweep.calibrations;
    if (tune->guided && json_array_size(known) > 0 &&
        calibration_from_json(json_array_get(known, json_array_size(known) - 1), &record) ==
            STATUS_OK)
        calibration = &record.figures;
    bool predicted;
    struct tune_candidate *candidates =
        tune_space_candidates(&tune->space, tune->objective, calibration, &predicted);
    if (!candidates)
        return status_set(STATUS_MEMORY, "out of memory");
    for (size_t i = 0; i < tune->space.plan.count; i++) {
        char why[256];
        candidates[i].excluded =
            tune->sweep.beyond[i] || plugin_rules_out(&tune->space.plan.points[i], why, sizeof why);
    }
    tune->rules.predicted = predicted;
    tune->rules.exhaustive |= tune->space.candidates <= WHOLE_SPACE;
    enum status status =
        tune_search_new(candidates, tune->space.plan.count, &tune->rules, &tune->search);
    free(candidates);
    return status;
}

static enum status calibrate(struct tune *tune)
{
    struct sweep *sweep = &tune->sweep;
    struct round_limits limits = sweep->limits;
    const struct plan one = {.points = tune->space.plan.points, .count = 1};
    if (!tune->guided)
        return STATUS_OK;
    if (tune->deadline_ns)
        limits.ready_by_ns =
            sweep->started_ns + (uint64_t)(CALIBRATION_SHARE * tune->budget_s * 1e9);
    return calibrate_plan(&sweep->session, &one, &limits,
                          options_switch(sweep->options, OPTION_QUIET), &sweep->writer,
                          sweep->calibrations);
}

/* The record of a finished tune in the file of --resume, if it answers the same question. */
static json_t *earlier_answer(const struct tune *tune)
{
    struct results results;
    json_t *answer = NULL;
    const char *path = options_text(tune->sweep.options, OPTION_OUTPUT);
    if (!path || !options_switch(tune->sweep.options, OPTION_RESUME) ||
        results_load(path, &results) != STATUS_OK)
        return NULL;
    if (results.tune && results.footer && tune_record_answers(tune, results.tune))
        answer = json_incref(results.tune);
    results_release(&results);
    return answer;
}

/* -- the search -------------------------------------------------------------------------------- */

static enum status search(struct tune *tune)
{
    struct tune_batch batch;
    enum status status = calibrate(tune);
    if (status == STATUS_OK)
        status = make_search(tune);
    if (status != STATUS_OK)
        return status;
    tune_take_over(tune);
    for (;;) {
        tune_search_next(tune->search, tune_seconds_left(tune), &tune->costs, &batch);
        if (batch.count == 0)
            return session_check_signals(&tune->sweep.session);
        status = tune_measure(tune, &batch);
        if (status == STATUS_OK && batch.stage == TUNE_STAGE_NAIVE)
            status = check_power(tune);
        if (status != STATUS_OK)
            return status;
    }
}

static enum status check_emit(const struct sweep *sweep)
{
    const struct options *options = sweep->options;
    const char *format = options_text(options, OPTION_TUNE_EMIT);
    if (!format && options->values[OPTION_TUNE_EMIT_DIR].rank > 0)
        return status_set(STATUS_USAGE, "--emit-dir needs --emit FORMAT");
    /* Better known before the search than after. */
    return format ? emit_check(format, options_text(options, OPTION_TUNE_EMIT_DIR),
                               sweep->job->command)
                  : STATUS_OK;
}

/* The deployment of the winner, if one is wanted and there is a winner. */
static enum status emit_winner(const struct tune *tune)
{
    const struct sweep *sweep = &tune->sweep;
    const char *results = options_text(sweep->options, OPTION_OUTPUT);
    const json_t *winner = json_object_get(tune->record, "winner");
    const char *format = options_text(sweep->options, OPTION_TUNE_EMIT);
    if (!format || !json_is_object(winner))
        return STATUS_OK;
    const struct emit_request request = {
        .header = sweep->header,
        .point = sweep->records[point_integer(winner, "point")],
        .results = results ? results : "a tuning whose results were not kept",
        .chosen = "the winner",
        .format = format,
        .directory = options_text(sweep->options, OPTION_TUNE_EMIT_DIR),
        .command = sweep->job->command,
        .port = options_integer(sweep->options, OPTION_PORT),
    };
    enum status status = emit_write(&request);
    if (status == STATUS_OK)
        emit_report(strcmp(options_text(sweep->options, OPTION_FORMAT), "table") == 0 ? stdout
                                                                                      : stderr,
                    &request);
    return status;
}

static int exit_status_of(const struct tune *tune)
{
    return json_is_object(json_object_get(tune->record, "winner")) ? EXIT_ALL_MEASURED
                                                                   : EXIT_NOTHING_FITS;
}

/* Says and writes what was found, also of a search that was interrupted. */
static int conclude(struct tune *tune, enum status status)
{
    struct sweep *sweep = &tune->sweep;
    int result = EXIT_ALL_MEASURED;
    if (status != STATUS_OK)
        result = report(status);
    tune->interrupted = status == STATUS_INTERRUPTED;
    if (status != STATUS_OK && !(tune->interrupted && tune->search))
        return result;
    if (tune_make_record(tune) != STATUS_OK)
        return report(STATUS_MEMORY);
    if (!tune->interrupted)
        result = exit_status_of(tune);
    json_t *points = sweep_measured_points(sweep);
    json_t *footer =
        record_footer(result, points, (double)(clock_now_ns() - sweep->started_ns) / 1e9);
    json_decref(points);
    if (results_write(&sweep->writer, tune->record) != STATUS_OK ||
        results_write(&sweep->writer, footer) != STATUS_OK)
        result = report(STATUS_SYSTEM);
    tune_print(tune, footer);
    json_decref(footer);
    if (!tune->interrupted && emit_winner(tune) != STATUS_OK)
        result = report(STATUS_SYSTEM);
    return result;
}

static int run(struct tune *tune)
{
    struct sweep *sweep = &tune->sweep;
    bool resumed = options_switch(sweep->options, OPTION_RESUME);
    json_t *answer = earlier_answer(tune);
    sweep->takes_any_rounds = true;
    enum status status = sweep_open_results(sweep);
    if (status == STATUS_OK)
        status = sweep_find_lengths(sweep);
    if (status == STATUS_OK)
        status = sweep_make_header(sweep, resumed);
    if (status == STATUS_OK && answer) {
        tune->record = answer;
        tune_print(tune, NULL);
        return emit_winner(tune) == STATUS_OK ? exit_status_of(tune) : report(STATUS_SYSTEM);
    }
    json_decref(answer);
    status = sweep_begin_file(sweep, resumed, status);
    if (status != STATUS_OK)
        return report(status);
    if (isfinite(tune->budget_s)) {
        double end_s = fmin(END_SHARE * tune->budget_s, END_MOST_S);
        tune->deadline_ns = sweep->started_ns + (uint64_t)(1e9 * (tune->budget_s - end_s));
    }
    return conclude(tune, search(tune));
}

/* With an open session. */
static int plan_and_run(struct tune *tune)
{
    struct sweep *sweep = &tune->sweep;
    bool only_looks = options_switch(sweep->options, OPTION_DRY_RUN) ||
                      options_switch(sweep->options, OPTION_LIST);
    enum status status = session_watch_signals(&sweep->session);
    if (status == STATUS_OK && !only_looks && session_watch_gpu(&sweep->session) != STATUS_OK)
        report(STATUS_TIMEOUT);
    if (status == STATUS_OK)
        status = make_space(tune);
    if (status == STATUS_OK)
        status = choose_guide(tune);
    if (status == STATUS_OK && !only_looks)
        status = check_objective(tune);
    if (status != STATUS_OK)
        return report(status);
    if (options_switch(sweep->options, OPTION_LIST)) {
        sweep_print_list(sweep);
        return EXIT_ALL_MEASURED;
    }
    if (!only_looks)
        return run(tune);
    status = make_search(tune);
    if (status != STATUS_OK)
        return report(status);
    tune_print_plan(tune);
    return EXIT_ALL_MEASURED;
}

static void release(struct tune *tune)
{
    struct sweep *sweep = &tune->sweep;
    results_close(&sweep->writer);
    for (size_t i = 0; i < tune->space.plan.count; i++) {
        if (sweep->records)
            json_decref(sweep->records[i]);
        if (tune->measurements && tune->measurements[i]) {
            measurement_release(tune->measurements[i]);
            free(tune->measurements[i]);
        }
    }
    free(sweep->records);
    free(sweep->beyond);
    free(tune->measurements);
    free(tune->stages);
    free(tune->windows);
    json_decref(sweep->header);
    json_decref(sweep->calibrations);
    json_decref(sweep->plugins);
    json_decref(sweep->lengths);
    json_decref(tune->record);
    tune_search_free(tune->search);
    tune_space_release(&tune->space);
}

int tune_command(const struct invocation *invocation)
{
    static struct tune tune;
    tune = (struct tune){
        .sweep =
            {
                .options = invocation->options,
                .job = invocation->job,
                .job_path = invocation->operands[0],
                .writer.fd = -1,
                .crew = CREW_EMPTY,
                .started_ns = clock_now_ns(),
            },
    };
    enum status status = check_options(&tune);
    if (status == STATUS_OK)
        status = check_emit(&tune.sweep);
    if (status == STATUS_OK)
        status = open_session(&tune.sweep);
    if (status != STATUS_OK)
        return report(status);
    sweep_print_notice(&tune.sweep.session);
    int result = plan_and_run(&tune);
    if (session_close(&tune.sweep.session) != STATUS_OK)
        result = report(STATUS_SYSTEM);
    release(&tune);
    return result;
}
