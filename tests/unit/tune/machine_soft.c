#include "tests/unit/tune/machine_soft.h"

#include "tests/unit/tune/chance.h"
#include "tests/unit/tune/machine.h"

/* As in tune.c, on an H200. */
static const struct tune_costs soft_costs = {.point_s = 0.15, .start_s = 0.3, .process_s = 0.1};

static void soft_make(unsigned seed, unsigned workload, struct tune_truth *out)
{
    static const struct {
        double kernels, kernel_us_low, kernel_us_high, mib_low, mib_high, share_low, share_high;
    } works[TUNE_WORKLOADS] = {
        {220, 8, 20, 0.5, 3, 0.005, 0.03}, /* many small kernels */
        {20, 50, 400, 1, 8, 0.05, 0.4},    /* few that fill a part of the GPU */
        {5, 20, 100, 16, 64, 0.05, 0.2},   /* copies */
    };
    static const unsigned cpus[] = {8, 12, 16, 24, 32, 64};
    uint64_t random = UINT64_C(0x1234567) + seed;
    struct tune_soft truth = {
        .cpus = cpus[random_next(&random) % 6],
        .sms = 40 + (unsigned)(random_next(&random) % 100),
        .clients = random_next(&random) % 2 ? 48 : 16,
        .launch_s = chance_between(&random, 0.7e-6, 3e-6),
        .front_s = chance_between(&random, 0.3e-6, 2e-6),
        .graph_launch_s = chance_between(&random, 3e-6, 12e-6),
        .graph_node_s = chance_between(&random, 0.1e-6, 0.4e-6),
        .lock = chance_between(&random, 0.002, 0.03),
        .convoy = chance_between(&random, 0.002, 0.03),
        .spin_waste = chance_between(&random, 0.2, 1.5),
        .interference = chance_between(&random, 0.02, 0.3),
        .many_processes = chance_between(&random, 0.0005, 0.01),
        .block_wake_s = chance_between(&random, 3e-6, 50e-6),
        .unbound = chance_between(&random, 0.005, 0.08),
        .capped = chance_between(&random, 0.01, 0.15) * (random_next(&random) % 2 ? 1.0 : -0.3),
        .softness = chance_between(&random, 3.0, 8.0),
        .between = chance_between(&random, 0.002, 0.015),
        .within = chance_between(&random, 0.005, 0.03),
        .memory_bytes = chance_between(&random, 3e8, 6e8),
    };
    uint64_t more = UINT64_C(0x7654321) + seed;
    truth.polling = chance_between(&more, 0.5, 1.5);
    truth.query_s = chance_between(&more, 0.1e-6, 1e-6);
    double pcie = chance_between(&random, 10e9, 55e9);
    truth.queues_budget = truth.clients * 2 + 32;
    random += workload * UINT64_C(0x9876543);
    double kernels = works[workload].kernels;
    double kernel_s = 1e-6 * chance_between(&random, works[workload].kernel_us_low,
                                            works[workload].kernel_us_high);
    double bytes =
        1048576.0 * chance_between(&random, works[workload].mib_low, works[workload].mib_high);
    double share = chance_between(&random, works[workload].share_low, works[workload].share_high);
    truth.copy_s = bytes / pcie;
    truth.staging_s = bytes / chance_between(&random, 4e9, 9e9);
    truth.alone_s = kernels * fmax(kernel_s, truth.launch_s) + 2.0 * truth.copy_s + 30e-6;
    truth.graph_alone_s = kernels * kernel_s * 0.95 + 2.0 * truth.copy_s + 30e-6;
    truth.work_s = kernels * kernel_s * share;
    truth.launch_s *= kernels;
    truth.front_s *= kernels;
    truth.graph_node_s *= kernels;
    truth.cpu_s = truth.launch_s + 20e-6;
    truth.graph_cpu_s = 40e-6;
    *out = (struct tune_truth){.cpus = truth.cpus, .costs = soft_costs, .soft = truth};
}

/* Ceilings that are near each other hold each other up. */
static double soft_minimum(const double *rates, size_t count, double softness)
{
    double sum = 0.0;
    for (size_t i = 0; i < count; i++)
        sum += pow(rates[i], -softness);
    return pow(sum, -1.0 / softness);
}

