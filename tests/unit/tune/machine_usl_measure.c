#include "tests/unit/tune/machine_usl.h"

#include "explain/derive.h"
#include "orchestrator/calibrate/internal.h"
#include "tests/unit/tune/chance.h"
#include "tests/unit/tune/machine.h"

/* -- a calibration ----------------------------------------------------------------------------- */

/* A measurement of a calibration: short windows, and some figures are always off. */
struct gauge {
    uint64_t noise, bias;
};

static double read_gauge(struct gauge *gauge, double value)
{
    bool biased = chance_happens(&gauge->bias, 0.25);
    double by = 0.12 * chance_normal(&gauge->bias);
    return value * exp(0.025 * chance_normal(&gauge->noise) + (biased ? by : 0.0));
}

/* The same machine with another iteration. */
static struct tune_usl with_work(const struct tune_usl *usl, double kernels, double kernel_s,
                                 double bytes)
{
    struct tune_usl other = *usl;
    other.work = (struct usl_work){kernels, kernel_s, 0.001, bytes};
    return other;
}

/* A load of calibrations, and how much of it an iteration has. */
static struct tune_usl with_load(const struct tune_usl *usl, const struct calibrate_figure *figure,
                                 double *share)
{
    double kernels = figure->launch == LAUNCH_GRAPH ? 100.0 : 50.0;
    *share = 1.0;
    switch (figure->load) {
    case CALIBRATE_LAUNCHES:
        *share = kernels;
        return with_work(usl, kernels, 1.5e-6, 0.0);
    case CALIBRATE_COPIES:
        *share = usl->work.bytes;
        return with_work(usl, 0.0, 0.0, usl->work.bytes);
    default:
        return *usl;
    }
}

static struct usl_layout layout_of_figure(const struct tune_usl *usl,
                                          const struct calibrate_figure *figure)
{
    bool mps = figure->phase == CALIBRATE_MPS;
    bool processes = mps || figure->phase == CALIBRATE_SLICED;
    double workers = figure->workers, streams = figure->streams ? figure->streams : 1.0;
    if (mps)
        workers = fmin(workers, 2.0 * usl->cpus);
    if (figure->phase == CALIBRATE_AWAKE)
        workers = fmin(workers, usl->cpus);
    struct usl_layout layout = {
        .processes = processes ? workers : 1.0,
        .threads = processes ? 1.0 : workers,
        .streams = streams,
        .queues = mps ? 2.0 : 32.0,
        .share = 1.0,
        .mps = mps,
        .graph = figure->launch == LAUNCH_GRAPH,
        .pageable = figure->memory == MEMORY_PAGEABLE,
        .synced = figure->sync == SYNC_STREAM,
        .asleep = mps || figure->phase == CALIBRATE_ASLEEP,
        .polls = streams > 1.0,
        .near = true,
    };
    layout.slots = layout.threads * streams;
    /* Fewer processes than were hoped for can be clients. */
    while (mps && layout.processes > 1.0 && usl_layout_ips(usl, &layout) <= 0.0)
        layout.processes = floor(0.5 * layout.processes);
    return layout;
}

static void keep_run(const struct calibrate_figure *figure, const struct usl_layout *layout,
                     double ips, double cpus, struct calibration *out)
{
    const struct calibration_run run = {
        .mps = layout->mps,
        .processes = (unsigned)layout->processes,
        .threads = (unsigned)layout->threads,
        .streams = (unsigned)layout->streams,
        .memory = figure->memory,
        .sync = figure->sync,
        .launch = figure->launch,
        .schedule = layout->asleep ? SCHEDULE_BLOCK : SCHEDULE_AUTO,
        .ips = ips,
        .spread_rel = 0.02,
        .cpu_us = 1e6 * cpus / ips,
    };
    if (out->run_count < CALIBRATION_RUNS && !derive_run(out, &run))
        out->runs[out->run_count++] = run;
    derive_figures(out);
}

static void keep_part(enum calibration_part part, unsigned workers, double rate,
                      struct calibration *out)
{
    if (part == CALIBRATION_PROCESS_LAUNCHES)
        out->process_launches_per_s = rate;
    else if (part == CALIBRATION_GPU_LAUNCHES)
        out->gpu_launches_per_s = rate;
    else if (part == CALIBRATION_GRAPH_KERNELS)
        out->graph_kernels_per_s = rate;
    else if (part == CALIBRATION_ARITHMETIC)
        out->arithmetic_ips = rate;
    else if (part == CALIBRATION_BOTH)
        out->both_bytes_per_s = rate;
    else if (part == CALIBRATION_PAGEABLE)
        derive_staging(out, workers, rate);
}

