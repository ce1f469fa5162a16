#include "explain/network.h"

#include <math.h>
#include <stddef.h>

#include "explain/internal.h"

/* Everything that workers share and may wait for. Demands are seconds of an iteration. */
enum {
    LAUNCH,
    COPY_IN,
    COPY_OUT,
    STAGING,
    BLOCKED,
    ARITHMETIC,
    CPUS,
    POLLING,
    HOST_COPIES,
    HOST_LAUNCH,
    STATIONS
};

/* Whose a line is: each GPU has its own, or each process, or thread, or there is one for all. */
enum scope { OF_GPU, OF_PROCESS, OF_THREAD, OF_MACHINE };

struct network {
    double alone_s;          /* an iteration of one worker alone, all demands included */
    double demand[STATIONS]; /* 0: never waited for */
    enum scope of[STATIONS];
    unsigned gpus;
    unsigned processes, threads; /* of a GPU */
    unsigned active;             /* workers of a process that get on at the same time */
};

/* How workers that launch beside each other get in each other's way: the share of the predicted
 * waiting in lines that they really wait, and seconds lost to each further worker. */
struct crowd {
    double lines, each_s;
};

static double rate_s(double per_s, double amount)
{
    return per_s > 0.0 ? amount / per_s : 0.0;
}

/* Launches of different processes meet in the GPU's front end; of one process, before it. */
static double launch_demand(const struct explain_point *point,
                            const struct calibration *calibration)
{
    bool graph = point->launch == LAUNCH_GRAPH;
    double kernels = point->work.kernels;
    double front = rate_s(
        graph ? calibration->graph_kernels_per_s : ceiling_gpu_launches(calibration), kernels);
    double own = graph ? rate_s(calibration->process_graphs_per_s, 1.0)
                       : rate_s(calibration->process_launches_per_s, kernels);
    if (ceiling_takes_turns(point, calibration))
        own = rate_s(ceiling_turn_launches(point, calibration), kernels);
    own /= point->processes;
    return front > own ? front : own;
}

static void make_network(const struct explain_point *point, const struct calibration *calibration,
                         struct network *out)
{
    struct network network = {
        .alone_s = 1.0 / ceiling_single_ips(point, calibration),
        .gpus = ceiling_gpus(point),
        .processes = point->processes,
        .threads = point->threads,
        .active = ceiling_active_threads(point, calibration),
        .of = {[STAGING] = OF_PROCESS,
               [BLOCKED] = OF_PROCESS,
               [CPUS] = OF_MACHINE,
               [POLLING] = OF_THREAD,
               [HOST_COPIES] = OF_MACHINE,
               [HOST_LAUNCH] = OF_MACHINE},
    };
    double *demand = network.demand;
    double bytes = (double)point->work.bytes;
    double both = calibration->both_bytes_per_s;
    bool graph = point->launch == LAUNCH_GRAPH;
    demand[LAUNCH] = launch_demand(point, calibration);
    demand[COPY_IN] = rate_s(both > 0.0 ? both : calibration->h2d_bytes_per_s, bytes);
    demand[COPY_OUT] = rate_s(both > 0.0 ? both : calibration->d2h_bytes_per_s, bytes);
    demand[ARITHMETIC] = rate_s(calibration->arithmetic_ips * ceiling_thread_share(point), 1.0);
    demand[POLLING] = ceiling_polling_s(point, calibration);
    if (calibration->cpus > 0 && !ceiling_polls(point))
        demand[CPUS] =
            (graph ? calibration->single_graph_cpu_us : calibration->single_stream_cpu_us) / 1e6 /
            calibration->cpus;
    if (point->memory == MEMORY_PAGEABLE) {
        demand[STAGING] = rate_s(ceiling_pageable_bytes(point, calibration), bytes);
        if (graph)
            demand[BLOCKED] = rate_s(calibration->process_pageable_graph_ips, 1.0);
        else if (point->sync == SYNC_NONE)
            demand[BLOCKED] = rate_s(calibration->process_unsynced_ips, 1.0);
    }
    demand[HOST_COPIES] = ceiling_host_copies_s(point, calibration);
    demand[HOST_LAUNCH] = ceiling_host_launch_s(point, calibration);
    *out = network;
}

/* How many lines of that kind there are. */
static double lines_of(const struct network *network, size_t station)
{
    switch (network->of[station]) {
    case OF_MACHINE:
        return 1.0;
    case OF_PROCESS:
        return (double)network->gpus * network->processes;
    case OF_THREAD:
        return (double)network->gpus * network->processes * network->threads;
    default:
        return network->gpus;
    }
}

/* Mean value analysis after Schweitzer: a worker that comes to a line finds there what the others
 * have in it on average (P. Schweitzer, 1979; Lazowska et al., Quantitative System Performance,
 * chapter 6). The lines of a process or a thread hold its own workers only, those of a GPU its own
 * workers; all processes and all GPUs are alike. */
