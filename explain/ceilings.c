#include "explain/ceilings.h"

#include <math.h>
#include <stddef.h>

#include "common/clock.h"
#include "explain/internal.h"

#define US_PER_S 1e6

/* A worker that spins can be put aside while the GPU works for it: its CPU time buys the iteration
 * that ended meanwhile and the one that it then waits for. */
#define SPINNING_GAIN 2.0

/* Copies each way at once slow each other down if they reach less than this share of one alone. */
#define ENGINES_APART 0.95

/* Of threads that launch in turns into queues that they share: what a launch takes in a process,
 * and in a queue in which another stream was before: fitted to the same files as the border. */
#define TURN_US 1.0
#define TURN_IN_QUEUE_US 4.5

/* Where they launch in rows as often as in turns, with a CPU for each and without, and how steep
 * the chance falls there: fitted to h100-turns.jsonl, h100-turns-border.jsonl,
 * h100-turns-queues.jsonl and h200-turns.txt (docs/results). A chance below EITHER_LEAST is not
 * reported. */
#define TURNS_BORDER 0.074
#define TURNS_BORDER_CROWDED 0.067
#define TURNS_STEEPNESS 9.0
#define EITHER_LEAST 0.05

double ceiling_single_ips(const struct explain_point *point, const struct calibration *calibration)
{
    if (point->launch == LAUNCH_GRAPH)
        return calibration->single_graph_ips;
    if (point->memory == MEMORY_PAGEABLE && calibration->single_pageable_ips > 0.0)
        return calibration->single_pageable_ips;
    return calibration->single_stream_ips;
}

bool ceiling_polls(const struct explain_point *point)
{
    return point->streams > 1;
}

unsigned ceiling_streams(const struct explain_point *point)
{
    return point->threads * (ceiling_polls(point) ? point->streams : 1);
}

bool ceiling_shares_queues(const struct explain_point *point)
{
    return point->launch != LAUNCH_GRAPH && point->work.kernels > 1 &&
           ceiling_streams(point) > point->connections;
}

static double copies_s(const struct work *work, const struct calibration *calibration)
{
    double bytes_per_s = calibration->both_bytes_per_s > 0.0 ? calibration->both_bytes_per_s
                                                             : calibration->h2d_bytes_per_s;
    return bytes_per_s > 0.0 ? 2.0 * (double)work->bytes / bytes_per_s : 0.0;
}

double ceiling_busy_s(const struct work *work, const struct calibration *calibration)
{
    /* An older calibration has none: a turn takes about a nanosecond. */
    double turns_per_ms = calibration->turns_per_ms > 0.0 ? calibration->turns_per_ms : NS_PER_MS;
    return (double)work->busy_ns / NS_PER_S +
           (double)work->turns / (turns_per_ms * (NS_PER_S / NS_PER_MS));
}

double ceiling_host_steps_s(const struct work *work, const struct calibration *calibration)
{
    double steps_s = ceiling_busy_s(work, calibration) + (double)work->think_ns / NS_PER_S;
    double alone = calibration->single_stream_ips, kernels = calibration->kernels_ips;
    if (alone <= 0.0 || kernels <= 0.0)
        return 0.0;
    double beside_s = 1.0 / alone - 1.0 / kernels - copies_s(work, calibration);
    return fmin(fmax(beside_s, 0.0), steps_s);
}

double ceiling_beside_kernels_s(const struct work *work, const struct calibration *calibration)
{
    return copies_s(work, calibration) + ceiling_host_steps_s(work, calibration);
}

/* Seconds of a kernel, with the gap to the next one of its stream; 0: not known. */
static double kernel_s(const struct explain_point *point, const struct calibration *calibration)
{
    double single = ceiling_single_ips(point, calibration), kernels = point->work.kernels;
    if (single <= 0.0 || kernels <= 0.0)
        return 0.0;
    double beside_s = ceiling_beside_kernels_s(&point->work, calibration);
    return fmax(0.0, (1.0 / single - beside_s) / kernels);
}

