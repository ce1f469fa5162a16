#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "statistics/statistics.h"
#include "orchestrator/round/internal.h"
#include "orchestrator/round/openloop.h"

static double mean_us(const struct histogram *histogram)
{
    return histogram->count ? histogram_mean_ns(histogram) / 1e3 : NAN;
}

void round_add_cpu(struct shm_cpu *into, const struct shm_cpu *from)
{
    into->wall_ns += from->wall_ns;
    into->cpu_ns += from->cpu_ns;
    into->delay_ns += from->delay_ns;
    into->voluntary += from->voluntary;
    into->involuntary += from->involuntary;
    into->iterations += from->iterations;
    into->process_wall_ns += from->process_wall_ns;
    into->process_cpu_ns += from->process_cpu_ns;
}

static void add_requests(struct round_requests *into, uint64_t errors, uint64_t wrong_answers,
                         const char first[128], const struct histogram *first_byte)
{
    if (round_failed_requests(into) == 0)
        memcpy(into->first, first, sizeof into->first);
    into->errors += errors;
    into->wrong_answers += wrong_answers;
    histogram_merge(&into->first_byte, first_byte);
}

void round_add_requests(struct round_requests *into, const struct round_requests *from)
{
    add_requests(into, from->errors, from->wrong_answers, from->first, &from->first_byte);
}

static void collect_worker(const struct round *round, unsigned number, double steady_s,
                           double *iterations)
{
    struct round_result *result = round->result;
    struct shm_slot *slot = round_slot(round, number);
    struct round_worker *worker = &result->workers[number];
    /* What a plug-in copies, it copies within its own iterate. */
    bool copies = round->point->work.workload != WORKLOAD_PLUGIN;
    *iterations =
        window_iterations(&round->shm, slot, result->window.steady_slice, round->slices, NULL);
    *worker = (struct round_worker){
        .process = round_process_of(round, number),
        .thread = number % point_slots(round->point) / point_streams(round->point),
        .stream = number % point_streams(round->point),
        .ips = *iterations / steady_s,
        .p50_us = histogram_quantile_ns(&slot->latency, 0.5) / 1e3,
        .p99_us = histogram_quantile_ns(&slot->latency, 0.99) / 1e3,
        .h2d_us = copies ? mean_us(&slot->h2d) : NAN,
        .launch_us = mean_us(&slot->launch),
        .sync_us = mean_us(&slot->sync),
        .d2h_us = copies ? mean_us(&slot->d2h) : NAN,
        .cpu = slot->cpu,
    };
    bind_cpus_text(slot->cpus, worker->cpus, sizeof worker->cpus);
    memcpy(worker->multiprocessors, slot->multiprocessors, sizeof worker->multiprocessors);
    round_numa_text(round->session, slot, worker->numa, sizeof worker->numa);
    double skew_us = (double)slot->skew_ns / 1e3;
    if (skew_us > result->skew_us)
        result->skew_us = skew_us;
    result->iterations += slot->iterations;
    openloop_collect(&result->open, slot);
    if (point_is_server(round->point))
        add_requests(&result->requests, slot->errors, slot->wrong_answers, slot->bad,
                     &slot->first_byte);
    histogram_merge(&result->latency, &slot->latency);
    if (copies)
        histogram_merge(&result->phases.h2d, &slot->h2d);
    histogram_merge(&result->phases.launch, &slot->launch);
    histogram_merge(&result->phases.sync, &slot->sync);
    if (copies)
        histogram_merge(&result->phases.d2h, &slot->d2h);
    histogram_merge(&result->phases.launch_call, &slot->launch_call);
    round_add_cpu(&result->cpu, &slot->cpu);
}

static void collect_processes(const struct round *round)
{
    for (unsigned p = 0; p < point_processes(round->point); p++) {
        struct shm_process *process = shm_process_at(&round->shm, p);
        round->result->processes[p] = (struct round_process){
            .sms = atomic_load(&process->sms),
            .memory_free = atomic_load(&process->memory_free),
            .kept_device = atomic_load(&process->kept_device),
            .kept_host = atomic_load(&process->kept_host),
        };
    }
    round->result->sms = round->result->processes[0].sms;
}

