#include "orchestrator/sweep.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/results_read.h"
#include "common/results_write.h"
#include "common/text.h"
#include "orchestrator/calibrate_plan.h"
#include "orchestrator/exit_status.h"
#include "orchestrator/fixed.h"
#include "orchestrator/limits_plan.h"
#include "orchestrator/plan.h"
#include "orchestrator/progress.h"
#include "orchestrator/record.h"
#include "orchestrator/round.h"
#include "orchestrator/saturation.h"
#include "orchestrator/session.h"
#include "orchestrator/table.h"
#include "orchestrator/turns.h"

/* What a point costs beside its window, for the estimate: getting ready, and, unless it has the
 * workers of another one, starting and ending them, making one context after the other (measured on
 * an H200: 16 MPS processes 1.5 s, 48 processes 7 s). */
#define MOST_EXTENSION 30
#define HEADER_MOST (1 << 20)
#define POINT_S 0.1
#define START_S 0.4
#define START_PROCESS_S 0.1

struct sweep {
    const struct options *options; /* of the first section: those that hold for the whole sweep */
    const char *job_path;
    const struct job *job;
    struct plan plan;
    struct session session;
    struct results_writer writer;
    struct round_limits limits;
    struct measurement *measurements; /* a point each */
    json_t *header;
    json_t **records; /* a point each, NULL until it is finished */
    struct crew crew; /* the workers of the last point, parked, or empty */
    bool *beyond;     /* a point each: known limits rule it out, and its record is not written */
    uint64_t started_ns;
    json_t *calibrations; /* an array of their records */
};

static int report(enum status status)
{
    fprintf(stderr, "mpsweep: %s\n", status_text());
    return status == STATUS_INTERRUPTED ? EXIT_INTERRUPTED : EXIT_BAD_SETUP;
}

static bool is_fixed(const struct sweep *sweep)
{
    return options_integer(sweep->options, OPTION_ITERATIONS) > 0;
}

/* The points of a round that have no record yet, as many as there are in the plan at most; the
 * caller's to free. */
static enum status make_turns(const struct sweep *sweep, unsigned round, struct turn **turns,
                              size_t *count)
{
    unsigned seed = (unsigned)options_integer(sweep->options, OPTION_SEED);
    bool reuse = !options_switch(sweep->options, OPTION_NO_REUSE);
    bool *done = calloc(sweep->plan.count + 1, sizeof *done);
    *turns = calloc(sweep->plan.count + 1, sizeof **turns);
    enum status status = STATUS_OK;
    if (!done || !*turns) {
        status = status_set(STATUS_MEMORY, "out of memory");
    } else {
        for (size_t i = 0; i < sweep->plan.count; i++)
            done[i] = sweep->records[i] != NULL;
        status = turns_make(&sweep->plan, done, seed, round, reuse, *turns, count);
    }
    free(done);
    if (status != STATUS_OK) {
        free(*turns);
        *turns = NULL;
    }
    return status;
}

static double estimate_s(const struct sweep *sweep)
{
    double sum = 0.0;
    double warmup = options_real(sweep->options, OPTION_WARMUP);
    struct turn *turns;
    size_t count;
    /* Without memory for the estimate the sweep fails soon enough. */
    if (make_turns(sweep, 0, &turns, &count) != STATUS_OK)
        return 0.0;
    for (size_t i = 0; i < count; i++) {
        const struct point *point = &sweep->plan.points[turns[i].point];
        /* Nobody knows beforehand how long fixed work takes: this is the least. */
        double window = warmup;
        if (!is_fixed(sweep))
            window += (double)openloop_window_ns(point, &sweep->limits) / 1e9;
        sum += (window + POINT_S) * saturation_rounds(point);
        if (turns[i].starts)
            sum += START_S + START_PROCESS_S * point->processes;
    }
    free(turns);
    return sum * (double)options_integer(sweep->options, OPTION_ROUNDS);
}

static const char *error_of(const json_t *record)
{
    const char *text = json_string_value(json_object_get(record, "error"));
    return text ? text : "";
}

static void print_list(const struct sweep *sweep)
{
    for (size_t i = 0; i < sweep->plan.count; i++) {
        char what[POINT_DESCRIPTION];
        point_describe(&sweep->plan.points[i], what, sizeof what);
        printf("%zu\t%s", i, what);
        if (sweep->beyond[i])
            printf("\tinfeasible: %s", error_of(sweep->records[i]));
        putchar('\n');
    }
}

static size_t count_beyond(const struct sweep *sweep)
{
    size_t count = 0;
    for (size_t i = 0; i < sweep->plan.count; i++)
        count += sweep->beyond[i];
    return count;
}

