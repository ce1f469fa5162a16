#include "orchestrator/explain/explain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files/results_read.h"
#include "files/results_write.h"
#include "orchestrator/calibrate/plan.h"
#include "orchestrator/console/columns.h"
#include "orchestrator/console/report.h"
#include "orchestrator/explain/point.h"
#include "orchestrator/explain/programs.h"
#include "orchestrator/explain/set.h"
#include "orchestrator/explain/verify.h"
#include "orchestrator/results/fields.h"
#include "orchestrator/session/mps_limits.h"
#include "orchestrator/record/record.h"
#include "orchestrator/results/origin.h"
#include "orchestrator/results/table.h"
#include "orchestrator/round/round.h"
#include "orchestrator/session/session.h"
#include "common/text.h"

#define VERIFY_ROUNDS 3
#define VERIFY_S 1.0
#define VERIFY_PRECISION 0.01
#define EXTENSION 4

struct explaining {
    const struct options *options;
    const char *path;
    struct results results;
    struct explain_set set;
    struct results_writer writer; /* open if something is to be measured */
    struct session session;
    struct round_limits limits;
    json_t *verifications; /* NULL without --verify */
};

static void unload(struct explaining *explaining)
{
    results_close(&explaining->writer);
    explain_set_release(&explaining->set);
    results_release(&explaining->results);
}

/* A file without a point that has ceilings, and nothing is asked for that needs them. */
static bool explains_programs(const struct explaining *explaining)
{
    const struct results *results = &explaining->results;
    return explaining->set.count == 0 && explain_has_programs(results->points) &&
           !options_switch(explaining->options, OPTION_VERIFY);
}

/* The results with the calibrations that they hold; writes: there will be more, so that nothing
 * else may write to the file from here on. */
static enum status load(struct explaining *explaining, bool writes)
{
    const char *path = explaining->path;
    enum status status = writes ? results_continue(path, fields_of_explanations,
                                                   &explaining->results, &explaining->writer)
                                : results_load(path, fields_of_explanations, &explaining->results);
    if (status != STATUS_OK && writes && access(path, R_OK) == 0 && access(path, W_OK) != 0)
        return status_prefix(status,
                             "explain keeps what it measures in the file: give it a copy of '%s' "
                             "that you may write to: ",
                             path);
    if (status == STATUS_OK && !explaining->results.header)
        status = status_set(STATUS_USAGE, "'%s' has no whole line", path);
    if (status == STATUS_OK)
        status = results_refuse_probes(&explaining->results, path);
    if (status != STATUS_OK)
        return status;
    results_make_displayable(&explaining->results);
    status = explain_set_make(&explaining->results, &explaining->set);
    if (status != STATUS_OK)
        return status_prefix(status, "'%s': ", path);
    if (explains_programs(explaining))
        return STATUS_OK;
    if (explaining->set.count == 0)
        return explain_set_empty(&explaining->set, path);
    return explain_set_calibrate_all(&explaining->set, &explaining->results, path);
}

/* The first point without a calibration, or NULL. */
static const struct explanation *uncalibrated(const struct explain_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        if (!explain_set_calibration(set, &set->points[i]))
            return &set->points[i];
    return NULL;
}

/* Of a described workload the header has the steps, and not how much work its durations are. */
static enum status check_verified(const struct explaining *explaining)
{
    for (size_t i = 0; i < explaining->set.count; i++)
        if (explaining->set.points[i].point.work.workload == WORKLOAD_DESCRIBED)
            return status_set(STATUS_USAGE,
                              "'%s' has points of a described workload, and --verify is for "
                              "built-in ones: measure the remedy with mpsweep sweep",
                              explaining->path);
    return STATUS_OK;
}