double ceiling_turn_launches(const struct explain_point *point,
                             const struct calibration *calibration)
{
    double known = calibration->process_launches_per_s;
    double most = US_PER_S / (TURN_US + TURN_IN_QUEUE_US / point->connections);
    return known > 0.0 ? fmin(known, most) : most;
}

/* At the rate of launches in turns that many kernels run at the same time. One that is launched
 * while the one before it in its stream still runs, a chance of running/threads, holds up its queue
 * for the rest of that. Who waits for his queue does not launch, the others launch the faster, and
 * threads come in rows. That grows with running² / threads; with the queues it falls, faster than
 * in proportion. Near the border a set of processes may do either (docs/evaluation.md). A thread
 * that polls launches the iterations of its streams one after the other. */
double ceiling_turns_chance(const struct explain_point *point,
                            const struct calibration *calibration)
{
    if (!ceiling_shares_queues(point))
        return 0.0;
    if (point->passed_ips > 0.0)
        return 1.0;
    double running = ceiling_turn_launches(point, calibration) * kernel_s(point, calibration);
    if (running <= 0.0 || ceiling_polls(point))
        return 0.0;
    double held_up = running * running / (2.0 * point->threads * pow(point->connections, 1.5));
    double border =
        ceiling_threads(point) > calibration->cpus ? TURNS_BORDER_CROWDED : TURNS_BORDER;
    return 1.0 / (1.0 + pow(held_up / border, TURNS_STEEPNESS));
}

bool ceiling_takes_turns(const struct explain_point *point, const struct calibration *calibration)
{
    return ceiling_turns_chance(point, calibration) >= 0.5;
}

bool ceiling_may_do_either(const struct explain_point *point, const struct calibration *calibration)
{
    double chance = ceiling_turns_chance(point, calibration);
    return chance > EITHER_LEAST && chance < 1.0 - EITHER_LEAST;
}

unsigned ceiling_active_threads(const struct explain_point *point,
                                const struct calibration *calibration)
{
    if (ceiling_shares_queues(point) && !ceiling_takes_turns(point, calibration))
        return point->connections;
    return ceiling_streams(point);
}

double ceiling_rows_ips(const struct explain_point *point, const struct calibration *calibration,
                        unsigned active)
{
    double single = ceiling_single_ips(point, calibration);
    if (single <= 0.0)
        return 0.0;
    double held_s = 1.0 / single - ceiling_host_steps_s(&point->work, calibration);
    return point->processes * active / fmax(held_s, CEILING_HELD_LEAST / single);
}

enum layout_kind explain_layout(const struct explain_point *point)
{
    return layout_of(point->processes, point->threads, point->mps);
}

unsigned ceiling_gpus(const struct explain_point *point)
{
    return point->gpus > 1 ? point->gpus : 1;
}

unsigned ceiling_threads(const struct explain_point *point)
{
    return ceiling_gpus(point) * point->processes * point->threads;
}

unsigned ceiling_workers(const struct explain_point *point)
{
    return ceiling_gpus(point) * point->processes * ceiling_streams(point);
}

static bool knows_all(const struct explain_point *point, const struct calibration *calibration)
{
    return ceiling_gpus(point) > 1 && ceiling_gpus(point) <= calibration->all.gpus;
}

static double longer(double seconds, double shared_per_s, double amount)
{
    double own = shared_per_s > 0.0 ? amount / shared_per_s : 0.0;
    return own > seconds ? own : seconds;
}

double ceiling_host_copies_s(const struct explain_point *point,
                             const struct calibration *calibration)
{
    const struct calibration_all *all = &calibration->all;
    double bytes = (double)point->work.bytes, seconds = 0.0;
    if (!knows_all(point, calibration))
        return 0.0;
    double in = calibration_shared(calibration->h2d_bytes_per_s, all->h2d_bytes_per_s, all->gpus);
    double out = calibration_shared(calibration->d2h_bytes_per_s, all->d2h_bytes_per_s, all->gpus);
    double both =
        calibration_shared(calibration->both_bytes_per_s, all->both_bytes_per_s, all->gpus);
    seconds = longer(seconds, in, bytes);
    seconds = longer(seconds, out, bytes);
    seconds = longer(seconds, both, bytes);
    if (point->memory == MEMORY_PAGEABLE)
        seconds = longer(seconds,
                         calibration_shared(calibration->pageable_bytes_per_s,
                                            all->pageable_bytes_per_s, all->gpus),
                         bytes);
    return seconds;
}

