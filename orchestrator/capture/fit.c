#include "orchestrator/capture/fit.h"

#include <math.h>
#include <string.h>

#include "orchestrator/capture/describe.h"

/* How often the workload is made to fit better, and how near is near enough. */
#define FITS 3
#define FITTED_REL 0.02
/* The most by which a time is corrected at once: one measurement may be odd. */
#define FIT_MOST 2.0

static bool is_host(const struct workload_step *step)
{
    return step->kind == STEP_WORK || step->kind == STEP_THINK;
}

/* What a step of the host takes where nothing has a part of its core. */
static double host_ns_of(const struct fit *fit, unsigned which)
{
    const struct workload_step *step = &fit->workload->steps[which];
    double ns = (double)step->amount * (double)workload_step_times(fit->workload->steps, which);
    return step->kind == STEP_WORK ? ns / fit->turns_per_ns : ns;
}

/* What can be made longer or shorter. */
static double adjustable_ns(const struct fit *fit, bool host)
{
    double sum_ns = 0.0;
    for (unsigned i = 0; i < fit->workload->count; i++) {
        const struct workload_step *step = &fit->workload->steps[i];
        if (host && is_host(step))
            sum_ns += host_ns_of(fit, i);
        else if (!host)
            sum_ns += (double)step->asked_ns * (double)workload_step_times(fit->workload->steps, i);
    }
    return sum_ns;
}

static void scale(struct workload *workload, bool host, double by)
{
    for (unsigned i = 0; i < workload->count; i++) {
        struct workload_step *step = &workload->steps[i];
        if (host && is_host(step))
            step->amount = capture_rounded(fmax(
                step->kind == STEP_THINK ? CAPTURE_HOST_NS_LEAST : 1.0, (double)step->amount * by));
        else if (!host)
            step->asked_ns = capture_rounded((double)step->asked_ns * by);
    }
}

/* Host time at the end of an iteration, after all that it gave the GPU: a copy to pageable memory
 * among copies to pinned memory, for example, keeps the host that long. */
static void add_host(struct fit *fit, double ns)
{
    struct workload *workload = fit->workload;
    double amount = fit->busy ? ns * fit->turns_per_ns : ns;
    const struct workload_step wait = {.kind = STEP_SYNCHRONIZE, .count = 1};
    struct workload_step host = {.kind = fit->busy ? STEP_WORK : STEP_THINK, .count = 1};
    struct workload_step *end = &workload->steps[workload->count];
    if (ns < CAPTURE_HOST_NS_LEAST || workload->count + 2 > WORKLOAD_STEPS)
        return;
    if (workload->count >= 2 && is_host(end - 1) && end[-2].kind == STEP_SYNCHRONIZE) {
        end[-1].amount = capture_rounded((double)end[-1].amount + amount);
        return;
    }
    if (end[-1].kind != STEP_SYNCHRONIZE)
        *end++ = wait;
    host.amount = capture_rounded(amount);
    *end++ = host;
    workload->count = (unsigned)(end - workload->steps);
}

/* Makes an iteration longer by so much, or shorter. What the host's times lack for a longer one the
 * kernels give, and the other way round, and what is missing even then is the host's; what is left
 * of a shorter one is for the next time. */
static void lengthen(struct fit *fit, double by_ns, bool host)
{
    const bool shorter = by_ns < 0.0;
    for (int i = 0; i < 2 && by_ns != 0.0; i++, host = !host) {
        double has_ns = adjustable_ns(fit, host);
        double to_ns = fmin(fmax(has_ns + by_ns, has_ns / FIT_MOST), has_ns * FIT_MOST);
        if (has_ns <= 0.0)
            continue;
        scale(fit->workload, host, to_ns / has_ns);
        if (shorter)
            return;
        by_ns -= to_ns - has_ns;
    }
    add_host(fit, by_ns);
}

/* How much longer it is than it is to be, as a share. */
static double off(const struct fit *fit)
{
    return fit->took_ns > 0.0 ? fit->took_ns / fit->asked_ns - 1.0 : (double)NAN;
}

/* Other work on the machine makes one that is too long, not one that is too short. */
static enum status measure_again(struct fit *fit)
{
    const struct workload same = *fit->workload;
    double before_ns = fit->took_ns;
    enum status status = fit->measure(fit, &same);
    fit->took_ns = fmin(fit->took_ns, before_ns);
    return status;
}

enum status fit_length(struct fit *fit)
{
    bool host = fit->host, hidden = false;
    enum status status = off(fit) > FITTED_REL ? measure_again(fit) : STATUS_OK;
    for (int i = 0; i < FITS && status == STATUS_OK; i++) {
        const struct workload best = *fit->workload;
        double best_ns = fit->took_ns, best_off = fabs(off(fit));
        double by_ns = fit->asked_ns - best_ns;
        if (!isfinite(best_off) || best_off <= FITTED_REL)
            break;
        if (hidden && by_ns > 0.0)
            add_host(fit, by_ns);
        else
            lengthen(fit, by_ns, host);
        status = fit->measure(fit, &best);
        bool refused = memcmp(&best, fit->workload, sizeof best) == 0;
        if (status == STATUS_OK && (refused || fabs(off(fit)) >= best_off)) {
            *fit->workload = best;
            fit->took_ns = best_ns;
            /* Where kernels cannot be shorter, the host's times can. */
            if (refused && !host) {
                host = true;
                continue;
            }
            /* The host's times may pass while the GPU is at work: then more of them change nothing,
             * or too much once they are longer than that. At the end they change what they are. */
            if (hidden || by_ns < 0.0)
                break;
            hidden = true;
        }
    }
    return status;
}
