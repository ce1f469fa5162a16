#include "orchestrator/record/record.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/paths.h"
#include "files/results_read.h"
#include "statistics/statistics.h"
#include "config.h"
#include "mps/settings.h"
#include "orchestrator/round/mix.h"
#include "orchestrator/round/fixed.h"
#include "orchestrator/round/per_gpu.h"
#include "orchestrator/campaign/plugin.h"
#include "orchestrator/record/time.h"
#include "orchestrator/record/precision.h"
#include "orchestrator/record/telemetry.h"
#include "orchestrator/record/warnings.h"

#define SETTINGS_NS (10 * NS_PER_S)

static int grow_fixed(struct measurement *measurement, const struct round_fixed *fixed)
{
    struct round_fixed *larger =
        realloc(measurement->fixed, (measurement->rounds + 1) * sizeof *larger);
    if (!larger)
        return -1;
    larger[measurement->rounds] = *fixed;
    measurement->fixed = larger;
    return 0;
}

static int grow(double **array, unsigned count, double value)
{
    double *larger = realloc(*array, (count + 1) * sizeof *larger);
    if (!larger)
        return -1;
    larger[count] = value;
    *array = larger;
    return 0;
}

enum status measurement_add(struct measurement *measurement, struct round_result *round,
                            double seconds)
{
    measurement->seconds += seconds;
    measurement->status = round->status;
    if (round->status == STATUS_OK) {
        unsigned n = measurement->rounds;
        if (grow(&measurement->throughputs, n, round->throughput_ips) != 0 ||
            grow(&measurement->intervals, n, round->ci95_rel) != 0 ||
            grow(&measurement->windows, n, round->window_s) != 0 ||
            grow_fixed(measurement, &round->fixed) != 0) {
            round_result_release(round);
            return status_set(STATUS_MEMORY, "out of memory for the results");
        }
        measurement->rounds++;
        if (n > 0) {
            struct round_result *before = &measurement->last;
            histogram_merge(&round->latency, &before->latency);
            histogram_merge(&round->h2d, &before->h2d);
            histogram_merge(&round->launch, &before->launch);
            histogram_merge(&round->sync, &before->sync);
            histogram_merge(&round->d2h, &before->d2h);
            openloop_merge(&round->open, &before->open);
            histogram_merge(&round->launch_call, &before->launch_call);
            record_time_merge_cpu(&round->cpu, &before->cpu);
            window_merge(&round->window, &before->window);
            described_merge(round, before, n);
            per_gpu_merge(round, before, n);
            round->steady_from_s = fmax(round->steady_from_s, before->steady_from_s);
            round->iterations += before->iterations;
            round->skew_us = fmax(round->skew_us, before->skew_us);
            telemetry_window_merge(&round->telemetry, &before->telemetry);
            round->reused |= before->reused;
            if (before->idle_processes > round->idle_processes)
                round->idle_processes = before->idle_processes;
        }
    }
    round_result_release(&measurement->last);
    measurement->last = *round;
    return STATUS_OK;
}

void measurement_release(struct measurement *measurement)
{
    free(measurement->throughputs);
    free(measurement->intervals);
    free(measurement->windows);
    free(measurement->fixed);
    round_result_release(&measurement->last);
    *measurement = (struct measurement){0};
}

static json_t *options_object(const struct options *options)
{
    json_t *object = json_object();
    for (int i = 0; object && i < OPTION_COUNT; i++) {
        const struct option_row *row = &option_table[i];
        const struct option_value *value = &options->values[i];
        if (!(row->commands & OPTION_SWEEP) || row->flags & OPTION_NOT_IN_JOB || value->count == 0)
            continue;
        json_t *items = json_array();
        for (size_t j = 0; j < value->count; j++)
            json_array_append_new(items, json_string(value->items[j].text));
        if (row->flags & OPTION_AXIS) {
            json_object_set_new(object, row->name, items);
        } else {
            json_object_set(object, row->name, json_array_get(items, 0));
            json_decref(items);
        }
    }
    return object;
}

/* What the daemon of somebody else gives its clients by default. */
static json_t *external_object(const struct session *session)
{
    struct mps_settings settings;
    const struct mps_control control = {.program = session->control_program,
                                        .pipe_directory = session->external_mps};
    json_t *object = json_pack("{s:s}", "pipe_directory", session->external_mps);
    if (mps_settings_read(&control, 1, clock_now_ns() + SETTINGS_NS, &settings) != STATUS_OK)
        return object;
    json_object_set_new(object, "active_thread_percentage",
                        json_real(settings.active_thread_percentage));
    json_object_set_new(object, "priority", json_integer(settings.priority));
    json_object_set_new(object, "memory_limit",
                        settings.memory_limits
                            ? json_integer((json_int_t)settings.memory_limit[0].bytes)
                            : json_null());
    return object;
}

