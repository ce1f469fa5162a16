#include "explain/remedy.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>

#include "explain/binding.h"
#include "explain/internal.h"
#include "explain/predict.h"
#include "job/queues.h"

#define THREADS_MOST 128
#define STREAMS_MOST 256

/* Less than this is not worth a change; and of two remedies this near, the first one is taken. */
#define LEAST_GAIN 1.05
#define ABOUT_THE_SAME 1.05

/* A point that does less than this share of its ceiling may do more below it. */
#define NEAR_CEILING 0.9

#define FEWER_KERNELS "launch fewer kernels, each doing more"
#define FEWER_BYTES "copy fewer bytes in an iteration"

/* What is tried against a ceiling, what changes least first; and the advice where none of it helps.
 */
static const struct {
    enum remedy_kind tried[4]; /* all of them, or up to REMEDY_NONE */
    const char *otherwise;
} against[CEILING_KINDS] = {
    [CEILING_WORKERS] = {{REMEDY_WORKERS}, "more workers would mostly wait at the next ceiling"},
    [CEILING_TIME_SLICING] = {{REMEDY_MPS}, "over MPS the next ceiling is as low"},
    [CEILING_QUEUES] = {{REMEDY_CONNECTIONS, REMEDY_HYBRID, REMEDY_PROCESSES, REMEDY_GRAPH},
                        "more queues do not fit, or the next ceiling is as low"},
    [CEILING_POLLING] = {{REMEDY_THREADS, REMEDY_PINNED, REMEDY_GRAPH},
                         "more threads would mostly wait at the next ceiling, or there are no "
                         "more CPUs"},
    [CEILING_PROCESS_LAUNCH] = {{REMEDY_PROCESSES, REMEDY_GRAPH}, FEWER_KERNELS},
    [CEILING_GPU_LAUNCH] = {{REMEDY_GRAPH}, FEWER_KERNELS},
    [CEILING_COPY_IN] = {{REMEDY_PINNED}, "copy fewer bytes to the GPU in an iteration"},
    [CEILING_COPY_OUT] = {{REMEDY_PINNED}, "copy fewer bytes back in an iteration"},
    [CEILING_COPY_BOTH] = {{REMEDY_PINNED}, FEWER_BYTES},
    [CEILING_STAGING] = {{REMEDY_PINNED}, FEWER_BYTES},
    [CEILING_BLOCKED_COPIES] = {{REMEDY_SYNC, REMEDY_PINNED}, FEWER_BYTES},
    [CEILING_ARITHMETIC] = {{REMEDY_NONE}, "it takes a bigger GPU, or less work in an iteration"},
    [CEILING_CPUS] = {{REMEDY_BLOCK}, "more CPUs, or less work on them in an iteration"},
    [CEILING_THREAD_CAP] = {{REMEDY_PERCENTAGE}, "raise the active thread percentage"},
    [CEILING_HOST_COPIES] = {{REMEDY_PINNED},
                             FEWER_BYTES "; more GPUs of this machine add nothing"},
    [CEILING_HOST_LAUNCH] = {{REMEDY_GRAPH}, FEWER_KERNELS},
};

/* What is tried of a point that is far below its ceiling, which another layout may come nearer to;
 * what changes least first. */
static const enum remedy_kind nearer[] = {
    REMEDY_CONNECTIONS, REMEDY_BLOCK,     REMEDY_WORKERS, REMEDY_SYNC,
    REMEDY_HYBRID,      REMEDY_PROCESSES, REMEDY_PINNED,  REMEDY_GRAPH,
};

struct budget {
    unsigned clients, queues;
};

static struct budget budget_of(const struct remedy_limits *limits)
{
    return (struct budget){
        .clients = limits && limits->clients ? limits->clients : MPS_CLIENTS_USUAL,
        .queues = limits && limits->queues ? limits->queues : MPS_QUEUES_USUAL,
    };
}

static bool fits(const struct explain_point *point, const struct budget *budget)
{
    return !point->mps || (point->processes <= budget->clients &&
                           mps_queues_fit(point->processes, point->connections, budget->queues));
}

/* Queues enough for all streams, or as many as are allowed. */
static void widen(struct explain_point *point, const struct budget *budget)
{
    while (point->launch == LAUNCH_STREAM && point->connections < ceiling_streams(point) &&
           point->connections < QUEUES_MOST) {
        struct explain_point wider = *point;
        wider.connections =
            point->connections < QUEUES_OF_CLIENT ? QUEUES_OF_CLIENT : 2 * point->connections;
        if (wider.connections > QUEUES_MOST)
            wider.connections = QUEUES_MOST;
        if (!fits(&wider, budget))
            return;
        *point = wider;
    }
}

