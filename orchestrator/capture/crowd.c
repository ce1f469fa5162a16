#include "orchestrator/capture/internal.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>

#include "orchestrator/capture/share.h"
#include "orchestrator/trace/run.h"

/* How often the workload is measured with the crowd, and how near is near enough: starts of one
 * program differ by as much. */
#define TRIES 8
#define NEAR_REL 0.05
/* Other blocks must bring the workload at least that share of the way to the program: less is
 * noise, and something else than a share of the GPU keeps them apart. */
#define HELPS_REL 0.5

const char *capture_layouts(unsigned crowd, char out[CAPTURE_LAYOUTS_TEXT])
{
    if (crowd)
        snprintf(out, CAPTURE_LAYOUTS_TEXT, "threads:1,processes+mps:%u", crowd);
    else
        snprintf(out, CAPTURE_LAYOUTS_TEXT, "threads:1");
    return out;
}

enum status capture_measure_crowd(struct capture *capture, const struct point *point,
                                  struct round_result *out)
{
    struct point crowd = *point;
    crowd.work.warmup_ns = capture->plan.points[0].work.warmup_ns;
    capture_announce(capture,
                     point_is_program(point) ? "measuring the program" : "measuring the workload",
                     capture->crowd);
    enum status status = trace_run(&capture->session, &crowd, &capture->limits, out);
    if (status == STATUS_OK && !(out->throughput_ips > 0.0))
        return status_set(STATUS_WORKER, "no iteration ended in the window");
    return status;
}

/* Blocks with which one kernel leaves no room on the GPU. */
static double full_blocks(const struct capture *capture, const struct workload_step *step)
{
    double sms = gpu_at(capture->session.gpus, 0)->sms;
    return fmax(1.0, floor(sms * CAPTURE_SM_THREADS / step->threads));
}

static void scale_blocks(const struct capture *capture, double by, struct workload *workload)
{
    for (unsigned i = 0; i < workload->count; i++) {
        struct workload_step *step = &workload->steps[i];
        double blocks = round(step->blocks * by);
        if (!workload_step_is_kernel(step))
            continue;
        if (by > 1.0)
            blocks = fmax(step->blocks, fmin(blocks, full_blocks(capture, step)));
        step->blocks = (uint32_t)fmax(1.0, blocks);
    }
}

/* Beyond these every kernel has one block, or fills the GPU. */
static void find_bounds(const struct capture *capture, struct share_search *search)
{
    const struct workload *workload = &capture->workload.workload;
    search->least = search->most = 1.0;
    for (unsigned i = 0; i < workload->count; i++) {
        const struct workload_step *step = &workload->steps[i];
        if (!workload_step_is_kernel(step))
            continue;
        search->least = fmin(search->least, 1.0 / step->blocks);
        search->most = fmax(search->most, full_blocks(capture, step) / step->blocks);
    }
}

struct fitting {
    struct capture *capture;
    struct captured_workload own; /* with the program's blocks */
    double own_off;               /* of its ratio, as a logarithm: the nearer one of two */
    struct captured_workload best;
    double best_off;
};

/* STATUS_UNSUPPORTED: with that many blocks a kernel cannot be as short as it was. Then the search
 * goes back: the workload must not become another one where it is alone. */
static enum status prepare(const struct fitting *fitting, double scale, struct replay *replay)
{
    struct captured_workload *workload = &fitting->capture->workload;
    *workload = fitting->own;
    scale_blocks(fitting->capture, scale, &workload->workload);
    return replay_prepare(fitting->capture, replay);
}

static enum status measure(void *data, double scale, double *ratio)
{
    struct fitting *fitting = data;
    struct capture *capture = fitting->capture;
    struct replay replay;
    struct round_result result = {0};
    enum status status = prepare(fitting, scale, &replay);
    if (status == STATUS_OK)
        status = capture_measure_crowd(capture, &replay.plan.points[1], &result);
    if (status == STATUS_OK) {
        *ratio = result.throughput_ips / capture->program_crowd_ips;
        double off = fabs(log(*ratio));
        if (scale == 1.0)
            fitting->own_off = fmin(fitting->own_off, off);
        if (off < fitting->best_off) {
            fitting->best = capture->workload;
            fitting->best_off = off;
        }
    }
    round_result_release(&result);
    replay_release(&replay);
    return status;
}

enum status capture_fit_crowd(struct capture *capture)
{
    struct fitting fitting = {.capture = capture,
                              .own = capture->workload,
                              .own_off = (double)INFINITY,
                              .best_off = (double)INFINITY};
    struct share_search search = {
        .near_rel = NEAR_REL, .tries = TRIES, .measure = measure, .data = &fitting};
    struct share found;
    find_bounds(capture, &search);
    double again;
    enum status status = share_find(&search, &found);
    if (status == STATUS_OK && found.scale != 1.0)
        status = measure(&fitting, 1.0, &again);
    capture->workload = fitting.own;
    if (status != STATUS_OK)
        return status;
    bool helps = fitting.best_off <= (1.0 - HELPS_REL) * fitting.own_off;
    capture->workload = helps ? fitting.best : fitting.own;
    capture->blocks_scale = helps ? found.scale : 1.0;
    return STATUS_OK;
}
