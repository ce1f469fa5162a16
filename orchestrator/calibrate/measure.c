#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "common/clock.h"
#include "orchestrator/calibrate/internal.h"
#include "orchestrator/calibrate/points.h"

/* Workers that begin together wait for each other in the first iteration, some of them not at all:
 * it must not be in the window. A run whose iterations turn out to be too long for its warm-up is
 * made again. */
#define WARMUP_ITERATIONS 3
#define WARMUP_MOST_NS (2 * NS_PER_S)

#define MOST_WINDOWS 3 /* of a figure */

/* A window in which no iteration ends is made again, longer by this factor, up to the longest. */
#define LONGER 4
#define LONGEST_NS (10 * NS_PER_S)
/* Iterations that fit into a window, where it is known how long they are. */
#define WINDOW_ITERATIONS 2

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

static double calls_us_of(const struct round_result *result)
{
    const struct round_phases *phases = &result->phases;
    return (histogram_mean_ns(&phases->h2d) + histogram_mean_ns(&phases->launch) +
            histogram_mean_ns(&phases->d2h)) /
           1e3;
}

static uint64_t warmup_for(double iteration_ns)
{
    double warmup_ns = fmin(WARMUP_ITERATIONS * iteration_ns, (double)WARMUP_MOST_NS);
    return (uint64_t)fmax(warmup_ns, (double)CALIBRATE_WARMUP_NS);
}

/* In a window that is at least so long. */
static void run_for(struct calibrator *calibrator, const struct point *point, double window_ns,
                    struct round_result *result)
{
    const struct turn turn = {
        .keeps = true,
        .slots_most = point->processes > 1 ? point_slots(point) : CALIBRATE_MOST_THREADS,
    };
    struct round_limits limits = calibrator->limits;
    limits.duration_ns = (uint64_t)fmax(window_ns, (double)limits.duration_ns);
    if (limits.max_duration_ns < limits.duration_ns)
        limits.max_duration_ns = limits.duration_ns;
    calibrator->status =
        round_run_on(calibrator->session, point, &limits, calibrator->crew, &turn, result);
}

/* Measured, but nothing ended in the window. */
static bool was_empty(const struct round_result *result)
{
    return result->status == STATUS_WORKER && result->window_s > 0.0 && result->iterations == 0;
}

/* The longest window that ends by the deadline. */
static double longest_ns(const struct calibrator *calibrator)
{
    uint64_t now_ns = clock_now_ns();
    double left_ns =
        calibrator->deadline_ns > now_ns ? (double)(calibrator->deadline_ns - now_ns) : 0;
    return fmin(left_ns, (double)LONGEST_NS);
}

static void run_once(struct calibrator *calibrator, const struct point *point, double window_ns,
                     struct round_result *result)
{
    window_ns = fmin(window_ns, longest_ns(calibrator));
    run_for(calibrator, point, window_ns, result);
    while (calibrator->status == STATUS_OK && was_empty(result) &&
           window_ns < longest_ns(calibrator)) {
        window_ns = fmin(LONGER * result->window_s * NS_PER_S, longest_ns(calibrator));
        round_result_release(result);
        run_for(calibrator, point, window_ns, result);
    }
}

/* Whether a run is to be made again, for its workers to be warm. */
static bool was_too_short(const struct point *point, const struct round_result *result)
{
    if (point_workers(point) == 1)
        return false;
    return result->status == STATUS_OK &&
           2.0 * histogram_quantile_ns(&result->latency, 0.5) > (double)point->work.warmup_ns;
}

/* point: with a longer warm-up where it takes one. */
static void run_warm(struct calibrator *calibrator, struct point *point, double window_ns,
                     struct round_result *result)
{
    run_once(calibrator, point, window_ns, result);
    if (calibrator->status != STATUS_OK || !was_too_short(point, result))
        return;
    uint64_t warmup_ns = warmup_for(histogram_quantile_ns(&result->latency, 0.5));
    if (warmup_ns <= point->work.warmup_ns)
        return; /* it would be the same again */
    point->work.warmup_ns = warmup_ns;
    round_result_release(result);
    run_once(calibrator, point, window_ns, result);
}