/* Words of a command line may be any bytes, and a JSON text may not. */
static json_t *text_or_null(const char *text)
{
    json_t *value = json_string(text);
    return value ? value : json_null();
}

static json_t *workload_object(const struct job *job)
{
    const struct options *options = &job->sections[0].options;
    if (!job->command)
        return json_pack("{s:s}", "name", options_text(options, OPTION_WORKLOAD));
    json_t *words = json_array();
    for (char *const *word = job->command; *word; word++)
        json_array_append_new(words, text_or_null(*word));
    return json_pack("{s:o, s:o}", "name", text_or_null(path_file_name(job->command[0])), "argv",
                     words);
}

json_t *record_header(const struct session *session, const struct job *job, const char *job_path,
                      const struct plan *plan, bool resumed)
{
    char started[32];
    const struct options *options = &job->sections[0].options;
    clock_wall_iso8601(started);
    json_t *record = json_pack("{s:s, s:i, s:s, s:s}", "type", "header", "schema", RESULTS_SCHEMA,
                               "mpsweep", PACKAGE_VERSION, "started", started);
    if (!record || session_describe(session, record) != STATUS_OK) {
        json_decref(record);
        return NULL;
    }
    if (resumed)
        json_object_set_new(record, "resumed", json_true());
    if (job_path)
        json_object_set_new(record, "job", json_string(path_file_name(job_path)));
    json_t *sections = json_object();
    for (size_t i = 0; i < job->count; i++)
        json_object_set_new(sections, job->sections[i].name ? job->sections[i].name : "sweep",
                            options_object(&job->sections[i].options));
    json_object_set_new(record, "options", sections);
    json_object_set_new(record, "workload", workload_object(job));
    json_t *binding = json_object();
    for (size_t i = 0; binding && i < plan->count; i++) {
        char text[2048];
        bind_describe(session->topology, plan->points[i].bind, text, sizeof text);
        json_object_set_new(binding, point_bind(&plan->points[i]), json_string(text));
    }
    json_object_set_new(record, "binding", binding);
    described_header(record, job);
    if (*session->external_mps)
        json_object_set_new(record, "external_mps", external_object(session));
    json_object_set_new(record, "plan", json_integer((json_int_t)plan->count));
    json_object_set_new(record, "plan_id", json_string(plan->id));
    json_object_set_new(record, "seed", json_integer(options_integer(options, OPTION_SEED)));
    return record;
}

static const char *status_word(const struct measurement *measurement, bool converged)
{
    switch (measurement->status) {
    case STATUS_OK:
        return converged ? "ok" : "unconverged";
    case STATUS_INFEASIBLE:
        return "infeasible";
    case STATUS_INTERRUPTED:
        return "interrupted";
    default:
        return "failed";
    }
}

static json_t *phase(const struct histogram *histogram)
{
    return histogram->count ? json_real(histogram_mean_ns(histogram) / 1e3) : json_null();
}

static json_t *workers_array(const struct point *point, const struct round_result *result)
{
    json_t *array = json_array();
    for (unsigned i = 0; i < point_workers(point); i++) {
        const struct round_worker *worker = &result->workers[i];
        json_t *entry = json_pack("{s:i, s:i, s:s, s:f, s:f, s:f}", "process", (int)worker->process,
                                  "thread", (int)worker->thread, "cpus", worker->cpus, "ips",
                                  worker->ips, "p50_us", worker->p50_us, "p99_us", worker->p99_us);
        if (*worker->numa)
            json_object_set_new(entry, "numa", json_string(worker->numa));
        if (point_gpus(point) > 1)
            json_object_set_new(entry, "gpu",
                                json_integer((int)point_gpu_of(point, worker->process)));
        record_time_add_worker(entry, worker);
        if (point->work.iterations)
            json_object_set_new(entry, "elapsed_s", json_real(worker->elapsed_s));
        json_array_append_new(array, entry);
    }
    return array;
}