/* One process a GPU shows what a process can do there; more of them, over MPS, may do more. */
double ceiling_host_launch_s(const struct explain_point *point,
                             const struct calibration *calibration)
{
    const struct calibration_all *all = &calibration->all;
    if (point->launch == LAUNCH_GRAPH || !knows_all(point, calibration))
        return 0.0;
    double of_processes = calibration_shared(calibration->process_launches_per_s,
                                             all->process_launches_per_s, all->gpus);
    double over_mps =
        calibration_shared(ceiling_gpu_launches(calibration), all->gpu_launches_per_s, all->gpus);
    double shared = of_processes;
    if (point->processes > 1 && all->gpu_launches_per_s > 0.0)
        shared = over_mps > 0.0 && over_mps < all->process_launches_per_s
                     ? all->process_launches_per_s
                     : over_mps;
    return longer(0.0, shared, point->work.kernels);
}

double ceiling_gpu_launches(const struct calibration *calibration)
{
    double several = calibration->gpu_launches_per_s, one = calibration->process_launches_per_s;
    return several > 0.0 && several < one ? one : several;
}

static double percentage_of(const struct explain_point *point, unsigned process)
{
    unsigned percentage =
        point->percentage_count ? point->percentages[process % point->percentage_count] : 0;
    return percentage > 0 && percentage < 100 ? percentage / 100.0 : 1.0;
}

double ceiling_thread_share(const struct explain_point *point)
{
    double share = 0.0;
    for (unsigned i = 0; i < point->processes && share < 1.0; i++)
        share += percentage_of(point, i);
    return fmin(share, 1.0);
}

/* What each process can do within its share, added up; 0 where no share holds anybody back. */
static double thread_cap(const struct explain_point *point, const struct calibration *calibration,
                         double single)
{
    double sum = 0.0, of_process = ceiling_active_threads(point, calibration) * single;
    bool capped = false;
    for (unsigned i = 0; i < point->processes; i++) {
        double within = percentage_of(point, i) * calibration->arithmetic_ips;
        capped = capped || (percentage_of(point, i) < 1.0 && within < of_process);
        sum += single > 0.0 ? fmin(within, of_process) : within;
    }
    return capped ? sum : 0.0;
}

static double cpu_us(const struct explain_point *point, const struct calibration *calibration)
{
    return point->launch == LAUNCH_GRAPH ? calibration->single_graph_cpu_us
                                         : calibration->single_stream_cpu_us;
}

/* Of an iteration in pinned memory: its calls and, as graphs of next to nothing show it, what a
 * thread that polls does beside calls. The CPU time of one that sleeps is the most that it can be:
 * waking up belongs to it, too. */
static double polled_us(const struct explain_point *point, const struct calibration *calibration)
{
    bool graph = point->launch == LAUNCH_GRAPH;
    double most = cpu_us(point, calibration), empty = calibration->polled_graphs_per_s;
    double calls = graph ? calibration->single_graph_calls_us : calibration->single_stream_calls_us;
    if (calls <= 0.0 || calibration->polled_calls_us <= 0.0 || empty <= 0.0)
        return most;
    double us = calls + fmax(US_PER_S / empty - calibration->polled_calls_us, 0.0) +
                ceiling_busy_s(&point->work, calibration) * US_PER_S;
    return most > 0.0 ? fmin(most, us) : us;
}

/* Launches, and pageable copies, in which the driver keeps the thread: in a graph's launch, or
 * without a synchronisation before the copy out, until the iteration is over; else as long as they
 * take more than pinned ones do, and those. */