static double lowest_of(const struct explain_point *point, const struct calibration *calibration)
{
    struct ceilings ceilings;
    ceilings_compute(point, calibration, &ceilings);
    enum ceiling_kind lowest = ceilings_lowest(&ceilings);
    return lowest == CEILING_KINDS ? INFINITY : ceilings.ips[lowest];
}

static struct binding binding_of(const struct explain_point *point,
                                 const struct calibration *calibration)
{
    struct ceilings ceilings;
    struct binding binding;
    ceilings_compute(point, calibration, &ceilings);
    binding_find(point, calibration, &ceilings, &binding);
    return binding;
}

static enum ceiling_kind limit_of(const struct explain_point *point,
                                  const struct calibration *calibration)
{
    return binding_of(point, calibration).kind;
}

/* Twice as many workers: streams of threads that poll, else processes or threads. */
static void double_workers(struct explain_point *point)
{
    if (ceiling_polls(point))
        point->streams *= 2;
    else if (point->threads == 1 && (point->mps || point->processes > 1))
        point->processes *= 2;
    else
        point->threads *= 2;
}

/* Doubles them once, as far as they fit and can all be at work; false: they cannot. */
static bool add_some_workers(struct explain_point *point, const struct calibration *calibration,
                             const struct budget *budget)
{
    struct explain_point more = *point;
    double_workers(&more);
    if (more.mps && more.processes > budget->clients)
        more.processes = budget->clients;
    widen(&more, budget);
    if (more.threads > THREADS_MOST || more.streams > STREAMS_MOST || !fits(&more, budget) ||
        ceiling_workers(&more) > LAYOUT_MOST_WORKERS ||
        ceiling_workers(&more) <= ceiling_workers(point))
        return false;
    if (ceiling_active_threads(&more, calibration) < ceiling_streams(&more))
        return false;
    *point = more;
    return true;
}

/* Doubles them time and again, until something else binds. */
static bool add_workers(struct explain_point *point, const struct calibration *calibration,
                        const struct budget *budget)
{
    bool added = false;
    while (add_some_workers(point, calibration, budget)) {
        added = true;
        if (limit_of(point, calibration) != CEILING_WORKERS)
            return true;
    }
    return added;
}

/* As many streams, polled by twice as many threads, while these are the limit. */
static bool add_threads(struct explain_point *point, const struct calibration *calibration)
{
    bool added = false;
    while (ceiling_polls(point) && point->streams % 2 == 0 &&
           2 * ceiling_threads(point) <= calibration->cpus &&
           limit_of(point, calibration) == CEILING_POLLING) {
        point->threads *= 2;
        point->streams /= 2;
        added = true;
    }
    return added;
}

/* Spreads threads over processes of `threads` each, over MPS with the queues that these have
 * anyway, or more where their streams need them and they fit. */
static bool spread(struct explain_point *point, unsigned threads, const struct budget *budget)
{
    struct explain_point over_mps = *point;
    unsigned workers = point->processes * point->threads;
    if (workers <= threads || workers % threads != 0)
        return false;
    over_mps.mps = true;
    over_mps.processes = workers / threads;
    over_mps.threads = threads;
    over_mps.connections = QUEUES_OF_CLIENT;
    over_mps.percentage_count = 0;
    if (!fits(&over_mps, budget))
        return false;
    widen(&over_mps, budget);
    *point = over_mps;
    return true;
}

/* As many threads a process as a client has queues for anyway, or the fewest of which the processes
 * fit. */
static bool spread_some(struct explain_point *point, const struct budget *budget)
{
    for (unsigned threads = QUEUES_OF_CLIENT; threads < point->threads; threads++)
        if (spread(point, threads, budget))
            return true;
    return false;
}

static bool apply(enum remedy_kind kind, struct explain_point *point,
                  const struct calibration *calibration, const struct budget *budget)
{
    const struct explain_point before = *point;
    switch (kind) {
    case REMEDY_WORKERS:
        return add_workers(point, calibration, budget);
    case REMEDY_THREADS:
        return add_threads(point, calibration);
    case REMEDY_CONNECTIONS:
        widen(point, budget);
        return point->connections != before.connections;
    case REMEDY_MPS:
        point->mps = true;
        point->connections = QUEUES_OF_CLIENT;
        widen(point, budget);
        return fits(point, budget);
    case REMEDY_PROCESSES:
        return point->threads > 1 && spread(point, 1, budget);
    case REMEDY_HYBRID:
        return spread_some(point, budget);
    case REMEDY_GRAPH:
        point->launch = LAUNCH_GRAPH;
        point->sync = SYNC_STREAM;
        return before.launch != LAUNCH_GRAPH;
    case REMEDY_PINNED:
        point->memory = MEMORY_PINNED;
        point->sync = SYNC_STREAM;
        return before.memory != MEMORY_PINNED;
    case REMEDY_SYNC:
        point->sync = SYNC_STREAM;
        return before.sync != SYNC_STREAM;
    case REMEDY_BLOCK:
        point->schedule = SCHEDULE_BLOCK;
        return before.schedule != SCHEDULE_BLOCK;
    case REMEDY_PERCENTAGE:
        point->percentage_count = 0;
        return before.percentage_count != 0;
    default:
        return false;
    }
}

