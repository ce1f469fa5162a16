#include <math.h>
#include <stdlib.h>

#include "common/digest.h"
#include "explain/predict.h"
#include "orchestrator/calibrate/points.h"
#include "orchestrator/campaign/estimate.h"
#include "orchestrator/explain/point.h"
#include "orchestrator/tune/space.h"

/* Twice an even share of the GPU, whatever the number of processes; beyond any percentage. */
#define TWICE_AN_EVEN_SHARE 1000

/* Half of the interval that holds 9 of 10, in standard deviations. */
#define TO_90_PERCENT 1.645

const char *tune_objective_name(enum tune_objective objective)
{
    static const char *const names[] = {"throughput", "p99", "ips-per-watt"};
    return names[objective];
}

bool tune_space_can_calibrate(const struct tune_space *space)
{
    const struct point *point = &space->plan.points[0];
    struct work work;
    return calibrate_work(point, &work) && !point_is_open(point);
}

/* Lists that differ get different numbers, nearly surely; 0: there is none. */
static uint32_t number_of(const struct point_shares *shares)
{
    size_t bytes = shares->count * sizeof *shares->values;
    return bytes ? (uint32_t)digest_add(DIGEST_EMPTY, shares->values, bytes) : 0;
}

static uint32_t percentage_class(const struct point *point)
{
    const struct point_shares *shares = &point->active_thread_percentage;
    if (shares->count == 1 && point->processes >= 4 && shares->values[0] == 200 / point->processes)
        return TWICE_AN_EVEN_SHARE;
    return shares->count == 1 ? (uint32_t)shares->values[0] : number_of(shares);
}

/* A queue for each thread is one setting, whatever their number. */
static uint32_t queues_class(const struct point *point)
{
    unsigned connections = point_connections(point);
    return connections >= point->threads ? 0 : connections;
}

static void set_axes(const struct point *point, uint32_t axes[TUNE_AXES])
{
    const struct work *work = &point->work;
    axes[TUNE_AXIS_MPS] = point_over_mps(point);
    axes[TUNE_AXIS_LAUNCH] = work->launch;
    axes[TUNE_AXIS_SHARE] = percentage_class(point);
    axes[TUNE_AXIS_SCHEDULE] = work->schedule;
    axes[TUNE_AXIS_MEMORY] = work->memory;
    axes[TUNE_AXIS_SYNC] = work->sync;
    axes[TUNE_AXIS_QUEUES] = queues_class(point);
    axes[TUNE_AXIS_PRIORITY] = number_of(&point->priority);
    axes[TUNE_AXIS_LIMIT] = number_of(&point->memory_limit);
    axes[TUNE_AXIS_BIND] = (uint32_t)point->bind;
    axes[TUNE_AXIS_DAEMONS] = (uint32_t)point->mps_daemons;
    axes[TUNE_AXIS_SEVERAL] = point_is_program(point) && point->threads > 1;
}

/* Threads that wait awake keep a CPU each busy, as far as there are CPUs; 0: the others. */
static double busy_cpus(const struct point *point, unsigned cpus)
{
    double threads = (double)point_processes(point) * point->threads;
    /* CPUs are those of a GPU. */
    bool awake = point->work.schedule != SCHEDULE_BLOCK && !point_is_program(point);
    return awake ? fmin(threads, (double)cpus * point_gpus(point)) : 0.0;
}

/* Of throughput and of what goes with it; latency is the workers' share of it (Little). */
static void predict_point(const struct point *point, enum tune_objective objective,
                          const struct calibration *calibration, struct tune_candidate *out)
{
    struct explain_point explained;
    struct ceilings ceilings;
    explain_point_of(point, &explained);
    struct prediction predicted;
    predict(&explained, calibration, &predicted);
    double ips = predicted.ips;
    if (ips <= 0.0)
        return;
    out->predicted_rel = predicted.half_rel / TO_90_PERCENT;
    ceilings_compute(&explained, calibration, &ceilings);
    enum ceiling_kind lowest = ceilings_lowest(&ceilings);
    out->mean_us = 1e6 * point_workers(point) / ips;
    double cpu_us = point->work.launch == LAUNCH_GRAPH ? calibration->single_graph_cpu_us
                                                       : calibration->single_stream_cpu_us;
    if (out->cpus <= 0.0)
        out->cpus = ips * cpu_us / 1e6;
    out->predicted = objective == TUNE_P99 ? 1e6 / out->mean_us : ips;
    if (objective == TUNE_THROUGHPUT && lowest != CEILING_KINDS)
        out->ceiling = fmax(ceilings.ips[lowest], ips);
}

struct tune_candidate *tune_space_candidates(const struct tune_space *space,
                                             enum tune_objective objective,
                                             const struct calibration *calibration, bool *predicted)
{
    const struct plan *plan = &space->plan;
    struct tune_candidate *candidates = calloc(plan->count + 1, sizeof *candidates);
    *predicted = false;
    for (size_t i = 0; i < plan->count && candidates; i++) {
        const struct point *point = &plan->points[i];
        struct tune_candidate *one = &candidates[i];
        *one = (struct tune_candidate){
            .processes = point->processes,
            .threads = point->threads,
            .streams = point->streams,
            .cpus = busy_cpus(point, space->cpus),
            .connections = point_connections(point),
            .start_weight = estimate_start_weight(point),
            .share = number_of(&point->active_thread_percentage),
            .outside = i >= space->candidates,
        };
        set_axes(point, one->axes);
        if (calibration)
            predict_point(point, objective, calibration, one);
        *predicted |= one->predicted > 0.0;
    }
    for (size_t i = 0; i < space->naive_count && candidates; i++)
        candidates[space->naive[i].point].naive = true;
    return candidates;
}