/* Two standard errors of the mean of a few windows; of one, half of its own 95% interval. */
static double spread_of(const double *ips, unsigned count, double of_one)
{
    double sum = 0.0, squares = 0.0;
    if (count < 2)
        return isfinite(of_one) ? of_one : 1.0;
    for (unsigned i = 0; i < count; i++)
        sum += ips[i];
    double mean = sum / count;
    for (unsigned i = 0; i < count; i++)
        squares += (ips[i] - mean) * (ips[i] - mean);
    return 2.0 * sqrt(squares / (count - 1) / count) / mean;
}

static void repeat(struct calibrator *calibrator, struct point *point, double expected_ns,
                   const char *what, struct calibrate_measured *out)
{
    double ips[MOST_WINDOWS], sum = 0.0, cpu_us = 0.0, calls_us = 0.0, of_one = 0.0;
    unsigned count = 0;
    do {
        struct round_result result;
        run_warm(calibrator, point, WINDOW_ITERATIONS * expected_ns, &result);
        if (calibrator->status == STATUS_OK && result.status == STATUS_OK) {
            ips[count++] = result.throughput_ips;
            sum += result.throughput_ips;
            cpu_us += cpu_us_of(&result);
            calls_us += calls_us_of(&result);
            of_one = result.ci95_rel;
            expected_ns = fmax(expected_ns, histogram_quantile_ns(&result.latency, 0.5));
        } else if (calibrator->status == STATUS_OK && count == 0) {
            calibrate_note(calibrator, "%s: %s", what, result.error);
            calibrator->too_many = result.status == STATUS_INFEASIBLE;
        }
        bool failed = calibrator->status != STATUS_OK || result.status != STATUS_OK;
        round_result_release(&result);
        if (failed)
            break;
    } while (count < MOST_WINDOWS && spread_of(ips, count, of_one) > CALIBRATE_SPREAD_REL &&
             (clock_now_ns() < calibrator->repeat_until_ns || (count < 2 && !isfinite(of_one))));
    if (count > 0)
        *out = (struct calibrate_measured){.ips = sum / count,
                                           .spread_rel = spread_of(ips, count, of_one),
                                           .cpu_us = cpu_us / count,
                                           .calls_us = calls_us / count};
}

bool calibrate_measure(struct calibrator *calibrator, const struct point *point, const char *name,
                       double expected_s, struct calibrate_measured *out)
{
    char what[96];
    unsigned many = point->processes > 1 ? point->processes : point->threads;
    *out = (struct calibrate_measured){.ips = 0.0};
    calibrator->too_many = false;
    if (calibrator->status != STATUS_OK)
        return false;
    snprintf(what, sizeof what, "%s, %u %s%s", name, many,
             point->processes > 1 ? "process" : "thread",
             many == 1              ? ""
             : point->processes > 1 ? "es"
                                    : "s");
    if (clock_now_ns() > calibrator->deadline_ns) {
        calibrate_note(calibrator, "%s: no time was left", what);
        return false;
    }
    const struct mps_limits_row *row =
        calibrator->limits_are_known ? mps_limits_beyond(&calibrator->known, point) : NULL;
    if (row) {
        char why[CALIBRATION_NOTE_BYTES];
        calibrate_note(calibrator, "%s: %s", what,
                       mps_limits_why(&calibrator->known, row, point, why, sizeof why));
        calibrator->too_many = true;
        return false;
    }
    if (calibrator->progress)
        calibrator->progress(calibrator->data, what, calibrator->done);
    struct point warm = *point;
    warm.work.warmup_ns = warmup_for(expected_s * 1e9);
    repeat(calibrator, &warm, expected_s * 1e9, what, out);
    return out->ips > 0.0;
}