/* For how long an iteration keeps a thread from its other streams: its launches and looks at all of
 * them; what the driver copies by itself, or in a graph of pageable memory the whole iteration. */
static double serial_s(const struct tune_soft *truth, const struct point *point)
{
    bool graph = point->work.launch == LAUNCH_GRAPH;
    double seconds = truth->polling * (graph ? truth->graph_cpu_s : truth->cpu_s) +
                     truth->query_s * point_streams(point);
    if (point->work.memory != MEMORY_PAGEABLE)
        return seconds;
    return graph ? truth->graph_alone_s : seconds + 2.0 * truth->staging_s;
}

static double soft_ips(const struct tune_truth *machine, const struct point *point)
{
    const struct tune_soft *truth = &machine->soft;
    bool mps = point_over_mps(point), graph = point->work.launch == LAUNCH_GRAPH;
    bool pageable = point->work.memory == MEMORY_PAGEABLE;
    bool asleep = point->work.schedule == SCHEDULE_BLOCK;
    double P = point->processes, T = point->threads, slots = point_slots(point);
    double queues = point_connections(point), workers = P * T;
    bool polls = point_streams(point) > 1;
    if (mps && (P > truth->clients || P * queues > truth->queues_budget))
        return 0.0;
    double turns = mps ? 1.0 : P; /* that processes take */
    double at_work = graph ? slots : fmin(slots, queues);
    double alone = graph ? truth->graph_alone_s : truth->alone_s;
    if (asleep)
        alone += truth->block_wake_s;
    if (pageable)
        alone += 2.0 * truth->staging_s + (point->work.sync == SYNC_NONE ? 0.0 : 10e-6);
    /* Threads of a process meet at its lock, and more so when launches queue up. */
    alone *= 1.0 + truth->lock * (fmin(at_work, T) - 1.0) * (graph ? 0.1 : 1.0);
    if (!graph && T > queues)
        alone *= 1.0 + truth->convoy * (T - queues);
    double together = mps ? P : 1.0;
    double rates[9];
    size_t count = 0;
    rates[count++] = together * at_work / alone;
    rates[count++] = together / (graph ? truth->graph_launch_s : truth->launch_s);
    rates[count++] = 1.0 / (graph ? truth->graph_node_s : truth->front_s);
    rates[count++] = 1.0 / truth->work_s;
    rates[count++] = 1.0 / truth->copy_s / (pageable ? 1.3 : 1.0);
    rates[count++] = truth->cpus / (graph ? truth->graph_cpu_s : truth->cpu_s);
    if (polls)
        rates[count++] = together * T / serial_s(truth, point);
    if (pageable)
        rates[count++] = together / (2.0 * truth->staging_s);
    double ips = soft_minimum(rates, count, truth->softness);
    /* Streams that end while their thread sleeps for another one wait for it. */
    if (asleep && polls)
        ips /= 1.5;
    /* Those that wait awake take the CPUs from each other. */
    if (!asleep && workers / turns > truth->cpus)
        ips /= 1.0 + truth->spin_waste * (workers / turns / truth->cpus - 1.0);
    /* Work of different workers disturbs each other in caches; clients cost the server. */
    ips /= 1.0 + truth->interference * (1.0 - exp(-together * at_work / 32.0));
    if (mps)
        ips /= 1.0 + truth->many_processes * P;
    else
        ips /= 1.0 + 0.05 * (turns - 1.0);
    if (point->active_thread_percentage.count) {
        double cap = (double)point->active_thread_percentage.values[0] / 100.0;
        ips = fmin(ips * (1.0 + truth->capped), P * cap / truth->work_s);
    }
    if (point->bind == BIND_NONE)
        ips /= 1.0 + truth->unbound;
    return ips;
}

static double soft_p99_us(const struct tune_truth *machine, const struct point *point)
{
    const struct tune_soft *truth = &machine->soft;
    double ips = soft_ips(machine, point);
    double mean_us = ips > 0.0 ? 1e6 * point_workers(point) / ips : 0.0;
    double busy = ips * truth->work_s;
    return mean_us * (1.1 + 0.5 * busy + (point_over_mps(point) ? 0.0 : 0.3));
}

