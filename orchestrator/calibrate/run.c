#include <math.h>

#include "common/clock.h"
#include "orchestrator/calibrate/internal.h"
#include "orchestrator/calibrate/points.h"

/* A window begins short, and grows until it shows a few percent: how slow iterations are, and how
 * regular, is not known before. */
#define WINDOW_NS (100 * NS_PER_MS)
#define WINDOW_MOST_NS (1500 * NS_PER_MS)
#define WINDOW_MOST 6 /* times the limits' duration, too */
#define PRECISION_REL 0.03

/* No run begins later: a GPU that another user keeps busy must not hold a sweep up. */
#define MOST_NS (120 * NS_PER_S)

/* Workers that keep the multiprocessors busy while each waits for its own kernels. */
#define FILLERS 4

/* What launching beside others costs can be seen where it is the only reason to be slower than
 * alone: with the workers' sum at so much of the nearest ceiling at most. */
#define CROWD_SHARE 0.5

static bool is_shared(const struct calibrator *calibrator, enum calibration_part part)
{
    return (calibrator->record.shared & 1U << part) != 0;
}

/* Whether a part is to be measured; its steps are behind us then when the next one begins. */
static bool lacks(struct calibrator *calibrator, enum calibration_part part)
{
    calibrator->done = calibrator->soon;
    calibrator->soon += calibrate_part_steps(&calibrator->record, part);
    return !is_shared(calibrator, part);
}

/* Steps of the iteration's own figures that follow. */
static void expect_steps(struct calibrator *calibrator, unsigned steps)
{
    calibrator->done = calibrator->soon;
    calibrator->soon += steps;
}

#define GROW(calibrator, point, schedule, counts, figure)                                          \
    calibrate_grow(calibrator, point, schedule, counts, sizeof(counts) / sizeof(counts)[0], figure)

static void measure_launches(struct calibrator *calibrator, struct calibration *out)
{
    static const unsigned threads[] = {4, 8, 16, 24, 32};
    static const unsigned graphs[] = {8, 16, 32, CALIBRATE_MOST_THREADS};
    struct point point = calibrate_launches(calibrator->like, LAUNCH_STREAM);
    double kernels = point.work.kernels;
    if (lacks(calibrator, CALIBRATION_PROCESS_LAUNCHES)) {
        out->process_launches_per_s =
            kernels * GROW(calibrator, &point, SCHEDULE_BLOCK, threads, "launches of a process");
        calibrator->again[AGAIN_LAUNCHES] =
            (struct again){point, out->process_launches_per_s > 0.0 ? calibrator->best : 0};
    }
    point = calibrate_launches(calibrator->like, LAUNCH_GRAPH);
    if (lacks(calibrator, CALIBRATION_GRAPH_KERNELS))
        out->graph_kernels_per_s = point.work.kernels * GROW(calibrator, &point, SCHEDULE_BLOCK,
                                                             graphs, "kernels of graphs");
    point.work.kernels = 1;
    if (lacks(calibrator, CALIBRATION_PROCESS_GRAPHS))
        out->process_graphs_per_s =
            GROW(calibrator, &point, SCHEDULE_BLOCK, threads, "graphs of a process");
}

static void measure_mps(struct calibrator *calibrator, struct calibration *out)
{
    struct point point = calibrate_launches(calibrator->like, LAUNCH_STREAM);
    if (!lacks(calibrator, CALIBRATION_GPU_LAUNCHES))
        return;
    out->gpu_launches_per_s =
        point.work.kernels * calibrate_search_processes(calibrator, &point, "launches over MPS");
    const struct again again = {point, out->gpu_launches_per_s > 0.0 ? calibrator->best : 0};
    out->all.gpu_launches_per_s =
        point.work.kernels * calibrate_measure_all(calibrator, &again, "launches over MPS");
}

static void measure_arithmetic(struct calibrator *calibrator, struct calibration *out)
{
    const struct work *work = &calibrator->like->work;
    double share;
    if (work->workload == WORKLOAD_DELAY) {
        calibrate_note(calibrator, "arithmetic: the delay workload has none");
        return;
    }
    if (work->kernels == 0 || !lacks(calibrator, CALIBRATION_ARITHMETIC))
        return;
    struct point point = calibrate_arithmetic(calibrator->like, out->sms, &share);
    calibrate_set_threads(&point, FILLERS);
    double launches =
        point.work.kernels * calibrate_measure(calibrator, &point, "arithmetic", NULL);
    out->arithmetic_ips = launches * share / work->kernels;
}

/* Small copies take less time than a sleeping worker needs to wake up: it takes many of them to
 * keep an engine busy. */
static void copies(struct calibrator *calibrator, enum calibration_part part,
                   enum work_copies which, struct again *again, const char *figure, double *out)
{
    static const unsigned threads[] = {4, 16, 32};
    struct point point = calibrate_copies(calibrator->like, which, MEMORY_PINNED);
    if (!lacks(calibrator, part))
        return;
    double ips = GROW(calibrator, &point, SCHEDULE_BLOCK, threads, figure);
    *again = (struct again){point, ips > 0.0 ? calibrator->best : 0};
    *out = ips * (double)point.work.bytes;
}