static json_t *clients_array(const struct point *point, const struct round_result *result)
{
    json_t *array = json_array();
    for (unsigned p = 0; p < point_processes(point); p++) {
        const struct round_process *process = &result->processes[p];
        unsigned number = point_number_on_gpu(point, p);
        if (point_is_program(point)) {
            json_array_append_new(
                array,
                json_pack("{s:i, s:o, s:o, s:o}", "process", (int)p, "active_thread_percentage",
                          shares_json_at(&point->active_thread_percentage, number), "priority",
                          shares_json_at(&point->priority, number), "memory_limit",
                          shares_json_at(&point->memory_limit, number)));
            continue;
        }
        json_array_append_new(
            array, json_pack("{s:i, s:o, s:i, s:o, s:o, s:I}", "process", (int)p,
                             "active_thread_percentage",
                             shares_json_at(&point->active_thread_percentage, number), "sms",
                             process->sms, "priority", shares_json_at(&point->priority, number),
                             "memory_limit", shares_json_at(&point->memory_limit, number),
                             "memory_free", (json_int_t)process->memory_free));
    }
    return array;
}

static void add_numbers(json_t *record, const struct point *point,
                        const struct measurement *measurement, const struct interval *interval,
                        double precision_rel)
{
    const struct round_result *result = &measurement->last;
    json_t *rounds = json_array();
    for (unsigned i = 0; i < measurement->rounds; i++) {
        json_t *round = json_pack("{s:f, s:f}", "throughput_ips", measurement->throughputs[i],
                                  "seconds", measurement->windows[i]);
        json_object_set_new(round, "ci95_rel", record_real_or_null(measurement->intervals[i]));
        json_array_append_new(rounds, round);
    }
    json_object_set_new(record, "throughput_ips",
                        json_real(statistics_mean(measurement->throughputs, measurement->rounds)));
    json_object_set_new(record, "ci95_rel", record_real_or_null(interval->half_rel));
    json_object_set_new(record, "rounds", rounds);
    json_object_set_new(record, "iterations", json_integer((json_int_t)result->iterations));
    /* The throughput of an open loop is the one that is offered: more of it is not surer. */
    sureness_add(record, point, measurement, interval,
                 point_is_open(point) ? INFINITY : precision_rel);
    json_object_set_new(record, "latency_us", sureness_latency(&result->latency));
    json_object_set_new(record, "phase_us",
                        json_pack("{s:o, s:o, s:o, s:o}", "h2d", phase(&result->h2d), "launch",
                                  phase(&result->launch), "sync", phase(&result->sync), "d2h",
                                  phase(&result->d2h)));
    record_time_add(record, point, result);
    if (point->work.iterations)
        json_object_set_new(record, "fixed",
                            fixed_object(point, measurement->fixed, measurement->rounds));
    json_object_set_new(record, "fairness_jain", json_real(result->fairness));
    json_object_set_new(record, "start_skew_us", json_real(result->skew_us));
    json_object_set_new(record, "per_worker", workers_array(point, result));
    described_record(record, point, result);
    json_object_set_new(record, "attached",
                        json_pack("{s:i, s:i}", "expected", (int)result->attached_expected, "seen",
                                  (int)result->attached_seen));
    if (result->other_clients)
        json_object_set_new(record, "other_clients", json_integer((int)result->other_clients));
    /* What a program's context was given, nobody has asked. */
    if (!point_is_program(point))
        json_object_set_new(record, "sms", json_integer(result->sms));
    if (point_has_shares(point))
        json_object_set_new(record, "clients", clients_array(point, result));
    json_object_set_new(record, "ready_s", json_real(result->ready_s));
    json_t *telemetry = telemetry_object(&result->telemetry);
    if (telemetry)
        json_object_set_new(record, "telemetry", telemetry);
    per_gpu_record(record, point, result);
    if (point_gpus(point) == 1)
        telemetry_warn(warnings_of(record), &result->telemetry);
    if (!point_is_program(point))
        cores_warn(warnings_of(record), point, &result->cores);
    numa_record(record, &result->numa);
    if (point_gpus(point) == 1)
        numa_warn(warnings_of(record), &result->numa);
    plugin_warn(record, point, result);
    if (result->reused)
        json_object_set_new(record, "reused", json_true());
    if (result->idle_processes)
        json_object_set_new(record, "idle_processes", json_integer((int)result->idle_processes));
}

static void drop(json_t *record, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        json_object_del(record, names[i]);
}

/* Settings that mean nothing for the workload: what describes a built-in one, and what others
 * decide by themselves. */
static void drop_settings(json_t *record, const struct point *point)
{
    static const char *const work[] = {"kernels", "blocks", "threads_per_block", "spin", "bytes"};
    static const char *const own[] = {"memory", "sync", "launch", "schedule"};
    if (!point_is_builtin(point))
        drop(record, work, sizeof work / sizeof work[0]);
    if (point_is_program(point))
        drop(record, own, sizeof own / sizeof own[0]);
    else if (point->work.workload == WORKLOAD_PLUGIN)
        drop(record, own, 2);
}