/* Whether known limits are to be kept to, and there are points that they could be about. */
static bool limits_matter(const struct sweep *sweep)
{
    return strcmp(options_text(sweep->options, OPTION_LIMITS), "known") == 0 &&
           limits_plan_concerns(&sweep->plan);
}

/* Points beyond what is known to be allowed are not tried. */
static enum status mark_beyond(struct sweep *sweep)
{
    if (!limits_matter(sweep))
        return STATUS_OK;
    enum status status =
        limits_plan_mark(&sweep->session, &sweep->plan, sweep->records, sweep->beyond);
    if (status != STATUS_PROTOCOL && status != STATUS_SYSTEM)
        return status;
    fprintf(stderr, "mpsweep: %s; going on as if there were no limits\n", status_text());
    return STATUS_OK;
}

static enum status write_beyond(struct sweep *sweep)
{
    size_t count = count_beyond(sweep);
    enum status status = STATUS_OK;
    if (count > 0 && !options_switch(sweep->options, OPTION_QUIET))
        fprintf(stderr,
                "mpsweep: %zu of %zu points left out: beyond the MPS limits found for this GPU and "
                "driver ('--limits ignore' tries them)\n",
                count, sweep->plan.count);
    for (size_t i = 0; i < sweep->plan.count && status == STATUS_OK; i++)
        if (sweep->beyond[i])
            status = results_write(&sweep->writer, sweep->records[i]);
    return status;
}

static enum status open_session(struct sweep *sweep)
{
    const struct session_request request = {
        .device = options_text(sweep->options, OPTION_DEVICE),
        .external_mps = strcmp(options_text(sweep->options, OPTION_MPS), "external") == 0,
    };
    return session_open(&request, &sweep->session);
}

/* A list needs no GPU; but where limits are kept, it takes one to know whether they apply. */
static void list(struct sweep *sweep)
{
    if (limits_matter(sweep) && open_session(sweep) == STATUS_OK) {
        if (mark_beyond(sweep) != STATUS_OK)
            report(STATUS_MEMORY);
        session_close(&sweep->session);
    }
    print_list(sweep);
}

static void print_plan(const struct sweep *sweep)
{
    char text[256], duration[32];
    const struct session *session = &sweep->session;
    printf("GPU:      %s%s (%s), %d multiprocessors, driver CUDA %d.%d\n", session->gpu.name,
           session->emulated ? " [emulated: no real numbers]" : "", session->gpu.uuid,
           (int)session->gpu.sms, session->driver_version / 1000,
           session->driver_version % 1000 / 10);
    printf("machine:  %s\n", bind_topology_summary(session->topology, text, sizeof text));
    bool seen[3] = {false};
    for (size_t i = 0; i < sweep->plan.count; i++) {
        enum bind_policy policy = sweep->plan.points[i].bind;
        if (seen[policy])
            continue;
        seen[policy] = true;
        printf("binding:  %s\n", bind_describe(session->topology, policy, text, sizeof text));
    }
    text_duration(estimate_s(sweep), duration, sizeof duration);
    size_t beyond = count_beyond(sweep);
    printf("plan:     %zu points, ", sweep->plan.count);
    if (beyond > 0)
        printf("%zu of them infeasible, ", beyond);
    if (is_fixed(sweep))
        printf("%s and the time that the iterations take, which is not known before\n\n", duration);
    else
        printf("about %s\n\n", duration);
    print_list(sweep);
}

static json_t *measured_points(const struct sweep *sweep)
{
    json_t *points = json_array();
    for (size_t i = 0; i < sweep->plan.count; i++)
        if (sweep->records[i])
            json_array_append(points, sweep->records[i]);
    return points;
}

static enum status check_limits(struct sweep *sweep)
{
    const struct options *options = sweep->options;
    if (options_switch(options, OPTION_RESUME) && !options_text(options, OPTION_OUTPUT))
        return status_set(STATUS_USAGE, "--resume needs --output FILE");
    enum status status = fixed_check_options(options);
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
    if (is_fixed(sweep))
        sweep->limits.precision_rel = INFINITY;
    return STATUS_OK;
}

