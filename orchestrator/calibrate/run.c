#include "orchestrator/calibrate/run.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "job/layout_text.h"
#include "orchestrator/calibrate/points.h"
#include "orchestrator/session/mps_limits.h"

/* A window begins short, and grows until it shows a few percent: how slow iterations are, and how
 * regular, is not known before. */
#define WINDOW_NS (100 * NS_PER_MS)
#define WINDOW_MOST_NS (1500 * NS_PER_MS)
#define WINDOW_MOST 6 /* times the limits' duration, too */
#define PRECISION_REL 0.03

/* Workers that begin together wait for each other in the first iteration, some of them not at all:
 * it must not be in the window. A run whose iterations turn out to be too long for its warm-up, or
 * too irregular for a window that grew this many times longer, is made again. */
#define LOOK 3
#define WARMUP_ITERATIONS 3
#define WARMUP_MOST_NS (2 * NS_PER_S)

/* No run begins later: a GPU that another user keeps busy must not hold a sweep up. */
#define MOST_NS (120 * NS_PER_S)

/* More workers are tried as long as they give this much more. */
#define WORTH_IT 1.03

#define FILLERS                                                                                    \
    4 /* workers that keep the multiprocessors busy while each waits for its own kernels */

/* Over MPS, where starting is dear, the search begins with this many processes a CPU. */
#define PROCESSES_PER_CPU 2

/* What launching beside others costs can be seen where it is the only reason to be slower than
 * alone: with the workers' sum at so much of the nearest ceiling at most. */
#define CROWD_SHARE 0.5

/* What is measured on all GPUs, too, once everything of one is known: processes that are on one GPU
 * cannot serve several. */
enum { AGAIN_LAUNCHES, AGAIN_IN, AGAIN_OUT, AGAIN_BOTH, AGAIN_PAGEABLE, AGAIN };

struct again {
    struct point point;
    unsigned best; /* threads that gave most on one GPU; 0: it was not measured */
};

struct calibrator {
    struct session *session;
    unsigned gpus;       /* that the points have at most */
    unsigned done, soon; /* steps: behind us, and once what is being measured is known */
    struct again again[AGAIN];
    const struct point *like;
    struct round_limits limits;
    struct mps_limits known;
    bool limits_are_known;
    calibrate_progress progress;
    void *data;
    uint64_t deadline_ns;
    struct calibration_record record;
    struct crew *crew;  /* of the run before, parked, or empty */
    bool too_many;      /* the last run failed, and fewer workers might not */
    double p50_ns;      /* of the last run that did not fail */
    unsigned best;      /* threads or processes that gave most, of the last search for it */
    enum status status; /* of the session: nothing more is run unless it is OK */
};

__attribute__((format(printf, 2, 3))) static void note(struct calibrator *calibrator,
                                                       const char *format, ...)
{
    struct calibration_record *record = &calibrator->record;
    va_list arguments;
    if (record->note_count == CALIBRATION_NOTES)
        return;
    va_start(arguments, format);
    vsnprintf(record->notes[record->note_count++], CALIBRATION_NOTE_BYTES, format, arguments);
    va_end(arguments);
}

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

/* CPU time of an iteration; 0 where the warm-up did not end. */
static double cpu_us_of(const struct round_result *result)
{
    const struct shm_cpu *cpu = &result->cpu;
    return cpu->iterations ? (double)cpu->cpu_ns / 1e3 / (double)cpu->iterations : 0.0;
}

static uint64_t warmup_for(double iteration_ns)
{
    double warmup_ns = fmin(WARMUP_ITERATIONS * iteration_ns, (double)WARMUP_MOST_NS);
    return (uint64_t)fmax(warmup_ns, (double)CALIBRATE_WARMUP_NS);
}

static void run_once(struct calibrator *calibrator, const struct point *point,
                     const struct round_limits *limits, struct round_result *result)
{
    const struct turn turn = {
        .keeps = true,
        .threads_most = point->processes > 1 ? point->threads : CALIBRATE_MOST_THREADS,
    };
    calibrator->status =
        round_run_on(calibrator->session, point, limits, calibrator->crew, &turn, result);
}

/* Whether a run is to be made again, for its workers to be warm and its window long enough. */
static bool was_too_short(const struct calibrator *calibrator, const struct point *point,
                          const struct round_result *result)
{
    if (point_workers(point) == 1)
        return false;
    /* Measured, but nothing ended in the window. */
    if (result->status == STATUS_WORKER && result->window_s > 0.0 && result->iterations == 0)
        return true;
    return result->status == STATUS_OK &&
           (result->ci95_rel > calibrator->limits.precision_rel ||
            2.0 * histogram_quantile_ns(&result->latency, 0.5) > (double)point->work.warmup_ns);
}

