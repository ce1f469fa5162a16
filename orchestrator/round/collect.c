#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/clock.h"
#include "statistics/statistics.h"
#include "orchestrator/round/mix.h"
#include "orchestrator/round/fixed.h"
#include "orchestrator/round/per_gpu.h"
#include "orchestrator/record/time.h"
#include "orchestrator/round/internal.h"

static double slot_units(const struct shm_slot *slot, uint64_t first, uint64_t last)
{
    uint64_t units = 0;
    for (uint64_t i = first; i < last; i++)
        units += atomic_load_explicit(&slot->slices[i], memory_order_relaxed);
    return (double)units / (double)SHM_ITERATION_UNITS;
}

uint64_t collect_slices_done(const struct shm *shm)
{
    uint64_t least = UINT64_MAX;
    for (unsigned p = 0; p < shm->header->processes; p++) {
        for (unsigned t = 0; t < shm->header->threads; t++) {
            const struct shm_slot *slot = shm_slot_at(shm, p, t);
            uint64_t end = atomic_load_explicit(&slot->last_end_ns, memory_order_relaxed);
            if (end < least)
                least = end;
        }
    }
    const struct shm_settings *settings = &shm->header->settings;
    if (least <= settings->warmup_ns)
        return 0;
    uint64_t slices = (least - settings->warmup_ns) / settings->slice_ns;
    return slices < SHM_SLICES ? slices : SHM_SLICES;
}

static double mean_us(const struct histogram *histogram)
{
    return histogram->count ? histogram_mean_ns(histogram) / 1e3 : NAN;
}

static void collect_worker(const struct round *round, unsigned process, unsigned thread,
                           double steady_s, double *iterations)
{
    struct round_result *result = round->result;
    struct shm_slot *slot = shm_slot_at(&round->shm, process, thread);
    struct round_worker *worker = &result->workers[process * round->point->threads + thread];
    /* What a plug-in copies, it copies within its own iterate. */
    bool copies = round->point->work.workload != WORKLOAD_PLUGIN;
    *iterations = slot_units(slot, result->window.steady_slice, round->slices);
    *worker = (struct round_worker){
        .process = process,
        .thread = thread,
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
    numa_text(round->session, slot, worker->numa, sizeof worker->numa);
    double skew_us = (double)slot->skew_ns / 1e3;
    if (skew_us > result->skew_us)
        result->skew_us = skew_us;
    result->iterations += slot->iterations;
    openloop_collect(&result->open, slot);
    histogram_merge(&result->latency, &slot->latency);
    if (copies)
        histogram_merge(&result->h2d, &slot->h2d);
    histogram_merge(&result->launch, &slot->launch);
    histogram_merge(&result->sync, &slot->sync);
    if (copies)
        histogram_merge(&result->d2h, &slot->d2h);
    histogram_merge(&result->launch_call, &slot->launch_call);
    record_time_merge_cpu(&result->cpu, &slot->cpu);
}

enum status collect_result(const struct round *round)
{
    struct round_result *result = round->result;
    unsigned workers = point_workers(round->point);
    if (round->slices == 0 && round->limits->needs_no_window)
        return STATUS_OK;
    if (round->slices == 0 && round->point->work.iterations)
        return status_set(STATUS_WORKER, "the workers were never at work at the same time: give "
                                         "more --iterations");
    if (round->slices == 0)
        return status_set(STATUS_WORKER, "the window was empty: give a longer --duration");
    double slice_s = (double)round->shm.header->settings.slice_ns / (double)NS_PER_S;
    double window_s = (double)round->slices * slice_s;
    window_judge(&round->shm, round->slices, &result->window);
    /* In an open loop throughput is as even as what is offered. */
    if (point_is_open(round->point))
        result->window = (struct window){.settled = true, .interval = result->window.interval};
    double steady_s = (double)(round->slices - result->window.steady_slice) * slice_s;
    double *iterations = calloc(workers, sizeof *iterations);
    result->workers = calloc(workers, sizeof *result->workers);
    result->processes = calloc(point_processes(round->point), sizeof *result->processes);
    if (!iterations || !result->workers || !result->processes) {
        free(iterations);
        return status_set(STATUS_MEMORY, "out of memory for the results");
    }
    double sum = 0.0;
    for (unsigned i = 0; i < workers; i++) {
        unsigned threads = round->point->threads;
        collect_worker(round, i / threads, i % threads, steady_s, &iterations[i]);
        sum += iterations[i];
    }
    enum status status = described_collect(round, iterations, steady_s);
    if (status != STATUS_OK) {
        free(iterations);
        return status;
    }
    result->window_s = window_s;
    status = per_gpu_collect(round, iterations, steady_s);
    if (status != STATUS_OK) {
        free(iterations);
        return status;
    }
    result->steady_from_s = window_s - steady_s;
    result->throughput_ips = sum / steady_s;
    result->ci95_rel = result->window.interval.half_rel;
    result->fairness = statistics_jain(iterations, workers);
    for (unsigned p = 0; p < point_processes(round->point); p++) {
        struct shm_process *process = shm_process_at(&round->shm, p);
        result->processes[p].sms = atomic_load(&process->sms);
        result->processes[p].memory_free = atomic_load(&process->memory_free);
        result->processes[p].kept_device = atomic_load(&process->kept_device);
        result->processes[p].kept_host = atomic_load(&process->kept_host);
    }
    result->sms = result->processes[0].sms;
    if (point_gpus(round->point) == 1)
        telemetry_collect(round->session->telemetry, 0, result->throughput_ips * window_s,
                          &result->telemetry);
    result->cores = cores_of(round->session, round->point);
    result->numa = numa_of(round->session, &round->shm, 0, 1);
    free(iterations);
    openloop_judge(&result->open, round->point, window_s);
    if (round->point->work.iterations)
        return fixed_collect(&round->shm, result);
    if (result->iterations == 0 && round->limits->needs_no_window)
        return STATUS_OK;
    if (result->iterations == 0 && point_is_open(round->point))
        return status_set(STATUS_WORKER,
                          "no iteration began within the window of %.3g s: give a longer "
                          "--duration and --max-duration, or a higher --rate",
                          window_s);
    if (result->iterations == 0)
        return status_set(
            STATUS_WORKER,
            "no iteration ended within the window of %.3g s: give a longer --duration", window_s);
    return STATUS_OK;
}
