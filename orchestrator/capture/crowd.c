#include "orchestrator/capture/internal.h"

#include <math.h>
#include <stdint.h>

/* How many numbers of blocks are tried, and where the host keeps the GPU waiting, so that they
 * hardly matter. */
#define TRIES 8
#define TRIES_HOST_BOUND 3
/* Windows of each side for one of them, at most. */
#define PAIRS 4
/* Near enough: starts of one program differ by as much. */
#define NEAR_REL 0.05

/* Blocks with which one kernel leaves no room on the GPU. */
static double full_blocks(const struct capture *capture, const struct workload_step *step)
{
    double sms = gpu_at(capture->session.gpus, 0)->sms;
    return fmax(1.0, floor(sms * CAPTURE_SM_THREADS / step->threads));
}

static void change(const struct capture *capture, const struct share *share,
                   struct workload *workload)
{
    for (unsigned i = 0; i < workload->count; i++) {
        struct workload_step *step = &workload->steps[i];
        double blocks = round(step->blocks * share->scale);
        if (!workload_step_is_kernel(step))
            continue;
        if (share->scale > 1.0)
            blocks = fmax(step->blocks, fmin(blocks, full_blocks(capture, step)));
        step->blocks = (uint32_t)fmax(1.0, blocks);
        if (step->asked_ns)
            step->kind = share->cached ? STEP_CACHE : STEP_COMPUTE;
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
        /* A host that keeps the GPU waiting is what holds up the processes, too. */
        search->can_load |= step->asked_ns > 0 && !capture->host_bound;
        search->least = fmin(search->least, 1.0 / step->blocks);
        search->most = fmax(search->most, full_blocks(capture, step) / step->blocks);
    }
}

struct fitting {
    struct capture *capture;
    struct captured_workload own; /* with the program's blocks, and kernels that compute */
    double own_off;               /* of its ratio, as a logarithm: the nearer one of two */
};

/* STATUS_UNSUPPORTED: such a kernel cannot be as short as it was. Then the search goes back: the
 * workload must not become another one where it is alone. */
static enum status measure(void *data, struct share *share)
{
    struct fitting *fitting = data;
    struct capture *capture = fitting->capture;
    struct replay replay;
    capture->workload = fitting->own;
    change(capture, share, &capture->workload.workload);
    enum status status = replay_prepare(capture, &replay);
    if (status == STATUS_OK)
        status = capture_compare_crowd(capture, &replay.plan.points[1], PAIRS);
    if (status == STATUS_OK) {
        capture->tried_blocks |= share->scale != 1.0;
        capture->tried_cache |= share->cached;
        share->ratio = capture->replay_crowd_ips / capture->program_crowd_ips;
        share->error = capture->crowd_error;
        if (share->scale == 1.0 && !share->cached)
            fitting->own_off = fmin(fitting->own_off, fabs(log(share->ratio)));
    }
    replay_release(&replay);
    return status;
}

enum status capture_fit_crowd(struct capture *capture)
{
    struct fitting fitting = {
        .capture = capture, .own = capture->workload, .own_off = (double)INFINITY};
    struct share_search search = {.near_rel = NEAR_REL,
                                  .tries = capture->host_bound ? TRIES_HOST_BOUND : TRIES,
                                  .measure = measure,
                                  .data = &fitting};
    struct share own = {.scale = 1.0}, found = own;
    find_bounds(capture, &search);
    enum status status = share_find(&search, &found);
    struct share again = found;
    const bool differs = found.cached || found.scale != own.scale;
    /* The nearest of several may only have been lucky: it is measured again, as its rival is. */
    if (status == STATUS_OK && differs)
        status = measure(&fitting, &own);
    if (status == STATUS_OK && differs)
        status = measure(&fitting, &again);
    capture->workload = fitting.own;
    if (status != STATUS_OK)
        return status;
    double found_off = fmax(fabs(log(found.ratio)), fabs(log(again.ratio)));
    capture->share = found_off <= (1.0 - SHARE_HELPS_REL) * fitting.own_off ? found : own;
    change(capture, &capture->share, &capture->workload.workload);
    return STATUS_OK;
}