double ceiling_polling_s(const struct explain_point *point, const struct calibration *calibration)
{
    double single = ceiling_single_ips(point, calibration), pinned = calibration->single_stream_ips;
    double seconds = polled_us(point, calibration) / US_PER_S, bytes = (double)point->work.bytes;
    if (!ceiling_polls(point) || seconds <= 0.0 || single <= 0.0)
        return 0.0;
    if (point->memory != MEMORY_PAGEABLE)
        return seconds;
    if (point->launch == LAUNCH_GRAPH || point->sync == SYNC_NONE)
        return 1.0 / single;
    seconds += pinned > single ? 1.0 / single - 1.0 / pinned : 0.0;
    seconds += calibration->h2d_bytes_per_s > 0.0 ? bytes / calibration->h2d_bytes_per_s : 0.0;
    return seconds +
           (calibration->d2h_bytes_per_s > 0.0 ? bytes / calibration->d2h_bytes_per_s : 0.0);
}

static double cpu_ceiling(const struct explain_point *point, const struct calibration *calibration,
                          double single)
{
    double us = cpu_us(point, calibration);
    double ips = us > 0.0 ? calibration->cpus * US_PER_S / us : 0.0;
    bool spins = calibration_waits_awake(calibration, point->schedule);
    double on_cpu = calibration_awake_cpus(calibration);
    if (!spins || ceiling_polls(point) || on_cpu <= 0.0 ||
        ceiling_threads(point) <= calibration->cpus)
        return ips;
    double spinning = SPINNING_GAIN * calibration->cpus * single / on_cpu;
    return ips > 0.0 ? fmin(ips, spinning) : spinning;
}

/* Between the threads that do most and those that get in each other's way, by the logarithm of
 * their number: on an H200 2 threads do 711 copies of 16 MiB a second and way, 3 do 653, 4 from 422
 * to 686, and 6 to 16 about 390. */
double ceiling_pageable_bytes(const struct explain_point *point,
                              const struct calibration *calibration)
{
    double best = calibration->pageable_bytes_per_s,
           worst = calibration->pageable_crowd_bytes_per_s;
    double few = calibration->pageable_workers, many = calibration->pageable_crowd_workers;
    if (few < 1.0 || many <= few || worst <= 0.0 || worst >= best || point->threads <= few)
        return best;
    if (point->threads >= many)
        return worst;
    return best * pow(worst / best, log(point->threads / few) / log(many / few));
}

/* What changing over from one process to the next takes at least. Calibrations of two H200s show
 * 0.12 to 0.15 ms, except of iterations that alone are held up by their launches: these are made
 * while others have their turns, which hides the change (docs/explain.md). */
#define SWITCH_S 0.12e-3

/* Iterations/s of two processes that take turns; 0: no run shows it. */
static double find_turns_ips(const struct calibration *calibration)
{
    for (unsigned i = 0; i < calibration->run_count; i++) {
        const struct calibration_run *run = &calibration->runs[i];
        if (!run->mps && run->processes > 1 && run->threads == 1 && run->streams == 1)
            return run->ips;
    }
    return 0.0;
}

/* As a run shows it of streams. Of a graph it is its kernels and the change, and copies go on in
 * the turns of others. */
double ceiling_turn_s(const struct explain_point *point, const struct calibration *calibration)
{
    double shown_ips = find_turns_ips(calibration);
    if (shown_ips <= 0.0)
        return 0.0;
    if (point->launch == LAUNCH_STREAM || calibration->single_graph_ips <= 0.0 ||
        calibration->single_stream_ips <= 0.0)
        return 1.0 / shown_ips;
    double beside_s = ceiling_beside_kernels_s(&calibration->work, calibration);
    double kernels_s = fmax(1.0 / calibration->single_stream_ips - beside_s, 0.0);
    double graph_s = fmax(1.0 / calibration->single_graph_ips - beside_s, 0.0);
    return graph_s + fmax(1.0 / shown_ips - kernels_s, SWITCH_S);
}

/* What one of several processes could do by itself, with no part in the others' turns; or more,
 * where a turn takes less than that: what an iteration does beside its kernels goes on in the turns
 * of others. */