static void run(struct calibrator *calibrator, const struct point *point,
                struct round_result *result)
{
    struct round_limits limits = calibrator->limits;
    bool looks = point_workers(point) > 1 && point->work.warmup_ns == CALIBRATE_WARMUP_NS &&
                 LOOK * limits.duration_ns < limits.max_duration_ns;
    if (looks)
        limits.max_duration_ns = LOOK * limits.duration_ns;
    run_once(calibrator, point, &limits, result);
    if (calibrator->status != STATUS_OK || !was_too_short(calibrator, point, result))
        return;
    struct point warmer = *point;
    double p50_ns = histogram_quantile_ns(&result->latency, 0.5);
    uint64_t warmup_ns = result->iterations > 0 ? warmup_for(p50_ns) : WARMUP_MOST_NS;
    if (warmup_ns > warmer.work.warmup_ns)
        warmer.work.warmup_ns = warmup_ns;
    else if (!looks)
        return; /* it would be the same again */
    round_result_release(result);
    run_once(calibrator, &warmer, &calibrator->limits, result);
}

/* One run. Iterations/s, or 0 with a note that names the figure. */
static double measure(struct calibrator *calibrator, const struct point *point, const char *figure,
                      double *cpu_us)
{
    char what[96];
    struct round_result result;
    double ips = 0.0;
    calibrator->too_many = false;
    if (calibrator->status != STATUS_OK)
        return 0.0;
    snprintf(what, sizeof what, "%s, %u %s", figure,
             point_over_mps(point) ? point->processes : point->threads,
             point_over_mps(point) ? "processes" : "threads");
    if (clock_now_ns() > calibrator->deadline_ns) {
        note(calibrator, "%s: no time was left", what);
        return 0.0;
    }
    const struct mps_limits_row *row =
        calibrator->limits_are_known ? mps_limits_beyond(&calibrator->known, point) : NULL;
    if (row) {
        char why[CALIBRATION_NOTE_BYTES];
        note(calibrator, "%s: %s", what,
             mps_limits_why(&calibrator->known, row, point, why, sizeof why));
        calibrator->too_many = true;
        return 0.0;
    }
    if (calibrator->progress)
        calibrator->progress(calibrator->data, what, calibrator->done);
    calibrator->done += calibrator->done < calibrator->soon;
    run(calibrator, point, &result);
    if (result.status != STATUS_OK) {
        note(calibrator, "%s: %s", what, result.error);
        calibrator->too_many = result.status == STATUS_INFEASIBLE;
    } else {
        ips = result.throughput_ips;
        calibrator->p50_ns = histogram_quantile_ns(&result.latency, 0.5);
        if (cpu_us)
            *cpu_us = cpu_us_of(&result);
    }
    round_result_release(&result);
    return ips;
}

/* The most that any number of threads gives, with the numbers growing until they give no more.
 * Threads that wait awake need a CPU each. */
static double grow(struct calibrator *calibrator, struct point *point, enum work_schedule schedule,
                   const unsigned *counts, size_t count, const char *figure)
{
    double best = 0.0;
    calibrator->best = counts[0];
    unsigned most = schedule == SCHEDULE_BLOCK ? UINT_MAX : calibrator->record.figures.cpus;
    for (size_t i = 0; i < count && (i == 0 || counts[i] <= most); i++) {
        /* A warm-up that the next run would be found to need. */
        double expected_ns = i > 0 ? calibrator->p50_ns * counts[i] / counts[i - 1] : 0.0;
        point->work.warmup_ns = warmup_for(expected_ns);
        calibrate_set_threads(point, counts[i]);
        point->work.schedule = schedule;
        double ips = measure(calibrator, point, figure, NULL);
        bool worth_it = ips > WORTH_IT * best;
        if (ips > best)
            calibrator->best = counts[i];
        best = fmax(best, ips);
        if (!worth_it)
            break;
    }
    return best;
}

#define GROW(calibrator, point, schedule, counts, figure)                                          \
    grow(calibrator, point, schedule, counts, sizeof(counts) / sizeof(counts)[0], figure)

/* The most that any number of processes over MPS gives. Fewer than there are can be had from the
 * same ones, more cannot: it goes down from a number that ought to be enough, and up from there
 * only if that was best. */
