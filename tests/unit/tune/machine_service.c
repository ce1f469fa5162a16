#include "tests/unit/tune/machine_service.h"

#include "tests/unit/tune/chance.h"
#include "tests/unit/tune/machine.h"

static void service_make(unsigned seed, unsigned workload, struct tune_truth *out)
{
    static const struct {
        double host_low, host_high, gpu_low, gpu_high, fills_low, fills_high;
        double held_low, held_high, hinder_low, hinder_high;
    } works[TUNE_WORKLOADS] = {
        /* an interpreter that launches many kernels; one that waits for large ones; no interpreter
         */
        {2e-3, 40e-3, 0.2e-3, 4e-3, 0.05, 0.5, 0.5, 1.0, 0.1, 0.6},
        {0.5e-3, 5e-3, 2e-3, 60e-3, 0.1, 0.9, 0.3, 1.0, 0.05, 0.3},
        {0.1e-3, 5e-3, 0.2e-3, 20e-3, 0.02, 0.6, 0.02, 0.4, 0.01, 0.1},
    };
    static const unsigned cpus[] = {4, 8, 16, 16, 32, 64};
    uint64_t random = UINT64_C(0x5e41ce) + seed * TUNE_WORKLOADS + workload;
    random_next(&random);
    unsigned count = cpus[random_next(&random) % 6];
    struct tune_service service = {
        .cpus = count,
        .host_s = chance_between(&random, works[workload].host_low, works[workload].host_high),
        .gpu_s = chance_between(&random, works[workload].gpu_low, works[workload].gpu_high),
        .spins = chance_happens(&random, 0.6),
        .threads_most = chance_happens(&random, 0.5) ? 1 : 1024,
        .held = chance_between(&random, works[workload].held_low, works[workload].held_high),
        .hinder = chance_between(&random, works[workload].hinder_low, works[workload].hinder_high),
        .waste = chance_between(&random, 0.05, 0.6),
        .crowd = chance_between(&random, 0.001, 0.02),
        .slice_s = chance_between(&random, 0.1e-3, 2e-3),
        .clients = chance_happens(&random, 0.3) ? chance_between(&random, 6, 40) : 48,
        .unbound = chance_between(&random, 0.001, 0.05),
        .softness = chance_between(&random, 3.0, 8.0),
        .between = chance_between(&random, 0.003, 0.02),
        .within = chance_between(&random, 0.02, 0.3),
        .slow_sets = chance_happens(&random, 0.3) ? 0.2 : 0.0,
        .slow_by = chance_between(&random, 0.03, 0.1),
    };
    service.work_s = service.gpu_s *
                     chance_between(&random, works[workload].fills_low, works[workload].fills_high);
    /* As trainings, generators of text and services in Python did on H200s with 16 CPUs. */
    struct tune_costs costs = {.point_s = 0.3,
                               .start_s = chance_between(&random, 1.0, 20.0),
                               .process_s = chance_between(&random, 0.02, 0.1)};
    costs.load_s = costs.start_s * chance_between(&random, 0.6, 1.4) / count;
    /* What a program or its command shows of its threads is mostly true. */
    bool ignores = chance_happens(&random, service.threads_most == 1 ? 0.8 : 0.1);
    *out = (struct tune_truth){.cpus = count,
                               .costs = costs,
                               .cold = chance_between(&random, 1.0, 1.4),
                               .may_ignore_threads = ignores,
                               .service = service};
}

static double service_ips(const struct tune_truth *machine, const struct point *point)
{
    const struct tune_service *service = &machine->service;
    bool mps = point_over_mps(point);
    double P = point->processes, T = point->threads, workers = P * T;
    if (P > service->clients || point->threads > service->threads_most)
        return 0.0;
    double host_s = service->host_s * (1.0 + service->hinder * log2(T));
    double alone_s = host_s + service->gpu_s;
    double rates[] = {
        workers / alone_s,
        P / (service->held * host_s),
        1.0 / service->work_s,
        service->spins ? INFINITY : service->cpus / host_s,
        mps || P == 1.0 ? INFINITY : 1.0 / (service->gpu_s + service->slice_s),
    };
    double sum = 0.0;
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
        sum += pow(rates[i], -service->softness);
    double ips = pow(sum, -1.0 / service->softness);
    /* Workers that wait awake have a CPU each until there are none left. */
    if (service->spins)
        ips = fmin(ips, service->cpus / alone_s);
    double busy = service->spins ? workers : ips * host_s;
    if (busy > service->cpus)
        ips /= 1.0 + service->waste * log2(busy / service->cpus);
    ips /= 1.0 + service->crowd * (P - 1.0);
    if (point->active_thread_percentage.count)
        ips = fmin(ips * 0.97,
                   P * (double)point->active_thread_percentage.values[0] / 100.0 / service->work_s);
    return point->bind == BIND_NONE ? ips / (1.0 + service->unbound) : ips;
}

static double service_p99_us(const struct tune_truth *machine, const struct point *point)
{
    double ips = service_ips(machine, point);
    return ips > 0.0 ? 1.3e6 * point_workers(point) / ips : 0.0;
}

static double service_cpus(const struct tune_truth *machine, const struct point *point)
{
    const struct tune_service *service = &machine->service;
    double workers = (double)point->processes * point->threads;
    double host_s = service->host_s * (1.0 + service->hinder * log2(point->threads));
    double busy = service->spins ? workers : service_ips(machine, point) * host_s;
    return fmin(busy, service->cpus);
}

static void service_look(const struct tune_truth *machine, const struct point *point,
                         double window_s, uint64_t set, uint64_t *random,
                         struct tune_observation *out)
{
    const struct tune_service *service = &machine->service;
    double ips = service_ips(machine, point);
    uint64_t of_set = UINT64_C(0x5e7) + set;
    bool slow = chance_uniform(&of_set) < service->slow_sets;
    *out = (struct tune_observation){.outcome = ips > 0.0 ? TUNE_MEASURED : TUNE_FAILED};
    out->unready = ips <= 0.0;
    out->threads = point->threads > service->threads_most ? service->threads_most : 0;
    if (ips <= 0.0)
        return;
    double noise = hypot(service->within / sqrt(fmax(1.0, ips * window_s)), 0.003);
    double shift = service->between * chance_normal(&of_set);
    out->ips = out->value =
        ips * exp(shift - slow * service->slow_by + noise * chance_normal(random));
    double half = hypot(1.96 * noise, 0.01);
    out->low = out->value * (1.0 - half);
    out->high = out->value * (1.0 + half);
    double samples = ips * window_s, wide = 0.5 / sqrt(fmax(samples, 1.0) * 0.01);
    out->p99_us = service_p99_us(machine, point) * exp(0.3 * wide * chance_normal(random));
    out->cpus = service_cpus(machine, point) * (1.0 + 0.003 * chance_normal(random));
    out->p99_low_us = samples > 100.0 ? out->p99_us * exp(-wide) : 0.0;
    out->p99_high_us = samples > 368.0 ? out->p99_us * exp(wide) : 0.0;
}

const struct tune_family tune_family_service = {
    .name = "services",
    .program = true,
    .make = service_make,
    .ips = service_ips,
    .p99_us = service_p99_us,
    .cpus = service_cpus,
    .look = service_look,
};
