#include "tests/unit/tune/machine_usl.h"

#include "tests/unit/tune/chance.h"
#include "tests/unit/tune/machine.h"

static struct usl_law draw_law(uint64_t *random, double contention_most, double coherency_most)
{
    return (struct usl_law){.contention = contention_most * chance_uniform(random),
                            .coherency = chance_between(random, 0.01, 1.0) * coherency_most};
}

static void draw_host(uint64_t *random, struct tune_usl *out)
{
    static const double cpus[] = {4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128};
    out->cpus = cpus[random_next(random) % 11];
    out->nodes = out->cpus >= 24 && chance_happens(random, 0.6)
                     ? (chance_happens(random, 0.3) ? 4.0 : 2.0)
                     : 1.0;
    out->far = 0.25 * chance_uniform(random);
    out->call_s = chance_between(random, 1.2e-6, 6e-6);
    out->query_s = chance_between(random, 0.2e-6, chance_happens(random, 0.25) ? 30e-6 : 3e-6);
    out->calls = draw_law(random, 0.9, 0.01);
    out->graph_calls = draw_law(random, 0.7, 0.004);
    out->staging = draw_law(random, 0.8, 0.01);
    out->wake_s = chance_between(random, 5e-6, 80e-6);
    out->wake_cpu_s = chance_between(random, 2e-6, 15e-6);
    out->quantum_s = chance_between(random, 50e-6, 3e-3);
    out->spinning = chance_between(random, 0.05, 1.0);
    out->looking = chance_happens(random, 0.5) ? 0.3 * chance_uniform(random) : 0.0;
    out->starving = chance_happens(random, 0.5) ? 0.5 * chance_uniform(random) : 0.0;
}

static void draw_gpu(uint64_t *random, struct tune_usl *out)
{
    static const double widths[] = {16, 32, 64, 128, 128};
    static const double depths[] = {1.0, 1.0, 1.5, 3.0};
    static const double gib[] = {8, 16, 24, 40, 80, 141};
    out->front_s = chance_between(random, 0.25e-6, 2.5e-6);
    out->gap_s = chance_between(random, 0.3e-6, 2e-6);
    out->crowd_gap_s = chance_between(random, 0.01e-6, 0.5e-6);
    out->sibling_gap_s = chance_happens(random, 0.5) ? chance_between(random, 2e-8, 6e-7) : 0.0;
    out->front = draw_law(random, 0.01, 0.0001);
    out->width = widths[random_next(random) % 5];
    out->whole = chance_happens(random, 0.5);
    out->thrash = chance_between(random, 0.01, 0.5);
    out->isolation = chance_happens(random, 0.6) ? 0.9 * chance_uniform(random) : -0.1;
    out->queue_depth = depths[random_next(random) % 4];
    out->convoy = chance_happens(random, 0.5) ? 0.4 * chance_uniform(random) : 0.0;
    out->bus = chance_between(random, 6e9, 60e9);
    out->one_engine = chance_happens(random, 0.2);
    out->staging_bus = chance_between(random, 2e9, 10e9);
    out->host_bus = chance_between(random, 15e9, 150e9);
    out->memory_bytes = 1073741824.0 * gib[random_next(random) % 6];
}

/* Of drivers and GPUs some make graphs much cheaper than launches, and some dearer. */
static void draw_graphs(uint64_t *random, struct tune_usl *out)
{
    static const struct {
        double until, node_us, node_us_most, gap, gap_most, call_us, call_us_most;
    } kinds[] = {
        {0.45, 0.1, 0.5, 0.3, 0.9, 4, 15},
        {0.75, 0.3, 1.2, 0.8, 1.2, 10, 60},
        {1.00, 1.0, 3.5, 1.0, 2.0, 30, 200},
    };
    static const double most[] = {2, 4, 8, 16, 32};
    size_t kind = 0;
    double which = chance_uniform(random);
    while (which > kinds[kind].until)
        kind++;
    out->node_s = 1e-6 * chance_between(random, kinds[kind].node_us, kinds[kind].node_us_most);
    out->graph_gap_s = out->gap_s * chance_between(random, kinds[kind].gap, kinds[kind].gap_most);
    out->graph_call_s =
        1e-6 * chance_between(random, kinds[kind].call_us, kinds[kind].call_us_most);
    out->graph_kernel_call_s =
        chance_happens(random, 0.4) ? chance_between(random, 2e-8, 4e-7) : 0.0;
    out->graphs_most = chance_happens(random, 0.35) ? most[random_next(random) % 5] : 1e9;
}

