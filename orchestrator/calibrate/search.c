#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "common/clock.h"
#include "orchestrator/calibrate/internal.h"
#include "orchestrator/calibrate/points.h"

/* Workers that begin together wait for each other in the first iteration, some of them not at all:
 * it must not be in the window. A run whose iterations turn out to be too long for its warm-up, or
 * too irregular for a window that grew this many times longer, is made again. */
#define LOOK 3
#define WARMUP_ITERATIONS 3
#define WARMUP_MOST_NS (2 * NS_PER_S)

/* Over MPS, where starting is dear, the search begins with this many processes a CPU. */
#define PROCESSES_PER_CPU 2

void calibrate_note(struct calibrator *calibrator, const char *format, ...)
{
    struct calibration_record *record = &calibrator->record;
    va_list arguments;
    if (record->note_count == CALIBRATION_NOTES)
        return;
    va_start(arguments, format);
    vsnprintf(record->notes[record->note_count++], CALIBRATION_NOTE_BYTES, format, arguments);
    va_end(arguments);
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
        .slots_most = point->processes > 1 ? point_slots(point) : CALIBRATE_MOST_THREADS,
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

double calibrate_measure(struct calibrator *calibrator, const struct point *point,
                         const char *figure, double *cpu_us)
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
        calibrate_note(calibrator, "%s: no time was left", what);
        return 0.0;
    }
    const struct mps_limits_row *row =
        calibrator->limits_are_known ? mps_limits_beyond(&calibrator->known, point) : NULL;
    if (row) {
        char why[CALIBRATION_NOTE_BYTES];
        calibrate_note(calibrator, "%s: %s", what,
                       mps_limits_why(&calibrator->known, row, point, why, sizeof why));
        calibrator->too_many = true;
        return 0.0;
    }
    if (calibrator->progress)
        calibrator->progress(calibrator->data, what, calibrator->done);
    calibrator->done += calibrator->done < calibrator->soon;
    run(calibrator, point, &result);
    if (result.status != STATUS_OK) {
        calibrate_note(calibrator, "%s: %s", what, result.error);
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

double calibrate_grow(struct calibrator *calibrator, struct point *point,
                      enum work_schedule schedule, const unsigned *counts, size_t count,
                      const char *figure)
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
        double ips = calibrate_measure(calibrator, point, figure, NULL);
        bool worth_it = ips > WORTH_IT * best;
        if (ips > best)
            calibrator->best = counts[i];
        best = fmax(best, ips);
        if (!worth_it)
            break;
    }
    return best;
}

/* Fewer processes than there are can serve, more cannot: the search goes down from a number that
 * ought to be enough, and up from there only if that was best. */
double calibrate_search_processes(struct calibrator *calibrator, struct point *point,
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
        double ips = calibrate_measure(calibrator, point, figure, NULL);
        more = ips > best || (best_at == count && calibrator->too_many);
        if (ips > best) {
            best = ips;
            best_at = i;
        }
    }
    more = best_at == first;
    for (size_t i = first + 1; i < count && more; i++) {
        calibrate_set_processes(point, counts[i]);
        double ips = calibrate_measure(calibrator, point, figure, NULL);
        more = ips > WORTH_IT * best;
        if (ips > best)
            best_at = i;
        best = fmax(best, ips);
    }
    calibrator->best = best_at < count ? counts[best_at] : 0;
    return best;
}

double calibrate_measure_all(struct calibrator *calibrator, const struct again *again,
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
    return calibrate_measure(calibrator, &all, name, NULL);
}