/* Of merged results no one GPU can stand for the others: each must bring its own calibration. */
static enum status check_merged(const struct explaining *explaining)
{
    const struct explain_set *set = &explaining->set;
    if (options_switch(explaining->options, OPTION_VERIFY))
        return status_set(STATUS_USAGE,
                          "'%s' is merged from runs on several GPUs: verify remedies with the file "
                          "of one of them, on its machine",
                          explaining->path);
    for (size_t i = 0; i < set->count; i++)
        if (explain_set_calibration(set, &set->points[i]))
            return STATUS_OK;
    return status_set(
        STATUS_USAGE,
        "'%s' is merged from runs on several GPUs, and holds no calibration of any of "
        "them for its points: 'mpsweep sweep --calibrate' or 'mpsweep explain' of each "
        "file makes one, then merge again",
        explaining->path);
}

/* The GPUs that the results are from, as --device takes them; NULL: no memory, or one has no name.
 * The caller frees it. */
static char *devices_of(const json_t *header, bool emulated)
{
    struct text_stream out;
    size_t index;
    const json_t *gpu, *gpus = json_object_get(header, "gpus");
    if (!text_stream_open(&out))
        return NULL;
    if (emulated)
        fputs("emulated", out.file);
    if (!gpus) {
        const char *uuid =
            json_string_value(json_object_get(json_object_get(header, "gpu"), "uuid"));
        fputs(emulated || !uuid ? "" : uuid, out.file);
    }
    json_array_foreach(gpus, index, gpu)
    {
        const char *uuid = json_string_value(json_object_get(gpu, "uuid"));
        fprintf(out.file, "%s%s", index > 0 ? "," : emulated ? ":" : "", uuid ? uuid : "");
    }
    return text_stream_close(&out);
}

/* Whether no point has more GPUs than the header names. */
static enum status check_devices(const struct explaining *explaining)
{
    const struct session *session = &explaining->session;
    for (size_t i = 0; i < explaining->set.count; i++) {
        const struct explanation *point = &explaining->set.points[i];
        if (ceiling_gpus(&point->point) > session->gpus->count)
            return status_set(STATUS_USAGE, "'%s': point %lld has %u GPUs, and the header names %u",
                              explaining->path,
                              (long long)json_integer_value(json_object_get(point->record, "id")),
                              ceiling_gpus(&point->point), session->gpus->count);
    }
    return STATUS_OK;
}

/* What is measured now is compared with what the file holds. */
static enum status check_machine(const struct explaining *explaining)
{
    char text[ORIGIN_TEXT];
    json_t *now = json_object();
    enum status status = record_add_machine(&explaining->session, now);
    json_t *differences =
        status == STATUS_OK ? record_differences(explaining->results.header, now) : NULL;
    if (json_array_size(differences) > 0)
        status = status_set(STATUS_USAGE,
                            "'%s' was measured on another machine (%s): explain it on that one, or "
                            "measure it here",
                            explaining->path, origin_differences(differences, text));
    json_decref(now);
    json_decref(differences);
    return status;
}

/* A session on the GPUs that the results are from. */
static enum status open_session(struct explaining *explaining)
{
    const json_t *gpu = json_object_get(explaining->results.header, "gpu");
    const char *uuid = json_string_value(json_object_get(gpu, "uuid"));
    bool emulated = json_is_true(json_object_get(gpu, "emulated"));
    char *devices = devices_of(explaining->results.header, emulated);
    const char *need = uncalibrated(&explaining->set)
                           ? "it has no calibration for its points, and to make one"
                           : "to verify";
    const struct session_request request = {
        .device = devices,
        .no_other = true,
    };
    enum status status = STATUS_OK;
    if (!uuid)
        status = status_set(STATUS_USAGE, "'%s' does not name the GPU that it is from",
                            explaining->path);
    else if (!devices)
        status = status_set(STATUS_MEMORY, "out of memory");
    if (status != STATUS_OK) {
        free(devices);
        return status;
    }
    status = session_open(&request, &explaining->session);
    free(devices);
    if (status != STATUS_OK)
        return status_prefix(status, "'%s': %s takes its GPU %s: ", explaining->path, need, uuid);
    status = check_machine(explaining);
    if (status == STATUS_OK)
        status = check_devices(explaining);
    if (status == STATUS_OK)
        status = session_watch_signals(&explaining->session);
    return session_close_on_error(&explaining->session, status);
}