static double sliced_ceiling(const struct explain_point *point,
                             const struct calibration *calibration)
{
    struct explain_point one = *point;
    struct ceilings alone;
    one.processes = 1;
    ceilings_compute(&one, calibration, &alone);
    enum ceiling_kind binding = ceilings_lowest(&alone);
    if (binding == CEILING_KINDS)
        return 0.0;
    double turn_s = ceiling_turn_s(point, calibration), gpus = ceiling_gpus(point);
    double single = point->launch == LAUNCH_GRAPH ? calibration->single_graph_ips
                                                  : calibration->single_stream_ips;
    if (turn_s <= 0.0 || single <= 0.0)
        return alone.ips[binding];
    double many = fmax(alone.ips[binding] / (gpus * single), 1.0);
    return fmax(alone.ips[binding], many * gpus / turn_s);
}

/* Pageable copies go through one staging path of each process; where nothing has waited for the
 * stream before, a copy holds that path until its stream gets to it. */
static void copy_ceilings(const struct explain_point *point, const struct calibration *calibration,
                          double *ips)
{
    double bytes = (double)point->work.bytes;
    if (bytes > 0.0) {
        ips[CEILING_COPY_IN] = calibration->h2d_bytes_per_s / bytes;
        ips[CEILING_COPY_OUT] = calibration->d2h_bytes_per_s / bytes;
        /* About as fast as the slower engine alone: then that is the reason. */
        double alone = fmin(calibration->h2d_bytes_per_s, calibration->d2h_bytes_per_s);
        if (alone <= 0.0 || calibration->both_bytes_per_s < ENGINES_APART * alone)
            ips[CEILING_COPY_BOTH] = calibration->both_bytes_per_s / bytes;
    }
    if (point->memory != MEMORY_PAGEABLE)
        return;
    if (bytes > 0.0)
        ips[CEILING_STAGING] =
            point->processes * ceiling_pageable_bytes(point, calibration) / bytes;
    if (point->launch == LAUNCH_GRAPH)
        ips[CEILING_BLOCKED_COPIES] = point->processes * calibration->process_pageable_graph_ips;
    else if (point->sync == SYNC_NONE)
        ips[CEILING_BLOCKED_COPIES] = point->processes * calibration->process_unsynced_ips;
}

void ceilings_compute(const struct explain_point *point, const struct calibration *calibration,
                      struct ceilings *out)
{
    struct ceilings ceilings = {{0.0}};
    double *ips = ceilings.ips;
    double host_copies_s = ceiling_host_copies_s(point, calibration);
    double host_launch_s = ceiling_host_launch_s(point, calibration);
    bool graph = point->launch == LAUNCH_GRAPH;
    double single = ceiling_single_ips(point, calibration);
    double kernels = point->work.kernels;

    ips[CEILING_WORKERS] = point->processes * ceiling_streams(point) * single;
    unsigned active = ceiling_active_threads(point, calibration);
    if (active < ceiling_streams(point))
        ips[CEILING_QUEUES] = ceiling_rows_ips(point, calibration, active);
    double polling_s = ceiling_polling_s(point, calibration);
    if (polling_s > 0.0)
        ips[CEILING_POLLING] = point->processes * point->threads / polling_s;
    if (graph)
        ips[CEILING_PROCESS_LAUNCH] = point->processes * calibration->process_graphs_per_s;
    else if (kernels > 0.0)
        ips[CEILING_PROCESS_LAUNCH] =
            point->processes * calibration->process_launches_per_s / kernels;
    if (kernels > 0.0)
        ips[CEILING_GPU_LAUNCH] =
            (graph ? calibration->graph_kernels_per_s : ceiling_gpu_launches(calibration)) /
            kernels;
    copy_ceilings(point, calibration, ips);
    ips[CEILING_ARITHMETIC] = calibration->arithmetic_ips;
    if (point->percentage_count > 0 && calibration->arithmetic_ips > 0.0)
        ips[CEILING_THREAD_CAP] = thread_cap(point, calibration, single);
    /* Until here they are those of one GPU. */
    for (int i = 0; i < CEILING_KINDS; i++)
        ips[i] *= ceiling_gpus(point);
    ips[CEILING_CPUS] = cpu_ceiling(point, calibration, single);
    if (host_copies_s > 0.0)
        ips[CEILING_HOST_COPIES] = 1.0 / host_copies_s;
    if (host_launch_s > 0.0)
        ips[CEILING_HOST_LAUNCH] = 1.0 / host_launch_s;
    if (point->processes > 1 && !point->mps)
        ips[CEILING_TIME_SLICING] = sliced_ceiling(point, calibration);
    *out = ceilings;
}