static void measure_copies(struct calibrator *calibrator, struct calibration *out)
{
    struct again *again = calibrator->again;
    copies(calibrator, CALIBRATION_IN, COPIES_IN, &again[AGAIN_IN], "copies in",
           &out->h2d_bytes_per_s);
    copies(calibrator, CALIBRATION_OUT, COPIES_OUT, &again[AGAIN_OUT], "copies out",
           &out->d2h_bytes_per_s);
    copies(calibrator, CALIBRATION_BOTH, COPIES_BOTH, &again[AGAIN_BOTH], "copies both ways",
           &out->both_bytes_per_s);
}

/* The threads themselves copy: one that sleeps is late, and many get in each other's way. All
 * numbers are measured, as the search for the most ends before that shows. */
static void measure_staging(struct calibrator *calibrator, struct calibration *out)
{
    static const unsigned threads[] = {2, 4, 8};
    if (!lacks(calibrator, CALIBRATION_PAGEABLE))
        return;
    struct point point = calibrate_copies(calibrator->like, COPIES_BOTH, MEMORY_PAGEABLE);
    double bytes = (double)point.work.bytes, last = 0.0;
    unsigned last_threads = 0;
    for (size_t i = 0; i < sizeof threads / sizeof threads[0]; i++) {
        if (i > 0 && threads[i] > out->cpus)
            break;
        double ips =
            calibrate_grow(calibrator, &point, SCHEDULE_AUTO, &threads[i], 1, "pageable copies");
        if (ips > 0.0) {
            last = bytes * ips;
            last_threads = threads[i];
        }
        if (bytes * ips > out->pageable_bytes_per_s) {
            out->pageable_bytes_per_s = bytes * ips;
            out->pageable_workers = threads[i];
        }
    }
    if (last_threads > out->pageable_workers && last < out->pageable_bytes_per_s / WORTH_IT) {
        out->pageable_crowd_workers = last_threads;
        out->pageable_crowd_bytes_per_s = last;
    }
    calibrator->again[AGAIN_PAGEABLE] = (struct again){point, out->pageable_workers};
}

/* Of a part that was taken over, what all GPUs have together is there, too. */
static void measure_shared(struct calibrator *calibrator, struct calibration_all *out)
{
    const double bytes = (double)calibrator->like->work.bytes;
    const struct {
        enum calibration_part part;
        double each; /* of an iteration */
        const char *figure;
        double *to;
    } rows[AGAIN] = {
        [AGAIN_LAUNCHES] = {CALIBRATION_PROCESS_LAUNCHES,
                            calibrator->again[AGAIN_LAUNCHES].point.work.kernels,
                            "launches of a process", &out->process_launches_per_s},
        [AGAIN_IN] = {CALIBRATION_IN, bytes, "copies in", &out->h2d_bytes_per_s},
        [AGAIN_OUT] = {CALIBRATION_OUT, bytes, "copies out", &out->d2h_bytes_per_s},
        [AGAIN_BOTH] = {CALIBRATION_BOTH, bytes, "copies both ways", &out->both_bytes_per_s},
        [AGAIN_PAGEABLE] = {CALIBRATION_PAGEABLE, bytes, "pageable copies",
                            &out->pageable_bytes_per_s},
    };
    for (size_t i = 0; i < AGAIN && calibrator->gpus > 1; i++)
        if (!is_shared(calibrator, rows[i].part))
            *rows[i].to = rows[i].each *
                          calibrate_measure_all(calibrator, &calibrator->again[i], rows[i].figure);
}

static void measure_awake(struct calibrator *calibrator, struct calibration *out)
{
    struct point point = calibrate_single(calibrator->like);
    point.work.schedule = SCHEDULE_SPIN;
    expect_steps(calibrator, 1);
    calibrate_measure(calibrator, &point, "alone, spinning", &out->single_spin_cpu_us);
}

static void measure_asleep(struct calibrator *calibrator, struct calibration *out)
{
    struct point point = calibrate_single(calibrator->like);
    point.work.schedule = SCHEDULE_BLOCK;
    expect_steps(calibrator, 2);
    calibrate_measure(calibrator, &point, "alone, asleep", &out->single_stream_cpu_us);
    point.work.launch = LAUNCH_GRAPH;
    calibrate_measure(calibrator, &point, "alone, graph, asleep", &out->single_graph_cpu_us);
}

static void measure_singles(struct calibrator *calibrator, struct calibration *out)
{
    struct point point = calibrate_single(calibrator->like);
    expect_steps(calibrator, 3);
    out->single_stream_ips = calibrate_measure(calibrator, &point, "alone", NULL);
    point.work.launch = LAUNCH_GRAPH;
    out->single_graph_ips = calibrate_measure(calibrator, &point, "alone, graph", NULL);
    point.work.launch = LAUNCH_STREAM;
    point.work.memory = MEMORY_PAGEABLE;
    out->single_pageable_ips = calibrate_measure(calibrator, &point, "alone, pageable", NULL);
}