/* Takes over the finished points of an earlier run, if it is the same plan on the same GPU. */
static enum status load_earlier(struct sweep *sweep, const char *path, struct results *results)
{
    enum status status = results_load(path, results);
    if (status != STATUS_OK)
        return status;
    const char *plan_id = json_string_value(json_object_get(results->header, "plan_id"));
    const char *uuid =
        json_string_value(json_object_get(json_object_get(results->header, "gpu"), "uuid"));
    if (!plan_id || strcmp(plan_id, sweep->plan.id) != 0)
        return status_set(STATUS_USAGE,
                          "'%s' holds another plan: give the job and options that it was begun "
                          "with, or another name",
                          path);
    if (!uuid || strcmp(uuid, sweep->session.gpu.uuid) != 0)
        return status_set(STATUS_USAGE, "'%s' was measured on GPU %s; this is %s", path,
                          uuid ? uuid : "unknown", sweep->session.gpu.uuid);
    json_array_extend(sweep->calibrations, results->calibrations);
    size_t wanted = (size_t)options_integer(sweep->options, OPTION_ROUNDS);
    for (size_t i = 0; i < json_array_size(results->points); i++) {
        json_t *record = json_array_get(results->points, i);
        const char *word = record_status(record);
        json_int_t id = json_integer_value(json_object_get(record, "id"));
        bool measured = strcmp(word, "ok") == 0 || strcmp(word, "unconverged") == 0;
        size_t rounds = json_array_size(json_object_get(record, "rounds"));
        bool finished = (measured && rounds >= wanted) || strcmp(word, "infeasible") == 0;
        if (!finished || id < 0 || (size_t)id >= sweep->plan.count)
            continue;
        /* Left out earlier: that holds as long as the limits do. */
        if (json_object_get(record, "limits_found") && !sweep->beyond[id])
            continue;
        json_decref(sweep->records[id]);
        sweep->records[id] = json_incref(record);
        sweep->beyond[id] = false;
    }
    return STATUS_OK;
}

/* A file that a kill or a full disk left without even its header: to go on with it is to begin. It
 * must look like ours as far as it goes. */
static bool is_cut_in_header(const char *path)
{
    static const char begin[] = "{\"type\":\"header\"";
    FILE *file = fopen(path, "re");
    int byte = EOF;
    size_t bytes = 0;
    if (!file)
        return false;
    while ((byte = fgetc(file)) != EOF && byte != '\n' && bytes < HEADER_MOST) {
        if (bytes < sizeof begin - 1 && byte != begin[bytes])
            break;
        bytes++;
    }
    bool failed = ferror(file) != 0;
    fclose(file);
    return byte == EOF && !failed;
}

static enum status open_results(struct sweep *sweep)
{
    const char *path = options_text(sweep->options, OPTION_OUTPUT);
    bool resume = options_switch(sweep->options, OPTION_RESUME);
    struct results results = {0};
    enum status status = STATUS_OK;
    if (!path)
        return STATUS_OK;
    if (resume && is_cut_in_header(path)) {
        status = results_append(path, 0, &sweep->writer);
    } else if (resume) {
        status = load_earlier(sweep, path, &results);
        if (status == STATUS_OK)
            status = results_append(path, (long long)results.whole_bytes, &sweep->writer);
        results_release(&results);
    } else {
        status = results_create(path, &sweep->writer);
    }
    return status;
}