static double solve(const struct network *network, const struct crowd *crowd)
{
    enum { STEPS = 10000 };
    double of_a_gpu = (double)network->processes * network->active;
    double workers = of_a_gpu * network->gpus;
    double delay_s = network->alone_s + crowd->each_s * (of_a_gpu - 1.0);
    double line[STATIONS] = {0.0};
    double ips = workers / delay_s;
    for (int step = 0; step < STEPS; step++) {
        double residence[STATIONS], total_s = delay_s;
        for (size_t i = 0; i < STATIONS; i++) {
            double in_line = fmax(1.0, workers / lines_of(network, i));
            double wait_s = network->demand[i] * line[i] * (in_line - 1.0) / in_line;
            residence[i] = network->demand[i] + wait_s;
            total_s += crowd->lines * wait_s;
        }
        double next = workers / total_s;
        for (size_t i = 0; i < STATIONS; i++) {
            double share = next / lines_of(network, i);
            /* Half way, or it swings about a full line. */
            line[i] += 0.5 * (share * residence[i] - line[i]);
        }
        bool settled = fabs(next - ips) < 1e-9 * next;
        ips = next;
        if (settled && step > 0)
            break;
    }
    return ips;
}

/* From the throughput of a known crowd: less than the network predicts is time lost to each
 * other; more means that launches fit between each other better than by chance. */
static struct crowd fit_crowd(const struct calibration *calibration)
{
    struct crowd crowd = {.lines = 1.0, .each_s = 0.0};
    struct explain_point point = {
        .processes = 1,
        .threads = calibration->crowd_workers,
        .connections = calibration->crowd_workers,
        .work = calibration->work,
    };
    struct network network;
    double seen = calibration->crowd_stream_ips;
    if (calibration->crowd_workers < 2 || seen <= 0.0 || calibration->single_stream_ips <= 0.0)
        return crowd;
    make_network(&point, calibration, &network);
    bool slower = seen < solve(&network, &crowd);
    /* More than its place in the line of launches no worker can cost another one. */
    double low = 0.0, high = slower ? network.demand[LAUNCH] : 1.0;
    for (int i = 0; i < 50; i++) {
        double middle = 0.5 * (low + high);
        *(slower ? &crowd.each_s : &crowd.lines) = middle;
        if (solve(&network, &crowd) > seen)
            low = middle;
        else
            high = middle;
    }
    return crowd;
}

/* The lines that make a ceiling, as bits. */
static const unsigned lines_at[CEILING_KINDS] = {
    [CEILING_POLLING] = 1u << POLLING,
    [CEILING_PROCESS_LAUNCH] = 1u << LAUNCH,
    [CEILING_GPU_LAUNCH] = 1u << LAUNCH,
    [CEILING_COPY_IN] = 1u << COPY_IN | 1u << COPY_OUT,
    [CEILING_COPY_OUT] = 1u << COPY_IN | 1u << COPY_OUT,
    [CEILING_COPY_BOTH] = 1u << COPY_IN | 1u << COPY_OUT,
    [CEILING_STAGING] = 1u << STAGING,
    [CEILING_BLOCKED_COPIES] = 1u << BLOCKED,
    [CEILING_ARITHMETIC] = 1u << ARITHMETIC,
    [CEILING_CPUS] = 1u << CPUS,
    [CEILING_HOST_COPIES] = 1u << HOST_COPIES,
    [CEILING_HOST_LAUNCH] = 1u << HOST_LAUNCH,
};

/* Half the demand at what makes that ceiling. Launches that get in each other's way go with it. */
static void relieve(enum ceiling_kind kind, struct network *network, struct crowd *crowd)
{
    unsigned lines = kind < CEILING_KINDS ? lines_at[kind] : 0;
    for (unsigned i = 0; i < STATIONS; i++)
        if (lines >> i & 1)
            network->demand[i] *= 0.5;
    if (lines >> LAUNCH & 1)
        crowd->each_s *= 0.5;
}

double network_ips(const struct explain_point *point, const struct calibration *calibration,
                   enum ceiling_kind relieved)
{
    struct network network;
    struct crowd crowd = {.lines = 1.0, .each_s = 0.0};
    struct explain_point one = *point;
    if (ceiling_single_ips(point, calibration) <= 0.0)
        return 0.0;
    /* Those that take turns do what one of them does. */
    if (!point->mps)
        one.processes = 1;
    if (point->launch == LAUNCH_STREAM)
        crowd = fit_crowd(calibration);
    make_network(&one, calibration, &network);
    relieve(relieved, &network, &crowd);
    return solve(&network, &crowd);
}