static uint64_t warmup_ns(const struct explaining *explaining)
{
    return (uint64_t)(options_real(explaining->options, OPTION_WARMUP) * 1e9);
}

/* What is measured here is kept in the file, so that the next time needs no GPU. */
static enum status calibrate(struct explaining *explaining)
{
    bool quiet = options_switch(explaining->options, OPTION_QUIET), made = false;
    const struct explanation *missing;
    while ((missing = uncalibrated(&explaining->set))) {
        struct point like;
        int64_t shares[EXPLAIN_MOST_PERCENTAGES];
        explain_point_plan(&missing->point, missing->record, shares, &like);
        like.work.warmup_ns = warmup_ns(explaining);
        /* What several share is measured with it. */
        for (size_t i = 0; i < explaining->set.count; i++)
            if (ceiling_gpus(&explaining->set.points[i].point) > point_gpus(&like))
                like.gpus = ceiling_gpus(&explaining->set.points[i].point);
        const struct plan plan = {.points = &like, .count = 1};
        enum status status =
            calibrate_plan(&explaining->session, &plan, &explaining->limits, quiet, report_line,
                           &explaining->writer, explaining->results.calibrations);
        if (status == STATUS_OK)
            status =
                explain_set_calibrate_all(&explaining->set, &explaining->results, explaining->path);
        if (status != STATUS_OK)
            return status;
        if (!explain_set_calibration(&explaining->set, missing))
            return status_set(STATUS_UNSUPPORTED, "the points of '%s' cannot be calibrated for",
                              explaining->path);
        made = true;
    }
    if (made && !quiet)
        fprintf(stderr, "mpsweep: the calibration is kept in '%s'\n", explaining->path);
    return STATUS_OK;
}

static struct remedy_limits known_limits(const struct session *session)
{
    struct mps_limits limits;
    struct remedy_limits known = {0};
    bool bounded;
    if (session && mps_limits_known(session, &limits) == STATUS_OK) {
        known.clients = mps_limits_client_cap(&limits, &bounded);
        known.queues = mps_limits_queue_budget(&limits);
    }
    return known;
}

static enum status verify(struct explaining *explaining)
{
    const struct options *options = explaining->options;
    const struct verify_request request = {
        .session = &explaining->session,
        .limits = explaining->limits,
        .warmup_ns = warmup_ns(explaining),
        .rounds = options_is_given(options, OPTION_ROUNDS)
                      ? (unsigned)options_integer(options, OPTION_ROUNDS)
                      : VERIFY_ROUNDS,
        .writer = &explaining->writer,
        .quiet = options_switch(options, OPTION_QUIET),
    };
    return explain_verify(&explaining->set, &request, &explaining->verifications);
}

/* With what was verified in the objects of their points. */
static enum status print_json(const struct explaining *explaining)
{
    json_t *array = explain_to_json(&explaining->set);
    if (!array)
        return status_set(STATUS_MEMORY, "out of memory");
    for (size_t i = 0; i < json_array_size(explaining->verifications); i++) {
        json_t *record = json_array_get(explaining->verifications, i);
        for (size_t j = 0; j < json_array_size(array); j++) {
            json_t *point = json_array_get(array, j);
            if (json_equal(json_object_get(point, "id"), json_object_get(record, "point")))
                json_object_set(point, "verification", record);
        }
    }
    json_dumpf(array, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(10));
    fputc('\n', stdout);
    json_decref(array);
    return STATUS_OK;
}