static bool is_crowded(const struct explain_point *point, const struct calibration *calibration)
{
    return calibration->cpus > 0 && ceiling_threads(point) > calibration->cpus;
}

/* The same number in flight as streams of as few threads as can poll them, in no more processes
 * than before. A launch of pageable memory keeps its thread, and launches by stream take long. */
static bool poll_streams(const struct explain_point *before, struct explain_point *point,
                         const struct calibration *calibration)
{
    struct explain_point fewer = *point;
    bool same_kind = before->mps == point->mps && before->processes < point->processes;
    if (point->launch != LAUNCH_GRAPH || point->memory != MEMORY_PINNED)
        return false;
    fewer.processes = same_kind ? before->processes : point->processes;
    unsigned streams = point->processes * ceiling_streams(point) / fewer.processes;
    if (fewer.schedule == SCHEDULE_BLOCK)
        fewer.schedule = SCHEDULE_AUTO;
    for (fewer.threads = 1; !is_crowded(&fewer, calibration); fewer.threads *= 2) {
        fewer.streams = streams / fewer.threads;
        if (fewer.streams <= STREAMS_MOST && ceiling_polls(&fewer) &&
            limit_of(&fewer, calibration) != CEILING_POLLING) {
            *point = fewer;
            return true;
        }
    }
    return false;
}

/* More threads than CPUs must not spin while they wait: few of them poll, or they sleep. */
static void spare_cpus(const struct explain_point *before, struct remedy *remedy,
                       const struct calibration *calibration, const struct budget *budget)
{
    struct explain_point *point = &remedy->point;
    bool spins = calibration_waits_awake(calibration, point->schedule);
    bool adds = remedy->kind == REMEDY_WORKERS;
    if (!is_crowded(point, calibration))
        return;
    if ((adds || (remedy->kind == REMEDY_GRAPH && spins)) &&
        poll_streams(before, point, calibration)) {
        if (adds && limit_of(point, calibration) == CEILING_WORKERS)
            add_workers(point, calibration, budget);
    } else if (spins) {
        point->schedule = SCHEDULE_BLOCK;
    }
}

/* What a remedy is to be better than. */
static double base_of(const struct explain_point *point, const struct calibration *calibration)
{
    return point->passed_ips > 0.0 ? point->passed_ips : predict_ips(point, calibration);
}

/* Whether a remedy gives enough, and more than was measured without it. One that leaves the ceiling
 * where it is has no figure that a lifted ceiling would have: it is to give more than the point
 * does by the low end of its interval, too, and no more than its own ceilings allow. */
static bool is_worth_it(const struct explain_point *point, const struct calibration *calibration,
                        struct remedy *remedy)
{
    struct prediction predicted;
    double now = base_of(point, calibration), low = 1.0;
    predict(&remedy->point, calibration, &predicted);
    if (remedy->nearer) {
        predicted.ips = fmin(predicted.ips, lowest_of(&remedy->point, calibration));
        low = 1.0 - predicted.half_rel;
    }
    remedy->predicted_ips = predicted.ips;
    remedy->gain = predicted.ips / now;
    if (remedy->nearer)
        now = fmax(now, point->measured_ips);
    return predicted.ips >= LEAST_GAIN * now &&
           low * predicted.ips > fmax(now, point->measured_ips);
}

/* Takes a remedy that gives enough, and more than the best one. */
static void consider(const struct explain_point *point, const struct calibration *calibration,
                     const struct budget *budget, struct remedy remedy, struct remedy *best)
{
    best->tried = true;
    spare_cpus(point, &remedy, calibration, budget);
    if (remedy.kind == REMEDY_WORKERS && ceiling_polls(&remedy.point))
        remedy.kind = REMEDY_STREAMS;
    if (!is_worth_it(point, calibration, &remedy) ||
        (best->kind != REMEDY_NONE && remedy.predicted_ips < ABOUT_THE_SAME * best->predicted_ips))
        return;
    /* A graph changes the program, all others only how it is started, unless it polls. */
    if (remedy.kind == REMEDY_GRAPH && best->kind != REMEDY_NONE && !ceiling_polls(point))
        return;
    *best = remedy;
}