/* One copy of the process at a time, and the next one may start when the last has ended: a
 * worker that sleeps until then costs all of them the time to wake up. */
static void measure_pageable(struct calibrator *calibrator, struct calibration *out)
{
    static const unsigned threads[] = {2, 4, 8, 16};
    struct point point = calibrate_single(calibrator->like);
    point.work.memory = MEMORY_PAGEABLE;
    point.work.sync = SYNC_NONE;
    expect_steps(calibrator, 4);
    out->process_unsynced_ips =
        GROW(calibrator, &point, SCHEDULE_AUTO, threads, "pageable without sync");
    point.work.sync = SYNC_STREAM;
    point.work.launch = LAUNCH_GRAPH;
    expect_steps(calibrator, 4);
    out->process_pageable_graph_ips =
        GROW(calibrator, &point, SCHEDULE_AUTO, threads, "pageable graphs");
}

static void lower(double *ceiling, double by)
{
    if (by > 0.0 && by < *ceiling)
        *ceiling = by;
}

static void measure_crowd(struct calibrator *calibrator, struct calibration *out)
{
    const struct work *work = &calibrator->like->work;
    double bytes = (double)work->bytes, kernels = work->kernels;
    double ceiling = INFINITY;
    lower(&ceiling, out->arithmetic_ips);
    lower(&ceiling, out->process_launches_per_s / kernels);
    lower(&ceiling, out->h2d_bytes_per_s / bytes);
    lower(&ceiling, out->d2h_bytes_per_s / bytes);
    lower(&ceiling, out->both_bytes_per_s / bytes);
    unsigned workers = 8;
    expect_steps(calibrator, 1);
    while (workers > 1 &&
           (workers > out->cpus || workers * out->single_stream_ips > CROWD_SHARE * ceiling))
        workers /= 2;
    if (workers < 2) {
        calibrate_note(calibrator, "workers beside each other: even two are near another ceiling");
        return;
    }
    struct point point = calibrate_single(calibrator->like);
    calibrate_set_threads(&point, workers);
    point.work.schedule = SCHEDULE_AUTO;
    out->crowd_stream_ips = calibrate_measure(calibrator, &point, "beside each other", NULL);
    out->crowd_workers = out->crowd_stream_ips > 0.0 ? workers : 0;
}

/* What all depends on has been taken over, and the workers of the calibration before wait as they
 * are to at the end of this one. */
static bool goes_backwards(const struct calibrator *calibrator)
{
    return calibrate_steps(&calibrator->record) == CALIBRATE_OWN_STEPS &&
           calibrator->crew->pool.count > 0 &&
           calibrator->crew->started_for.work.schedule == SCHEDULE_AUTO;
}

enum status calibrate_run(struct session *session, struct crew *crew, const struct point *like,
                          const struct round_limits *limits, calibrate_progress progress,
                          void *data, struct calibration_record *record)
{
    uint64_t begin_ns = clock_now_ns();
    uint64_t window_ns = limits->duration_ns < WINDOW_NS ? limits->duration_ns : WINDOW_NS;
    uint64_t longest_ns = WINDOW_MOST * limits->duration_ns;
    struct calibrator calibrator = {
        .session = session,
        .gpus = point_gpus(like),
        .like = like,
        .limits = {.duration_ns = window_ns,
                   .max_duration_ns = longest_ns < WINDOW_MOST_NS ? longest_ns : WINDOW_MOST_NS,
                   .precision_rel = PRECISION_REL,
                   .timeout_ns = limits->timeout_ns},
        .crew = crew,
        .progress = progress,
        .data = data,
        .deadline_ns = begin_ns + MOST_NS,
        .record = *record,
    };
    if (limits->ready_by_ns && limits->ready_by_ns < calibrator.deadline_ns)
        calibrator.deadline_ns = limits->ready_by_ns;
    calibrator.limits.ready_by_ns = limits->ready_by_ns;
    struct calibration *figures = &calibrator.record.figures;
    calibrator.limits_are_known = mps_limits_known(session, &calibrator.known) == STATUS_OK;
    /* In the order in which runs can share worker processes: by how they wait, MPS last. */
    bool backwards = goes_backwards(&calibrator);
    if (!backwards) {
        measure_awake(&calibrator, figures);
        measure_asleep(&calibrator, figures);
    }
    measure_launches(&calibrator, figures);
    measure_arithmetic(&calibrator, figures);
    measure_copies(&calibrator, figures);
    measure_singles(&calibrator, figures);
    measure_staging(&calibrator, figures);
    measure_pageable(&calibrator, figures);
    measure_crowd(&calibrator, figures);
    measure_shared(&calibrator, &figures->all);
    measure_mps(&calibrator, figures);
    if (backwards) {
        measure_asleep(&calibrator, figures);
        measure_awake(&calibrator, figures);
    }
    calibrator.record.seconds = (double)(clock_now_ns() - begin_ns) / 1e9;
    if (calibrator.status == STATUS_OK)
        *record = calibrator.record;
    return calibrator.status;
}