static void draw_sharing(uint64_t *random, struct tune_usl *out)
{
    static const double clients[] = {16, 48, 48, 60};
    out->clients = clients[random_next(random) % 4];
    out->queues_budget = out->clients * 2.0 + (chance_happens(random, 0.5) ? 0.0 : 64.0);
    out->context_bytes = chance_between(random, 150e6, 700e6);
    out->client_gap = chance_between(random, 0.001, 0.08);
    out->server = chance_between(random, 0.0002, 0.008);
    out->slice_s = chance_between(random, 0.5e-3, 4e-3);
    out->switch_s = chance_between(random, 30e-6, 400e-6);
    out->yields = chance_happens(random, 0.5);
    out->unsynced = chance_between(random, 0.1, 0.8);
    out->pageable_graph = chance_between(random, 0.3, 1.0);
    out->sharpness = chance_between(random, 1.5, 12.0);
    out->between = chance_between(random, 0.002, 0.012);
    out->slow_sets = chance_happens(random, 0.4) ? 0.3 * chance_uniform(random) : 0.0;
    out->slow_by = chance_between(random, 0.015, 0.08);
    out->within = chance_between(random, 0.003, 0.02);
    out->stalls = 0.06 * chance_uniform(random);
}

/* Iterations of 0.1 to 50 ms, alone: an average kernel is as long as that allows. */
static void draw_work(uint64_t *random, unsigned workload, struct usl_work *out)
{
    static const struct {
        double kernels_low, kernels_high, ms_low, ms_high, share_low, share_high, mib_low, mib_high;
    } rows[TUNE_WORKLOADS] = {
        {30, 1500, 0.3, 15, 0.004, 0.05, 0.01, 3}, /* many small kernels */
        {3, 60, 0.1, 50, 0.03, 0.6, 0.1, 8},       /* few that fill a part of the GPU */
        {2, 40, 0.1, 10, 0.01, 0.3, 4, 64},        /* copies */
    };
    out->kernels =
        round(chance_between(random, rows[workload].kernels_low, rows[workload].kernels_high));
    double ms = chance_between(random, rows[workload].ms_low, rows[workload].ms_high);
    out->kernel_s = fmax(1e-3 * ms / out->kernels, 2e-6);
    out->share = chance_between(random, rows[workload].share_low, rows[workload].share_high);
    double mib = chance_between(random, rows[workload].mib_low, rows[workload].mib_high);
    out->bytes = 1024.0 * round(1024.0 * mib);
}

void usl_make(unsigned seed, unsigned workload, struct tune_truth *out)
{
    uint64_t random = UINT64_C(0x0511aaaa) + UINT64_C(0x1000003) * seed;
    struct tune_usl usl = {.work.kernels = 0.0};
    draw_host(&random, &usl);
    draw_gpu(&random, &usl);
    draw_graphs(&random, &usl);
    draw_sharing(&random, &usl);
    struct tune_costs costs = {.point_s = 0.15,
                               .start_s = chance_between(&random, 0.2, 0.5),
                               .process_s = chance_between(&random, 0.05, 0.15)};
    random += (workload + 1) * UINT64_C(0x777777777);
    draw_work(&random, workload, &usl.work);
    usl.worker_bytes = 2.0 * usl.work.bytes + chance_between(&random, 2e6, 40e6);
    *out = (struct tune_truth){.cpus = (unsigned)usl.cpus,
                               .costs = costs,
                               .kernels = (unsigned)usl.work.kernels,
                               .bytes = (size_t)usl.work.bytes,
                               .usl = usl};
}