static int explain_programs(const struct explaining *explaining, bool text)
{
    const struct results *results = &explaining->results;
    if (text) {
        explain_print_programs(stdout, results->header, results->points);
        return EXIT_ALL_MEASURED;
    }
    json_t *array = explain_programs_json(results->header, results->points);
    if (!array)
        return report(status_set(STATUS_MEMORY, "out of memory"));
    json_dumpf(array, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(10));
    fputc('\n', stdout);
    json_decref(array);
    return EXIT_ALL_MEASURED;
}

/* Between an open session, where there is one, and its end. */
static int run(struct explaining *explaining, struct session *session)
{
    bool text = columns_is_format(options_text(explaining->options, OPTION_EXPLAIN_FORMAT));
    bool verifies = options_switch(explaining->options, OPTION_VERIFY);
    enum status status = session ? calibrate(explaining) : STATUS_OK;
    if (status != STATUS_OK)
        return report(status);
    if (explains_programs(explaining))
        return explain_programs(explaining, text);
    const struct remedy_limits limits = known_limits(session);
    status = explain_set_compute(&explaining->set, &limits);
    if (status != STATUS_OK)
        return report(status);
    if (text) {
        char unfinished[TABLE_UNFINISHED];
        if (*table_unfinished(&explaining->results, unfinished))
            puts(unfinished);
        explain_print_text(stdout, explaining->results.header, &explaining->set);
    }
    fflush(stdout);
    int result = EXIT_ALL_MEASURED;
    if (verifies) {
        status = verify(explaining);
        if (status != STATUS_OK)
            result = report(status);
        else if (!explain_verify_all_confirmed(explaining->verifications))
            result = EXIT_SOME_FAILED;
        if (text)
            explain_verify_print(stdout, explaining->verifications);
    }
    if (!text && print_json(explaining) != STATUS_OK)
        result = report(STATUS_MEMORY);
    return result;
}

/* Loads the results, with their lock where something must be measured: while they were read without
 * it, they may have changed. */
static enum status load_for_use(struct explaining *explaining, bool *needs_gpu)
{
    for (bool locked = false;; locked = true) {
        enum status status = load(explaining, locked);
        if (status != STATUS_OK)
            return status;
        if (explains_programs(explaining))
            return STATUS_OK;
        if (options_switch(explaining->options, OPTION_VERIFY)) {
            status = check_verified(explaining);
            if (status != STATUS_OK)
                return status;
        }
        if (explain_set_is_of_several(&explaining->set))
            return check_merged(explaining);
        *needs_gpu =
            options_switch(explaining->options, OPTION_VERIFY) || uncalibrated(&explaining->set);
        if (!*needs_gpu || locked)
            return STATUS_OK;
        unload(explaining);
    }
}

int explain_command(const struct invocation *invocation)
{
    const struct options *options = invocation->options;
    double duration_s = options_is_given(options, OPTION_DURATION)
                            ? options_real(options, OPTION_DURATION)
                            : VERIFY_S;
    struct explaining explaining = {
        .options = options,
        .path = invocation->operands[0],
        .writer = RESULTS_WRITER_NONE,
        .limits =
            {
                .duration_ns = (uint64_t)(duration_s * 1e9),
                .max_duration_ns = (uint64_t)(EXTENSION * duration_s * 1e9),
                .precision_rel = options_is_given(options, OPTION_PRECISION)
                                     ? options_real(options, OPTION_PRECISION) / 100.0
                                     : VERIFY_PRECISION,
                .timeout_ns = (uint64_t)(options_real(options, OPTION_TIMEOUT) * 1e9),
            },
    };
    bool needs_gpu = false;
    int result;
    enum status status = load_for_use(&explaining, &needs_gpu);
    if (status == STATUS_OK && needs_gpu)
        status = open_session(&explaining);
    if (status != STATUS_OK) {
        result = report(status);
    } else {
        result = run(&explaining, needs_gpu ? &explaining.session : NULL);
        if (needs_gpu && session_close(&explaining.session) != STATUS_OK)
            result = report(STATUS_SYSTEM);
    }
    json_decref(explaining.verifications);
    unload(&explaining);
    return result;
}
