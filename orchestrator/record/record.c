#include "orchestrator/record/record.h"

#include <math.h>
#include <string.h>

#include "common/json.h"
#include "orchestrator/results/shares.h"
#include "orchestrator/record/internal.h"
#include "statistics/statistics.h"
#include "orchestrator/plan/settings.h"

json_t *record_text(const char *text)
{
    json_t *value = json_string(text);
    return value ? value : json_null();
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

/* "0-15,32": whole, however scattered. */
static void add_multiprocessors(json_t *entry, const struct round_worker *worker)
{
    static const uint64_t none[WORK_MULTIPROCESSORS / 64];
    char text[WORK_MULTIPROCESSORS * sizeof "511,"];
    if (memcmp(worker->multiprocessors, none, sizeof none) == 0)
        return;
    bind_bits_text(worker->multiprocessors, WORK_MULTIPROCESSORS / 64, text, sizeof text);
    json_object_set_new(entry, "multiprocessors", json_string(text));
}

static json_t *workers_array(const struct point *point, const struct round_result *result)
{
    json_t *array = json_array();
    for (unsigned i = 0; i < point_workers(point); i++) {
        const struct round_worker *worker = &result->workers[i];
        json_t *entry = json_pack("{s:i, s:i, s:s, s:f, s:f, s:f}", "process", (int)worker->process,
                                  "thread", (int)worker->thread, "cpus", worker->cpus, "ips",
                                  worker->ips, "p50_us", worker->p50_us, "p99_us", worker->p99_us);
        if (point->streams > 1)
            json_object_set_new(entry, "stream", json_integer((int)worker->stream));
        add_multiprocessors(entry, worker);
        if (*worker->numa)
            json_object_set_new(entry, "numa", json_string(worker->numa));
        if (point_gpus(point) > 1)
            json_object_set_new(entry, "gpu",
                                json_integer((int)point_gpu_of(point, worker->process)));
        record_add_worker_time(entry, worker);
        if (point->work.iterations)
            json_object_set_new(entry, "elapsed_s", json_real(worker->elapsed_s));
        json_array_append_new(array, entry);
    }
    return array;
}

/* What a program's context was given is not known. */
static json_t *clients_array(const struct point *point, const struct round_result *result)
{
    bool known = !point_is_program(point);
    json_t *array = json_array();
    for (unsigned p = 0; p < point_processes(point); p++) {
        const struct round_process *process = &result->processes[p];
        unsigned number = point_number_on_gpu(point, p);
        json_array_append_new(
            array, json_pack("{s:i, s:o, s:o*, s:o, s:o, s:o*}", "process", (int)p,
                             "active_thread_percentage",
                             shares_json_at(&point->active_thread_percentage, number), "sms",
                             known ? json_integer(process->sms) : NULL, "priority",
                             shares_json_at(&point->priority, number), "memory_limit",
                             shares_json_at(&point->memory_limit, number), "memory_free",
                             known ? json_integer((json_int_t)process->memory_free) : NULL));
    }
    return array;
}

static json_t *rounds_array(const struct measurement *measurement)
{
    json_t *array = json_array();
    for (unsigned i = 0; i < measurement->rounds; i++) {
        json_t *round = json_pack("{s:f, s:f}", "throughput_ips", measurement->throughputs[i],
                                  "seconds", measurement->windows[i]);
        json_object_set_new(round, "ci95_rel", record_real_or_null(measurement->intervals[i]));
        json_object_set_new(round, "p99_us",
                            json_real(measurement->percentiles[i].us[PERCENTILE_P99]));
        json_array_append_new(array, round);
    }
    return array;
}

static void add_numbers(json_t *record, const struct point *point,
                        const struct measurement *measurement, const struct interval *interval,
                        double precision_rel)
{
    const struct round_result *result = &measurement->last;
    json_object_set_new(record, "throughput_ips",
                        json_real(statistics_mean(measurement->throughputs, measurement->rounds)));
    json_object_set_new(record, "ci95_rel", record_real_or_null(interval->half_rel));
    json_object_set_new(record, "rounds", rounds_array(measurement));
    json_object_set_new(record, "iterations", json_integer((json_int_t)result->iterations));
    /* The throughput of an open loop is the one that is offered: more of it is not surer. */
    record_add_precision(record, point, measurement, interval,
                         point_is_open(point) ? INFINITY : precision_rel);
    json_object_set_new(
        record, "latency_us",
        record_latency(&result->latency, measurement->percentiles, measurement->rounds));
    record_add_time(record, point, result);
    record_add_requests(record, point, measurement);
    record_add_observed(record, point, result);
    if (point->work.iterations)
        json_object_set_new(record, "fixed",
                            record_fixed(point, measurement->fixed, measurement->rounds));
    json_object_set_new(record, "fairness_jain", json_real(result->fairness));
    json_object_set_new(record, "start_skew_us", json_real(result->skew_us));
    json_object_set_new(record, "per_worker", workers_array(point, result));
    record_add_mix(record, point, result);
    json_object_set_new(record, "attached",
                        json_pack("{s:i, s:i}", "expected", (int)result->attached_expected, "seen",
                                  (int)result->attached_seen));
    if (result->other_clients)
        json_object_set_new(record, "other_clients", json_integer((int)result->other_clients));
    /* What a program's context was given is not known. */
    if (!point_is_program(point))
        json_object_set_new(record, "sms", json_integer(result->sms));
    if (point_has_shares(point))
        json_object_set_new(record, "clients", clients_array(point, result));
    json_object_set_new(record, "ready_s", json_real(result->ready_s));
    if (result->ready_cpu_s > 0.0)
        json_object_set_new(record, "ready_cpu_s", json_real(result->ready_cpu_s));
    json_t *telemetry = record_telemetry(&result->telemetry);
    if (telemetry)
        json_object_set_new(record, "telemetry", telemetry);
    record_add_per_gpu(record, point, result);
    if (point_gpus(point) == 1)
        warn_telemetry(warnings_of(record), &result->telemetry);
    if (point_is_program(point))
        warn_starved(warnings_of(record), point, &result->cpu);
    else
        warn_cores(warnings_of(record), point, &result->cores);
    record_add_numa(record, &result->numa);
    if (point_gpus(point) == 1)
        warn_numa(warnings_of(record), &result->numa);
    warn_leaks(record, point, result);
    if (result->reused)
        json_object_set_new(record, "reused", json_true());
    if (result->openmp_threads)
        json_object_set_new(record, "omp_num_threads", json_integer((int)result->openmp_threads));
    if (result->idle_processes)
        json_object_set_new(record, "idle_processes", json_integer((int)result->idle_processes));
}

json_t *record_point(const struct point *point, const struct measurement *measurement,
                     double precision_rel)
{
    struct interval interval;
    measurement_interval(measurement, &interval);
    const char *status =
        status_word(measurement, measurement_converged(point, measurement, precision_rel));
    json_t *record =
        json_pack("{s:s, s:i, s:s, s:b, s:i, s:i, s:i, s:i}", "type", "point", "id", (int)point->id,
                  "layout", layout_name(point->layout), "mps", (int)point_over_mps(point),
                  "processes", (int)point->processes, "threads", (int)point->threads, "workers",
                  (int)point_workers(point), "in_flight", (int)point_workers(point));
    if (!record)
        return NULL;
    record_add_settings(record, point);
    if (point->section)
        json_object_set_new(record, "section", json_string(point->section));
    json_object_set_new(record, "status", json_string(status));
    record_add_rate(record, point, measurement);
    if (measurement->status == STATUS_OK)
        add_numbers(record, point, measurement, &interval, precision_rel);
    json_object_set_new(record, "error",
                        measurement->status == STATUS_OK ? json_null()
                                                         : json_text(measurement->last.error));
    json_object_set_new(record, "cuda_error", json_integer(measurement->last.cuda_error));
    record_add_failed_gpus(record, point, &measurement->last);
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

json_t *record_untried(const struct point *point, const char *why)
{
    struct measurement untried = {.status = STATUS_INFEASIBLE};
    snprintf(untried.last.error, sizeof untried.last.error, "%s", why);
    return record_point(point, &untried, 0.0);
}

json_t *record_planned(const struct point *point, json_t *beyond)
{
    const struct measurement untried = {.status = STATUS_INFEASIBLE};
    json_t *record = beyond ? json_copy(beyond) : record_point(point, &untried, 0.0);
    if (!record)
        return NULL;
    json_object_set_new(record, "type", json_string("planned"));
    json_object_del(record, "cuda_error");
    json_object_del(record, "seconds");
    if (beyond)
        return record;
    json_object_set_new(record, "status", json_string("planned"));
    json_object_del(record, "error");
    return record;
}