/* Of equal ones the first in the order of the kinds, but time slicing is made of the others. */
static enum ceiling_kind lowest(const struct ceilings *ceilings, enum ceiling_kind but)
{
    enum ceiling_kind found = CEILING_KINDS;
    if (ceilings->ips[CEILING_TIME_SLICING] > 0.0 && but != CEILING_TIME_SLICING)
        found = CEILING_TIME_SLICING;
    for (int i = 0; i < CEILING_KINDS; i++) {
        enum ceiling_kind kind = (enum ceiling_kind)i;
        if (kind == but || ceilings->ips[kind] <= 0.0)
            continue;
        if (found == CEILING_KINDS || ceilings->ips[kind] < ceilings->ips[found])
            found = kind;
    }
    return found;
}

enum ceiling_kind ceilings_lowest(const struct ceilings *ceilings)
{
    return lowest(ceilings, CEILING_KINDS);
}

enum ceiling_kind ceilings_next(const struct ceilings *ceilings, enum ceiling_kind binding)
{
    return lowest(ceilings, binding);
}

/* -- words ------------------------------------------------------------------------------------- */

/* As in tables and JSON, as a heading, and what workers wait for there, where they do. */
static const struct {
    const char *name, *title, *line;
} words[CEILING_KINDS] = {
    [CEILING_WORKERS] = {"workers", "too few workers", NULL},
    [CEILING_TIME_SLICING] = {"time-slicing", "time slicing", NULL},
    [CEILING_QUEUES] = {"queues", "hardware queues", NULL},
    [CEILING_POLLING] = {"polling", "threads that poll", "the thread that polls their streams"},
    [CEILING_PROCESS_LAUNCH] = {"process-launch", "launch path of a process",
                                "each other's launches in their process"},
    [CEILING_GPU_LAUNCH] = {"gpu-launch", "launch rate of the GPU",
                            "the GPU to take their launches"},
    [CEILING_COPY_IN] = {"copy-in", "copy engine to the GPU", "copies to the GPU"},
    [CEILING_COPY_OUT] = {"copy-out", "copy engine from the GPU", "copies from the GPU"},
    [CEILING_COPY_BOTH] = {"copy-both", "copies both ways", "copies"},
    [CEILING_STAGING] = {"staging", "staging of pageable copies",
                         "the staging buffers of their process"},
    [CEILING_BLOCKED_COPIES] = {"blocked-copies", "pageable copies that wait",
                                "each other's pageable copies"},
    [CEILING_ARITHMETIC] = {"arithmetic", "arithmetic", "multiprocessors"},
    [CEILING_CPUS] = {"cpus", "CPUs", "CPUs"},
    [CEILING_THREAD_CAP] = {"thread-cap", "active thread percentage", NULL},
    [CEILING_HOST_COPIES] = {"host-copies", "host copies shared by GPUs",
                             "the copies of other GPUs"},
    [CEILING_HOST_LAUNCH] = {"host-launch", "launches shared by GPUs", "launches to other GPUs"},
};

const char *ceiling_name(enum ceiling_kind kind)
{
    return (unsigned)kind < CEILING_KINDS ? words[kind].name : "none";
}

const char *ceiling_title(enum ceiling_kind kind, const struct explain_point *point)
{
    /* Its kernels may only wait, or it has none but device copies. */
    if (kind == CEILING_ARITHMETIC && point->work.workload == WORKLOAD_DESCRIBED)
        return "work on the GPU";
    return (unsigned)kind < CEILING_KINDS ? words[kind].title : "not known";
}

const char *ceiling_line(enum ceiling_kind kind)
{
    return (unsigned)kind < CEILING_KINDS ? words[kind].line : NULL;
}
