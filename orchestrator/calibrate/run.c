#include "orchestrator/calibrate/run.h"

#include <math.h>

#include "common/clock.h"
#include "common/host_work.h"
#include "explain/derive.h"
#include "orchestrator/calibrate/internal.h"
#include "orchestrator/calibrate/points.h"

/* A window begins short, and grows until it shows a few percent: how slow iterations are, and how
 * regular, is not known before. */
#define WINDOW_NS (80 * NS_PER_MS)
#define WINDOW_MOST 2 /* times as long */

/* No run begins later: a GPU that another user keeps busy must not hold a sweep up. From the
 * earlier time on no figure is measured again. */
#define MOST_NS (120 * NS_PER_S)
#define REPEAT_NS (8 * NS_PER_S)

/* Processes over MPS, which are started once: as many as the largest figure asks for, but
 * contexts are made one after the other, and each wants a share of a CPU. */
#define MPS_MOST 16
#define MPS_PER_CPU 2

/* Pinned memory takes a second for each two GB: a point with large copies has fewer workers, but
 * enough to keep the engines busy. */
#define MOST_BYTES (UINT64_C(96) << 20)
#define FEWEST 4

static unsigned smaller(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static bool is_over_mps(const struct calibrate_figure *figure)
{
    return figure->phase == CALIBRATE_MPS || figure->phase == CALIBRATE_MPS_AWAKE;
}

/* As many as the figure asks for, and as the machine has room for. */
static unsigned workers_of(const struct calibrator *calibrator,
                           const struct calibrate_figure *figure)
{
    const struct calibration *figures = &calibrator->record.figures;
    unsigned cpus = figures->cpus, workers = figure->workers;
    uint64_t room = MOST_BYTES / (calibrator->like->work.bytes + 1);
    if (figure->load == CALIBRATE_ARITHMETIC && calibrator->like->mix)
        workers = CALIBRATE_MIXED_WORKERS;
    if (is_over_mps(figure))
        workers = workers * calibrator->most_processes / MPS_MOST;
    else if (figure->load == CALIBRATE_ITERATION && room < workers)
        workers = room > FEWEST ? (unsigned)room : smaller(workers, FEWEST);
    if (figure->phase == CALIBRATE_AWAKE || figure->phase == CALIBRATE_MPS_AWAKE)
        workers = smaller(workers, cpus);
    if (figure->phase == CALIBRATE_ALL && figure->load != CALIBRATE_LAUNCHES)
        workers = smaller(workers, cpus / figures->all.gpus);
    return workers ? workers : 1;
}

static struct point point_of(struct calibrator *calibrator, const struct calibrate_figure *figure,
                             double *share)
{
    const struct point *like = calibrator->like;
    unsigned workers = workers_of(calibrator, figure);
    struct point point;
    *share = 1.0;
    switch (figure->load) {
    case CALIBRATE_LAUNCHES:
        point = calibrate_launches(like, figure->launch);
        *share = point.work.kernels;
        break;
    case CALIBRATE_POLLING:
        point = calibrate_launches(like, figure->launch);
        point.work.kernels = 1;
        point.work.copies = COPIES_BOTH;
        break;
    case CALIBRATE_COPIES:
        point = calibrate_copies(like, COPIES_BOTH, figure->memory, &calibrator->room);
        *share = (double)point.work.bytes;
        break;
    case CALIBRATE_KERNELS:
        point = calibrate_kernels(like, &calibrator->room);
        break;
    case CALIBRATE_ARITHMETIC:
        point = calibrate_arithmetic(like, &calibrator->record.figures, share, &calibrator->room);
        break;
    default:
        point = calibrate_single(like);
        point.work.memory = figure->memory;
        point.work.sync = figure->sync;
        point.work.launch = figure->launch;
    }
    point.streams = figure->streams ? figure->streams : 1;
    if (figure->load == CALIBRATE_ITERATION && point.streams > 1)
        while (point.streams > FEWEST && point.streams * like->work.bytes > MOST_BYTES)
            point.streams /= 2;
    switch (figure->phase) {
    case CALIBRATE_MPS:
    case CALIBRATE_MPS_AWAKE:
        calibrate_set_processes(&point, LAYOUT_PROCESSES_MPS, workers);
        if (figure->phase == CALIBRATE_MPS_AWAKE)
            point.work.schedule = SCHEDULE_AUTO;
        break;
    case CALIBRATE_SLICED:
        calibrate_set_processes(&point, LAYOUT_PROCESSES, workers);
        break;
    default:
        point.threads = workers;
        /* On all GPUs as on one. */
        if (figure->phase == CALIBRATE_ASLEEP ||
            (figure->phase == CALIBRATE_ALL && figure->load == CALIBRATE_LAUNCHES))
            point.work.schedule = SCHEDULE_BLOCK;
        if (figure->phase == CALIBRATE_ALL)
            point.gpus = calibrator->record.figures.all.gpus;
    }
    return point;
}

static struct calibration_run run_of(const struct point *point)
{
    return (struct calibration_run){
        .mps = point_over_mps(point),
        .processes = point->processes,
        .threads = point->threads,
        .streams = point_streams(point),
        .memory = point->work.memory,
        .sync = point->work.sync,
        .launch = point->work.launch,
        .schedule = point->work.schedule,
    };
}

static void keep_run(struct calibration *out, const struct point *point,
                     const struct calibrate_measured *measured)
{
    if (out->run_count == CALIBRATION_RUNS)
        return;
    struct calibration_run *run = &out->runs[out->run_count++];
    *run = run_of(point);
    run->ips = measured->ips;
    run->spread_rel = measured->spread_rel;
    run->cpu_us = measured->cpu_us;
    run->calls_us = measured->calls_us;
}

/* share: of what the part counts, in an iteration. */
static void keep_part(struct calibration *out, const struct calibrate_figure *figure,
                      unsigned workers, double share, const struct calibrate_measured *measured)
{
    bool all = figure->phase == CALIBRATE_ALL;
    double rate = share * measured->ips;
    switch (figure->part) {
    case CALIBRATION_PROCESS_LAUNCHES:
        *(all ? &out->all.process_launches_per_s : &out->process_launches_per_s) = rate;
        break;
    case CALIBRATION_GRAPH_KERNELS:
        out->graph_kernels_per_s = rate;
        break;
    case CALIBRATION_POLLED_GRAPHS:
        out->polled_graphs_per_s = rate;
        out->polled_calls_us = measured->calls_us;
        break;
    case CALIBRATION_GPU_LAUNCHES:
        out->gpu_launches_per_s = rate;
        break;
    case CALIBRATION_ARITHMETIC:
        out->arithmetic_ips = rate;
        break;
    case CALIBRATION_BOTH:
        *(all ? &out->all.both_bytes_per_s : &out->both_bytes_per_s) = rate;
        break;
    case CALIBRATION_PAGEABLE:
        if (all)
            out->all.pageable_bytes_per_s = rate;
        else
            derive_staging(out, workers, rate);
        break;
    default:
        break;
    }
}

/* Of an iteration beside the others of a point. */
static double expect_s(const struct calibration *figures, const struct point *point)
{
    double alone = figures->single_stream_ips, arithmetic = figures->arithmetic_ips;
    bool is_other = point->work.workload != figures->work.workload;
    if (is_other || point->work.copies != COPIES_BOTH || point->work.kernels == 0)
        return 0.0;
    return fmax(alone > 0.0 ? 1.0 / alone : 0.0,
                arithmetic > 0.0 ? point_workers(point) / arithmetic : 0.0);
}

static bool is_measured(const struct calibration *figures, const struct point *point)
{
    const struct calibration_run like = run_of(point);
    return derive_run(figures, &like) != NULL;
}

static void measure(struct calibrator *calibrator, const struct calibrate_figure *figure)
{
    struct calibration *out = &calibrator->record.figures;
    struct calibrate_measured measured;
    bool is_found = false;
    double share;
    do {
        struct point point = point_of(calibrator, figure, &share);
        if (figure->load == CALIBRATE_ITERATION && is_measured(out, &point))
            break;
        is_found =
            calibrate_measure(calibrator, &point, figure->name, expect_s(out, &point), &measured);
        if (is_found && figure->load == CALIBRATE_ITERATION)
            keep_run(out, &point, &measured);
        /* Fewer processes than were hoped for can be clients. */
        if (calibrator->too_many && is_over_mps(figure))
            calibrator->most_processes /= 2;
    } while (!is_found && calibrator->too_many && is_over_mps(figure) &&
             calibrator->most_processes > 0);
    calibrator->done++;
    if (!is_found)
        return;
    if (figure->load == CALIBRATE_ITERATION) {
        derive_figures(out);
    } else if (figure->load == CALIBRATE_KERNELS) {
        out->kernels_ips = measured.ips;
    } else {
        keep_part(out, figure, workers_of(calibrator, figure), share, &measured);
        calibrator->record.spread_rel[figure->part] = measured.spread_rel;
    }
}

static void measure_phase(struct calibrator *calibrator, enum calibrate_phase phase)
{
    for (size_t i = 0; i < calibrate_figure_count && calibrator->status == STATUS_OK; i++)
        if (calibrate_figures[i].phase == phase &&
            calibrate_lacks(&calibrator->record, &calibrate_figures[i]))
            measure(calibrator, &calibrate_figures[i]);
}

/* Kernels of a described workload that go on in the GPU's caches do more as they are than in grids
 * that fill it: it can do what the iteration was seen to do. */
static void raise_arithmetic(struct calibration *figures)
{
    if (figures->work.workload != WORKLOAD_DESCRIBED || figures->arithmetic_ips <= 0.0)
        return;
    for (unsigned i = 0; i < figures->run_count; i++)
        figures->arithmetic_ips = fmax(figures->arithmetic_ips, figures->runs[i].ips);
}

/* The workers of the calibration before wait as they are to at the end of this one. */
static bool goes_backwards(const struct calibrator *calibrator)
{
    return calibrator->crew->pool.count > 0 && point_over_mps(&calibrator->crew->started_for);
}

static unsigned most_processes(const struct calibration *figures)
{
    unsigned most = MPS_PER_CPU * figures->cpus;
    return most < MPS_MOST ? most : MPS_MOST;
}

enum status calibrate_run(struct session *session, struct crew *crew, const struct point *like,
                          const struct round_limits *limits, calibrate_progress progress,
                          void *data, struct calibration_record *record)
{
    uint64_t begin_ns = clock_now_ns();
    uint64_t window_ns = limits->duration_ns < WINDOW_NS ? limits->duration_ns : WINDOW_NS;
    struct calibrator calibrator = {
        .session = session,
        .like = like,
        .limits = {.duration_ns = window_ns,
                   .max_duration_ns = WINDOW_MOST * window_ns,
                   .precision_rel = CALIBRATE_SPREAD_REL,
                   .timeout_ns = limits->timeout_ns,
                   .ready_by_ns = limits->ready_by_ns},
        .crew = crew,
        .progress = progress,
        .data = data,
        .most_processes = most_processes(&record->figures),
        .deadline_ns = begin_ns + MOST_NS,
        .repeat_until_ns = begin_ns + REPEAT_NS,
        .record = *record,
    };
    if (limits->ready_by_ns && limits->ready_by_ns < calibrator.deadline_ns)
        calibrator.deadline_ns = limits->ready_by_ns;
    calibrator.limits_are_known = mps_limits_known(session, &calibrator.known) == STATUS_OK;
    if (like->work.workload == WORKLOAD_DELAY)
        calibrate_note(&calibrator, "arithmetic: the delay workload has none");
    if (record->figures.work.turns > 0)
        calibrator.record.figures.turns_per_ms = (double)host_work_turns_per_ms(NULL, 0);
    bool backwards = goes_backwards(&calibrator);
    for (unsigned i = 0; i < CALIBRATE_PHASES; i++)
        measure_phase(&calibrator, backwards ? CALIBRATE_PHASES - 1 - i : i);
    raise_arithmetic(&calibrator.record.figures);
    calibrator.record.seconds = (double)(clock_now_ns() - begin_ns) / 1e9;
    if (calibrator.status == STATUS_OK)
        *record = calibrator.record;
    return calibrator.status;
}