static void add_shares(json_t *record, const char *key, const struct point_shares *shares,
                       const struct point *point)
{
    json_t *value = shares_json(shares, point->processes);
    if (value)
        json_object_set_new(record, key, value);
}

json_t *record_point(const struct point *point, const struct measurement *measurement,
                     double precision_rel)
{
    const struct work *work = &point->work;
    struct interval interval;
    sureness_interval(measurement, &interval);
    const char *status = status_word(
        measurement, point_is_open(point) ? openloop_converged(point, measurement)
                                          : interval_meets(interval.half_rel, precision_rel));
    json_t *record = json_pack(
        "{s:s, s:i, s:s, s:b, s:i, s:i, s:i, s:s, s:s, s:s, s:s, s:i, s:b, s:s, s:i, s:i, s:i, "
        "s:i, s:I}",
        "type", "point", "id", (int)point->id, "layout", layout_name(point->layout), "mps",
        (int)point_over_mps(point), "processes", (int)point->processes, "threads",
        (int)point->threads, "workers", (int)point_workers(point), "memory", point_memory(point),
        "sync", point_sync(point), "launch", point_launch(point), "schedule", point_schedule(point),
        "connections", (int)point_connections(point), "connections_default",
        point->connections == 0, "bind", point_bind(point), "kernels", (int)work->kernels, "blocks",
        (int)work->blocks, "threads_per_block", (int)work->threads_per_block, "spin",
        (int)work->spin, "bytes", (json_int_t)work->bytes);
    if (!record)
        return NULL;
    json_object_set_new(record, "workload", text_or_null(point_workload(point)));
    drop_settings(record, point);
    if (point_gpus(point) > 1)
        json_object_set_new(record, "gpus", json_integer((int)point_gpus(point)));
    if (point_gpus(point) > 1 && point_over_mps(point))
        json_object_set_new(record, "mps_daemons", json_string(point_mps_daemons(point)));
    if (point->workload_options)
        json_object_set_new(record, "workload_options", json_string(point->workload_options));
    if (point->section)
        json_object_set_new(record, "section", json_string(point->section));
    add_shares(record, "active_thread_percentage", &point->active_thread_percentage, point);
    add_shares(record, "priority", &point->priority, point);
    add_shares(record, "memory_limit", &point->memory_limit, point);
    if (work->workload == WORKLOAD_DELAY)
        json_object_set_new(record, "delay_cycles", json_integer((json_int_t)work->delay_cycles));
    json_object_set_new(record, "status", json_string(status));
    openloop_record(record, point, measurement);
    if (measurement->status == STATUS_OK)
        add_numbers(record, point, measurement, &interval, precision_rel);
    json_object_set_new(record, "error",
                        measurement->status == STATUS_OK ? json_null()
                                                         : text_or_null(measurement->last.error));
    json_object_set_new(record, "cuda_error", json_integer(measurement->last.cuda_error));
    per_gpu_record_failure(record, point, &measurement->last);
    json_object_set_new(record, "seconds", json_real(measurement->seconds));
    return record;
}

json_t *record_beyond(const struct point *point, const struct mps_limits *limits,
                      const struct mps_limits_row *row)
{
    struct measurement untried = {.status = STATUS_INFEASIBLE};
    untried.last.cuda_error = row->refused;
    mps_limits_why(limits, row, point, untried.last.error, sizeof untried.last.error);
    json_t *record = record_point(point, &untried, 0.0);
    if (record)
        json_object_set_new(record, "limits_found", json_string(limits->found));
    return record;
}

const char *record_status(const json_t *record)
{
    const char *status = json_string_value(json_object_get(record, "status"));
    return status ? status : "";
}

void record_print_failure(FILE *out, const json_t *record)
{
    const char *status = record_status(record);
    const char *error = json_string_value(json_object_get(record, "error"));
    fputs(status, out);
    if (error && strcmp(error, status) != 0)
        fprintf(out, ": %s", error);
}

json_t *record_footer(int exit_status, const json_t *points, double seconds)
{
    json_t *counts = json_object();
    for (size_t i = 0; counts && i < json_array_size(points); i++) {
        const char *status = record_status(json_array_get(points, i));
        json_int_t count = json_integer_value(json_object_get(counts, status));
        json_object_set_new(counts, status, json_integer(count + 1));
    }
    return json_pack("{s:s, s:i, s:o, s:f}", "type", "footer", "status", exit_status, "points",
                     counts, "seconds", seconds);
}