/* Each figure as orchestrator/calibrate/ measures it: what a layout does there under a load. */
void usl_calibrate(const struct tune_truth *truth, unsigned seed, const struct point *like,
                   struct calibration *out)
{
    const struct tune_usl *usl = &truth->usl;
    double body_s = usl->work.kernels * usl->work.kernel_s * usl->work.share;
    struct gauge gauge = {.noise = UINT64_C(0xca11) + seed, .bias = UINT64_C(0xb1a5) + seed};
    *out = (struct calibration){.work = like->work, .cpus = truth->cpus, .sms = 100};
    for (size_t i = 0; i < calibrate_figure_count; i++) {
        const struct calibrate_figure *figure = &calibrate_figures[i];
        const struct usl_layout layout = layout_of_figure(usl, figure);
        double share;
        const struct tune_usl loaded = with_load(usl, figure, &share);
        double ips = usl_layout_ips(&loaded, &layout);
        if (figure->load == CALIBRATE_ARITHMETIC)
            ips = 1.0 / body_s;
        ips = read_gauge(&gauge, ips);
        if (figure->phase == CALIBRATE_ALL || ips <= 0.0)
            continue;
        if (figure->load == CALIBRATE_ITERATION)
            keep_run(figure, &layout, ips, usl_layout_cpus(usl, &layout, ips), out);
        else
            keep_part(figure->part, (unsigned)layout.threads, share * ips, out);
    }
}

/* -- a window ---------------------------------------------------------------------------------- */

/* Student's t with 3 degrees of freedom, with a variance of 1: most are small, some are not. */
static double heavy(uint64_t *random)
{
    double sum = 0.0, normal = chance_normal(random);
    for (int i = 0; i < 3; i++) {
        double each = chance_normal(random);
        sum += each * each;
    }
    return normal / sqrt(sum / 3.0) / sqrt(3.0);
}

/* Some sets of processes are slow, in all that they do; and each layout is a little different on
 * each of them. */
static double luck_of(const struct tune_usl *usl, const struct point *point, uint64_t set)
{
    uint64_t own = UINT64_C(0x5e75) + set * UINT64_C(0x10001);
    double slow = chance_happens(&own, usl->slow_sets) ? usl->slow_by : 0.0;
    own += (uint64_t)point->processes * 65537 + point_slots(point);
    random_next(&own);
    return usl->between * chance_normal(&own) - slow;
}

void usl_look(const struct tune_truth *truth, const struct point *point, double window_s,
              uint64_t set, uint64_t *random, struct tune_observation *out)
{
    const struct tune_usl *usl = &truth->usl;
    double ips = tune_truth_ips(truth, point), p99_us = tune_truth_p99_us(truth, point);
    *out = (struct tune_observation){.outcome = ips > 0.0 ? TUNE_MEASURED : TUNE_INFEASIBLE};
    out->crowded = usl_is_crowded(usl, point);
    out->full = ips <= 0.0 && !out->crowded;
    if (ips <= 0.0)
        return;
    double luck = luck_of(usl, point, set);
    /* Few iterations end in a window, or fewer: what is cut off at its ends. */
    double samples = ips * window_s, cut = 0.3 / fmax(samples, 1.0);
    double noise = hypot(usl->within / sqrt(window_s), cut);
    double stall = chance_happens(random, usl->stalls) ? 0.15 * chance_uniform(random) : 0.0;
    out->ips = out->value = ips * exp(luck - stall + noise * heavy(random));
    double half = hypot(1.96 * noise, 0.01) * exp(0.2 * chance_normal(random));
    out->low = out->value * fmax(1.0 - half, 0.01);
    out->high = out->value * (1.0 + half);
    double wide = 0.5 / sqrt(fmax(samples, 1.0) * 0.01);
    out->p99_us = p99_us * exp(0.3 * wide * chance_normal(random) - luck + stall);
    out->p99_low_us = samples > 100.0 ? out->p99_us * exp(-wide) : 0.0;
    out->p99_high_us = samples > 368.0 ? out->p99_us * exp(wide) : 0.0;
    out->cpus = tune_truth_cpus(truth, point) * (1.0 + 0.005 * chance_normal(random));
}