static double search_processes(struct calibrator *calibrator, struct point *point,
                               const char *figure)
{
    static const unsigned counts[] = {4, 8, 16, 32};
    size_t count = sizeof counts / sizeof counts[0], first = 0;
    unsigned enough = PROCESSES_PER_CPU * calibrator->record.figures.cpus;
    while (first + 1 < count && counts[first + 1] <= enough)
        first++;
    size_t best_at = count;
    double best = 0.0;
    bool more = true;
    for (size_t i = first + 1; i-- > 0 && more;) {
        calibrate_set_processes(point, counts[i]);
        double ips = measure(calibrator, point, figure, NULL);
        more = ips > best || (best_at == count && calibrator->too_many);
        if (ips > best) {
            best = ips;
            best_at = i;
        }
    }
    more = best_at == first;
    for (size_t i = first + 1; i < count && more; i++) {
        calibrate_set_processes(point, counts[i]);
        double ips = measure(calibrator, point, figure, NULL);
        more = ips > WORTH_IT * best;
        if (ips > best)
            best_at = i;
        best = fmax(best, ips);
    }
    calibrator->best = best_at < count ? counts[best_at] : 0;
    return best;
}

/* The same load on all GPUs at once, by as many threads or processes on each as gave most on one:
 * what it gives less than N times one, the GPUs share. */
static double measure_all(struct calibrator *calibrator, const struct again *again,
                          const char *figure)
{
    struct point all = again->point;
    char name[64];
    if (calibrator->gpus < 2 || again->best == 0)
        return 0.0;
    all.gpus = calibrator->gpus;
    if (point_over_mps(&all)) {
        calibrate_set_processes(&all, again->best);
    } else {
        calibrate_set_threads(&all, again->best);
        all.work.schedule = again->point.work.schedule;
    }
    snprintf(name, sizeof name, "%s on %u GPUs at once", figure, all.gpus);
    return measure(calibrator, &all, name, NULL);
}

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
        point.work.kernels * search_processes(calibrator, &point, "launches over MPS");
    const struct again again = {point, out->gpu_launches_per_s > 0.0 ? calibrator->best : 0};
    out->all.gpu_launches_per_s =
        point.work.kernels * measure_all(calibrator, &again, "launches over MPS");
}

static void measure_arithmetic(struct calibrator *calibrator, struct calibration *out)
{
    const struct work *work = &calibrator->like->work;
    double share;
    if (work->workload == WORKLOAD_DELAY) {
        note(calibrator, "arithmetic: the delay workload has none");
        return;
    }
    if (work->kernels == 0 || !lacks(calibrator, CALIBRATION_ARITHMETIC))
        return;
    struct point point = calibrate_arithmetic(calibrator->like, out->sms, &share);
    calibrate_set_threads(&point, FILLERS);
    double launches = point.work.kernels * measure(calibrator, &point, "arithmetic", NULL);
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
        double ips = grow(calibrator, &point, SCHEDULE_AUTO, &threads[i], 1, "pageable copies");
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
            *rows[i].to =
                rows[i].each * measure_all(calibrator, &calibrator->again[i], rows[i].figure);
}

static void measure_awake(struct calibrator *calibrator, struct calibration *out)
{
    struct point point = calibrate_single(calibrator->like);
    point.work.schedule = SCHEDULE_SPIN;
    expect_steps(calibrator, 1);
    measure(calibrator, &point, "alone, spinning", &out->single_spin_cpu_us);
}

static void measure_asleep(struct calibrator *calibrator, struct calibration *out)
{
    struct point point = calibrate_single(calibrator->like);
    point.work.schedule = SCHEDULE_BLOCK;
    expect_steps(calibrator, 2);
    measure(calibrator, &point, "alone, asleep", &out->single_stream_cpu_us);
    point.work.launch = LAUNCH_GRAPH;
    measure(calibrator, &point, "alone, graph, asleep", &out->single_graph_cpu_us);
}

static void measure_singles(struct calibrator *calibrator, struct calibration *out)
{
    struct point point = calibrate_single(calibrator->like);
    expect_steps(calibrator, 3);
    out->single_stream_ips = measure(calibrator, &point, "alone", NULL);
    point.work.launch = LAUNCH_GRAPH;
    out->single_graph_ips = measure(calibrator, &point, "alone, graph", NULL);
    point.work.launch = LAUNCH_STREAM;
    point.work.memory = MEMORY_PAGEABLE;
    out->single_pageable_ips = measure(calibrator, &point, "alone, pageable", NULL);
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
        note(calibrator, "workers beside each other: even two are near another ceiling");
        return;
    }
    struct point point = calibrate_single(calibrator->like);
    calibrate_set_threads(&point, workers);
    point.work.schedule = SCHEDULE_AUTO;
    out->crowd_stream_ips = measure(calibrator, &point, "beside each other", NULL);
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