/* The daemon is missing or does not start: better known before an hour of measuring than after. */
static enum status check_mps(struct sweep *sweep)
{
    for (size_t i = 0; i < sweep->plan.count; i++) {
        if (sweep->records[i] || !point_over_mps(&sweep->plan.points[i]))
            continue;
        enum status status = session_set_mps(&sweep->session, true);
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

/* One round of one point; last_round when nothing more comes for it. */
static enum status measure(struct sweep *sweep, const struct turn *turn, bool last_round,
                           struct progress *progress)
{
    size_t index = turn->point;
    const struct point *point = &sweep->plan.points[index];
    struct round_result round;
    uint64_t begin_ns = clock_now_ns();
    progress_begin(progress, point);
    enum status swept = saturation_run(&sweep->session, point, &sweep->limits, &sweep->crew, turn,
                                       progress, &sweep->measurements[index], &round);
    char swept_text[512];
    snprintf(swept_text, sizeof swept_text, "%s", status_text());
    enum status status = measurement_add(&sweep->measurements[index], &round,
                                         (double)(clock_now_ns() - begin_ns) / 1e9);
    bool ended = last_round || sweep->measurements[index].status != STATUS_OK;
    if (status == STATUS_OK && ended)
        status = finish_point(sweep, index);
    progress_end(progress, point, sweep->records[index]);
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
    enum status status = make_turns(sweep, round, &turns, &count);
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
        left += sweep->records[i] == NULL;
    progress_init(&progress, options_switch(sweep->options, OPTION_QUIET), left * rounds,
                  estimate_s(sweep));
    enum status status = STATUS_OK;
    for (unsigned round = 0; round < rounds && status == STATUS_OK; round++)
        status = measure_round(sweep, round, round + 1 == rounds, &progress);
    progress_finish(&progress);
    /* Something came between two points. */
    status = crew_dismiss_after(&sweep->crew, &sweep->session, sweep->limits.timeout_ns, status);
    /* One that came while the last point ended. */
    if (status == STATUS_OK)
        status = session_check_signals(&sweep->session);
    if (status == STATUS_INTERRUPTED)
        keep_rounds(sweep);
    return status;
}

static void print_results(const struct sweep *sweep, const json_t *points, const json_t *footer)
{
    const char *format = options_text(sweep->options, OPTION_FORMAT);
    if (strcmp(format, "csv") == 0) {
        table_print_csv(stdout, sweep->header, points);
    } else if (strcmp(format, "json") == 0) {
        const size_t flags = JSON_COMPACT | JSON_REAL_PRECISION(10);
        json_dumpf(sweep->header, stdout, flags);
        fputc('\n', stdout);
        for (size_t i = 0; i < json_array_size(sweep->calibrations); i++) {
            json_dumpf(json_array_get(sweep->calibrations, i), stdout, flags);
            fputc('\n', stdout);
        }
        for (size_t i = 0; i < json_array_size(points); i++) {
            json_dumpf(json_array_get(points, i), stdout, flags);
            fputc('\n', stdout);
        }
        json_dumpf(footer, stdout, flags);
        fputc('\n', stdout);
    } else {
        table_print(stdout, sweep->header, points);
    }
}

static int exit_status_of(const struct sweep *sweep)
{
    for (size_t i = 0; i < sweep->plan.count; i++) {
        const char *word = sweep->records[i] ? record_status(sweep->records[i]) : "interrupted";
        if (strcmp(word, "failed") == 0)
            return EXIT_SOME_FAILED;
    }
    return EXIT_ALL_MEASURED;
}

/* Everything between an open session and its end. */
static int run(struct sweep *sweep)
{
    enum status status = open_results(sweep);
    if (status != STATUS_OK)
        return report(status);
    bool resumed = options_switch(sweep->options, OPTION_RESUME);
    status = check_mps(sweep);
    if (status == STATUS_OK) {
        sweep->header =
            record_header(&sweep->session, sweep->job, sweep->job_path, &sweep->plan, resumed);
        status = sweep->header ? results_write(&sweep->writer, sweep->header)
                               : status_set(STATUS_MEMORY, "out of memory for the header");
    }
    if (status == STATUS_OK)
        status = write_beyond(sweep);
    if (status != STATUS_OK) {
        /* Nothing was measured: leave no empty file behind. */
        if (sweep->writer.regular && !resumed)
            remove(sweep->writer.path);
        return report(status);
    }
    if (options_switch(sweep->options, OPTION_CALIBRATE))
        status = calibrate_plan(&sweep->session, &sweep->plan, &sweep->limits,
                                options_switch(sweep->options, OPTION_QUIET), &sweep->writer,
                                sweep->calibrations);
    if (status == STATUS_OK)
        status = measure_all(sweep);
    int result = exit_status_of(sweep);
    if (status != STATUS_OK)
        result = report(status);
    json_t *points = measured_points(sweep);
    json_t *footer =
        record_footer(result, points, (double)(clock_now_ns() - sweep->started_ns) / 1e9);
    if (status == STATUS_OK || status == STATUS_INTERRUPTED) {
        if (results_write(&sweep->writer, footer) != STATUS_OK)
            result = report(STATUS_SYSTEM);
    }
    print_results(sweep, points, footer);
    json_decref(footer);
    json_decref(points);
    return result;
}

static void print_notice(const struct session *session)
{
    if (session->emulated_by_default)
        fputs(
            "mpsweep: no NVIDIA driver here: using the EMULATED GPU. Its numbers show how mpsweep\n"
            "mpsweep: works and say nothing about hardware. ('--device emulated' asks for it.)\n",
            stderr);
}

int sweep_command(const struct job *job, const char *job_path)
{
    struct sweep sweep = {
        .options = &job->sections[0].options,
        .job = job,
        .job_path = job_path,
        .writer.fd = -1,
        .crew = CREW_EMPTY,
        .started_ns = clock_now_ns(),
    };
    int result = EXIT_ALL_MEASURED;
    enum status status = check_limits(&sweep);
    if (status == STATUS_OK)
        status = plan_make(job, &sweep.plan);
    if (status != STATUS_OK)
        return report(status);
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
    print_notice(&sweep.session);
    status = session_watch_signals(&sweep.session);
    if (status == STATUS_OK)
        status = mark_beyond(&sweep);
    if (status == STATUS_OK && !options_switch(sweep.options, OPTION_DRY_RUN) &&
        session_watch_gpu(&sweep.session) != STATUS_OK)
        report(STATUS_TIMEOUT);
    if (status != STATUS_OK) {
        result = report(status);
        session_close(&sweep.session);
        goto out;
    }
    if (options_switch(sweep.options, OPTION_DRY_RUN))
        print_plan(&sweep);
    else
        result = run(&sweep);
    if (session_close(&sweep.session) != STATUS_OK)
        result = report(STATUS_SYSTEM);
out:
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
    json_decref(sweep.header);
    json_decref(sweep.calibrations);
    plan_release(&sweep.plan);
    return result;
}