static double soft_cpus(const struct tune_truth *machine, const struct point *point)
{
    const struct tune_soft *truth = &machine->soft;
    bool graph = point->work.launch == LAUNCH_GRAPH;
    double threads = (double)point->processes * point->threads;
    double busy = soft_ips(machine, point) * (graph ? truth->graph_cpu_s : truth->cpu_s);
    return fmin(point->work.schedule == SCHEDULE_BLOCK ? busy : threads, truth->cpus);
}

static double off(uint64_t *random, double value)
{
    return value * exp(0.05 * chance_normal(random));
}

static void soft_calibrate(const struct tune_truth *machine, unsigned seed,
                           const struct point *like, struct calibration *out)
{
    const struct tune_soft *truth = &machine->soft;
    uint64_t random = UINT64_C(0xabcdef) + seed;
    double kernels = like->work.kernels, bytes = (double)like->work.bytes;
    *out = (struct calibration){
        .single_stream_ips = off(&random, 1.0 / truth->alone_s),
        .single_graph_ips = off(&random, 1.0 / truth->graph_alone_s),
        .single_pageable_ips = off(&random, 1.0 / (truth->alone_s + 2.0 * truth->staging_s)),
        .single_stream_cpu_us = off(&random, 1e6 * truth->cpu_s),
        .single_graph_cpu_us = off(&random, 1e6 * truth->graph_cpu_s),
        .process_launches_per_s = off(&random, kernels / truth->launch_s),
        .gpu_launches_per_s = off(&random, kernels / truth->front_s),
        .graph_kernels_per_s = off(&random, kernels / truth->graph_node_s),
        .process_graphs_per_s = off(&random, 1.0 / truth->graph_launch_s),
        .arithmetic_ips = off(&random, 1.0 / truth->work_s),
        .h2d_bytes_per_s = off(&random, bytes / truth->copy_s),
        .d2h_bytes_per_s = off(&random, bytes / truth->copy_s),
        .both_bytes_per_s = off(&random, bytes / truth->copy_s),
        .pageable_bytes_per_s = off(&random, bytes / truth->staging_s),
        .process_unsynced_ips = off(&random, 0.5 / truth->staging_s),
        .process_pageable_graph_ips = off(&random, 0.5 / truth->staging_s),
        .cpus = truth->cpus,
        .sms = truth->sms,
    };
    out->work = like->work;
}

static void soft_look(const struct tune_truth *machine, const struct point *point, double window_s,
                      uint64_t set, uint64_t *random, struct tune_observation *out)
{
    const struct tune_soft *truth = &machine->soft;
    (void)set;
    double ips = soft_ips(machine, point);
    double p99 = soft_p99_us(machine, point);
    *out = (struct tune_observation){.outcome = ips > 0.0 ? TUNE_MEASURED : TUNE_INFEASIBLE};
    out->crowded = ips <= 0.0;
    if (ips <= 0.0)
        return;
    double noise = truth->within / sqrt(window_s);
    out->ips = out->value =
        ips * exp(truth->between * chance_normal(random) + noise * chance_normal(random));
    double half = hypot(1.96 * noise, 0.01);
    out->low = out->value * (1.0 - half);
    out->high = out->value * (1.0 + half);
    double samples = ips * window_s, wide = 0.5 / sqrt(fmax(samples, 1.0) * 0.01);
    out->p99_us =
        p99 * exp(0.3 * wide * chance_normal(random) + truth->between * chance_normal(random));
    out->cpus = soft_cpus(machine, point) * (1.0 + 0.003 * chance_normal(random));
    out->p99_low_us = samples > 100.0 ? out->p99_us * exp(-wide) : 0.0;
    out->p99_high_us = samples > 368.0 ? out->p99_us * exp(wide) : 0.0;
}

const struct tune_family tune_family_soft = {
    .name = "soft",
    .make = soft_make,
    .ips = soft_ips,
    .p99_us = soft_p99_us,
    .cpus = soft_cpus,
    .calibrate = soft_calibrate,
    .look = soft_look,
};