static struct remedy begin_remedy(enum remedy_kind kind, const struct explain_point *point)
{
    struct remedy remedy = {.kind = kind, .point = *point, .tried = true};
    remedy.point.measured_ips = remedy.point.measured_low_ips = 0.0;
    return remedy;
}

/* The best of what is tried for a ceiling; best is left alone where nothing gives enough. */
static void try_all(enum ceiling_kind kind, const struct explain_point *point,
                    const struct calibration *calibration, const struct budget *budget,
                    struct remedy *best)
{
    for (size_t i = 0; i < sizeof against[0].tried / sizeof against[0].tried[0]; i++) {
        struct remedy remedy = begin_remedy(against[kind].tried[i], point);
        if (remedy.kind != REMEDY_NONE && apply(remedy.kind, &remedy.point, calibration, budget))
            consider(point, calibration, budget, remedy, best);
    }
}

/* Whether a point does much less than its ceiling, as measured and as predicted. */
static bool is_far_below(const struct explain_point *point, const struct calibration *calibration,
                         enum ceiling_kind limit)
{
    struct ceilings ceilings;
    ceilings_compute(point, calibration, &ceilings);
    double does = fmax(point->measured_ips, predict_ips(point, calibration));
    return does < NEAR_CEILING * ceilings.ips[limit];
}

/* Sleep spares CPUs where threads have to share them, and more processes that take turns wait for
 * more of these. Whether processes get more graphs through than threads do, no run of a calibration
 * shows. */
static bool may_come_nearer(enum remedy_kind kind, const struct explain_point *point,
                            const struct calibration *calibration, enum ceiling_kind limit)
{
    if (kind == REMEDY_BLOCK)
        return is_crowded(point, calibration);
    if (kind == REMEDY_WORKERS && limit == CEILING_TIME_SLICING)
        return false;
    bool spreads = kind == REMEDY_HYBRID || kind == REMEDY_PROCESSES;
    return !spreads || point->launch == LAUNCH_STREAM;
}

/* What leaves the ceiling where it is, and comes nearer to it: twice as many workers, four times as
 * many and so on, and each other option. */
static void try_nearer(enum ceiling_kind limit, const struct explain_point *point,
                       const struct calibration *calibration, const struct budget *budget,
                       struct remedy *best)
{
    best->nearer = true;
    for (size_t i = 0; i < sizeof nearer / sizeof nearer[0]; i++) {
        struct remedy remedy = begin_remedy(nearer[i], point);
        remedy.nearer = true;
        if (!may_come_nearer(remedy.kind, point, calibration, limit))
            continue;
        if (remedy.kind == REMEDY_WORKERS)
            while (add_some_workers(&remedy.point, calibration, budget))
                consider(point, calibration, budget, remedy, best);
        else if (apply(remedy.kind, &remedy.point, calibration, budget))
            consider(point, calibration, budget, remedy, best);
    }
}

void remedy_find(const struct explain_point *point, const struct calibration *calibration,
                 const struct remedy_limits *limits, struct remedy *out)
{
    struct budget budget = budget_of(limits);
    struct remedy best = {.kind = REMEDY_NONE, .then = CEILING_KINDS};
    struct binding binding = binding_of(point, calibration);
    enum ceiling_kind limit = binding.kind;
    *out = best;
    if (limit == CEILING_KINDS || predict_ips(point, calibration) <= 0.0)
        return;
    /* Queues that are shared at little cost are still shared, and launches take longer for it. */
    if (limit == CEILING_PROCESS_LAUNCH && ceiling_takes_turns(point, calibration))
        try_all(CEILING_QUEUES, point, calibration, &budget, &best);
    else
        try_all(limit, point, calibration, &budget, &best);
    /* A line that cannot be made shorter may still be a little below its ceiling. */
    if (best.kind == REMEDY_NONE && binding.lowest != limit)
        try_all(binding.lowest, point, calibration, &budget, &best);
    /* That its figure is too low does not show that it is far away. */
    if (binding.passed != CEILING_KINDS && binding.passed != limit)
        try_all(binding.passed, point, calibration, &budget, &best);
    if (best.kind == REMEDY_NONE && is_far_below(point, calibration, limit))
        try_nearer(limit, point, calibration, &budget, &best);
    if (best.kind == REMEDY_NONE) {
        snprintf(best.advice, sizeof best.advice, "%s%s", against[limit].otherwise,
                 limit == CEILING_CPUS && ceiling_gpus(point) > 1
                     ? "; the workers of all GPUs share them, and fewer a GPU do as much"
                     : "");
    } else {
        best.then = limit_of(&best.point, calibration);
        remedy_describe(point, &best);
    }
    *out = best;
}