/* What the workers on each of several GPUs did, and from theirs the telemetry of all. */
static enum status collect_gpus(const struct round *round, const double *iterations,
                                double steady_s)
{
    const struct point *point = round->point;
    struct round_result *result = round->result;
    unsigned count = point_gpus(point);
    if (count == 1)
        return STATUS_OK;
    struct round_gpu *gpus = calloc(count, sizeof *gpus);
    if (!gpus)
        return status_set(STATUS_MEMORY, "out of memory for the results");
    for (unsigned i = 0; i < point_workers(point); i++) {
        const struct shm_slot *slot = round_slot(round, i);
        struct round_gpu *gpu = &gpus[point_gpu_of(point, round_process_of(round, i))];
        gpu->throughput_ips += iterations[i] / steady_s;
        histogram_merge(&gpu->latency, &slot->latency);
        for (size_t word = 0; word < BIND_WORDS; word++)
            gpu->cpus[word] |= slot->cpus[word];
    }
    result->telemetry = (struct telemetry_window){0};
    for (unsigned i = 0; i < count; i++) {
        memcpy(gpus[i].uuid, gpu_at(round->session->gpus, i)->uuid, sizeof gpus[i].uuid);
        telemetry_collect(round->session->telemetry, i, gpus[i].throughput_ips * result->window_s,
                          &gpus[i].telemetry);
        gpus[i].numa = round_numa(round->session, &round->shm, i, count);
        if (i == 0)
            result->telemetry = gpus[i].telemetry;
        else
            telemetry_window_merge(&result->telemetry, &gpus[i].telemetry);
    }
    result->gpus = gpus;
    result->gpu_count = count;
    return STATUS_OK;
}

/* Whether there is anything in the window to report. */
static enum status check_iterations(const struct round *round)
{
    const struct round_result *result = round->result;
    const struct round_requests *requests = &result->requests;
    if (result->iterations > 0 || round->limits->needs_no_window)
        return STATUS_OK;
    if (round_failed_requests(requests) > 0)
        return status_set(STATUS_WORKER, "no request had a good answer; the first: %s",
                          requests->first);
    return status_set(STATUS_WORKER,
                      "no iteration began within the window of %.3g s: give a longer --duration%s",
                      result->window_s,
                      point_is_open(round->point) ? " and --max-duration, or a higher --rate" : "");
}

/* Of the workers; but in an open loop whichever stream of a program's thread is free takes a start,
 * so that threads are compared. */
static double fairness_of(const struct point *point, const double *iterations)
{
    unsigned workers = point_workers(point), streams = point_streams(point);
    double threads[LAYOUT_MOST_WORKERS] = {0};
    if (!point_is_program(point) || !point_is_open(point) || streams == 1)
        return statistics_jain(iterations, workers);
    for (unsigned i = 0; i < workers; i++)
        threads[i / streams] += iterations[i];
    return statistics_jain(threads, workers / streams);
}

enum status round_collect(const struct round *round)
{
    struct round_result *result = round->result;
    const struct point *point = round->point;
    unsigned workers = point_workers(point);
    if (round->slices == 0 && round->limits->needs_no_window)
        return STATUS_OK;
    if (round->slices == 0 && point->work.iterations)
        return status_set(STATUS_WORKER, "the workers were never at work at the same time: give "
                                         "more --iterations");
    if (round->slices == 0)
        return status_set(STATUS_WORKER, "the window was empty: give a longer --duration");
    double slice_s = (double)round->shm.header->settings.slice_ns / (double)NS_PER_S;
    window_judge(&round->shm, round->slices, &result->window);
    /* In an open loop throughput is as even as what is offered. */
    if (point_is_open(point))
        result->window = (struct window){
            .settled = true, .interval = result->window.interval, .stall = result->window.stall};
    double steady_s = (double)(round->slices - result->window.steady_slice) * slice_s;
    double sum = 0.0, *iterations = calloc(workers, sizeof *iterations);
    result->window_s = (double)round->slices * slice_s;
    result->steady_from_s = result->window_s - steady_s;
    result->workers = calloc(workers, sizeof *result->workers);
    result->processes = calloc(point_processes(point), sizeof *result->processes);
    enum status status = STATUS_OK;
    if (!iterations || !result->workers || !result->processes) {
        status = status_set(STATUS_MEMORY, "out of memory for the results");
        goto out;
    }
    for (unsigned i = 0; i < workers; i++) {
        collect_worker(round, i, steady_s, &iterations[i]);
        sum += iterations[i];
    }
    percentiles_of(&result->latency, &round->blocks, &result->percentiles);
    result->throughput_ips = sum / steady_s;
    result->ci95_rel =
        interval_reported(result->window.interval.half_rel, round->goal_rel, round->grew);
    result->fairness = fairness_of(point, iterations);
    status = round_collect_mix(round, iterations, steady_s);
    if (status == STATUS_OK)
        status = collect_gpus(round, iterations, steady_s);
    if (status != STATUS_OK)
        goto out;
    collect_processes(round);
    if (point_is_program(round->point))
        round_program_observed(round);
    if (point_gpus(point) == 1)
        telemetry_collect(round->session->telemetry, 0, result->throughput_ips * result->window_s,
                          &result->telemetry);
    result->cores = round_cores(round->session, point);
    result->numa = round_numa(round->session, &round->shm, 0, 1);
    openloop_judge(&result->open, point, result->window_s);
    status =
        point->work.iterations ? round_collect_fixed(&round->shm, result) : check_iterations(round);
out:
    free(iterations);
    return status;
}
