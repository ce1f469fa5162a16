#include "orchestrator/capture/internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/host_work.h"
#include "orchestrator/capture/fit.h"
#include "orchestrator/console/report.h"
#include "orchestrator/trace/run.h"

/* What is found to be too short for a kernel of a given duration, at first, and where the search
 * for lengths gives up: such a GPU does not work. */
#define SHORT_NS 1200
#define SHORTEST_NS 100000

/* Of the workload, traced: the first does not count. */
#define TRACED_ITERATIONS 4
/* A kernel of less than this share of what was asked for is not the same any more. */
#define LEAST_LEFT 0.3

/* A wait or host time in which a thread may sleep. */
#define LONG_NS 50e3

/* Up to this, distance() counts as equal. */
#define CLEARLY 0.15

/* Of host time: one that used this share of a CPU does not sleep. */
#define COMPUTED_REL 0.25

/* The most that tracing adds to a call and its work. */
#define TRACED_CALL_NS 5e3

/* Other guests have cores for seconds: what was fastest until now is nearest to a CPU alone. */
static void learn_turns(struct capture *capture)
{
    double found = (double)host_work_turns_per_ms(NULL, 0) / (double)NS_PER_MS;
    capture->turns_per_ns = fmax(capture->turns_per_ns, found);
}

static enum status measure(struct capture *capture, struct replay *replay)
{
    struct round_result result;
    struct point *point = &replay->plan.points[0];
    point->work.warmup_ns = capture->plan.points[0].work.warmup_ns;
    capture_announce(capture, "measuring the workload", 1);
    learn_turns(capture);
    enum status status = capture_measure_alone(capture, point, &result, &capture->replay_ns);
    round_result_release(&result);
    return status;
}

/* The step of the next kernel, of iterations behind each other; the workload has kernels. */
static unsigned next_kernel(const struct workload *workload, struct workload_walk *walk,
                            unsigned step, uint32_t *left)
{
    while (*left == 0) {
        if (!workload_walk_next(walk, &step))
            *walk = (struct workload_walk){.steps = workload->steps, .count = workload->count};
        else if (workload_step_is_kernel(&workload->steps[step]))
            *left = workload->steps[step].count;
    }
    (*left)--;
    return step;
}

/* Means of how long CUPTI finds the kernels of each step, in the iterations but the first. False:
 * the trace has not the kernels of the workload. */
static bool read_durations(const struct timeline *timeline, const struct workload *workload,
                           double means_ns[WORKLOAD_STEPS])
{
    struct workload_walk walk = {.steps = workload->steps, .count = workload->count};
    uint64_t each = 0, seen = 0;
    uint32_t left = 0;
    unsigned step = 0;
    memset(means_ns, 0, WORKLOAD_STEPS * sizeof *means_ns);
    for (unsigned s = 0; s < workload->count; s++)
        if (workload_step_is_kernel(&workload->steps[s]))
            each += workload_step_times(workload->steps, s);
    for (uint32_t i = 0; i < timeline->count && each > 0; i++) {
        if (timeline->events[i].record.kind != TRACE_KERNEL)
            continue;
        step = next_kernel(workload, &walk, step, &left);
        if (seen++ >= each)
            means_ns[step] +=
                (double)timeline_duration_ns(&timeline->events[i]) /
                ((TRACED_ITERATIONS - 1) * (double)workload_step_times(workload->steps, step));
    }
    return each > 0 && seen == TRACED_ITERATIONS * each;
}

/* A duration of the grammar is what a kernel adds to a graph of its like, and CUPTI's is another:
 * the workload is traced as the program was, and asks for as much less, or more, as its kernels
 * differ from those of the program. */
static enum status translate_durations(struct capture *capture, const struct replay *replay)
{
    struct round_result result;
    struct trace_buffer buffer = TRACE_BUFFER_EMPTY;
    struct timeline timeline = {0};
    struct point point = replay->plan.points[0];
    struct round_limits limits = capture->limits;
    double got_ns[WORKLOAD_STEPS];
    struct workload *workload = &capture->workload.workload;
    point.work.warmup_ns = 0;
    point.work.iterations = TRACED_ITERATIONS;
    limits.needs_no_window = true;
    capture_announce(capture, "tracing the workload", 1);
    enum status status = trace_run_traced(&capture->session, &point, &limits, CAPTURE_RECORDS,
                                          &buffer, &timeline, &result);
    bool known = status == STATUS_OK && read_durations(&timeline, workload, got_ns);
    for (unsigned s = 0; s < workload->count && known; s++) {
        struct workload_step *step = &workload->steps[s];
        double asked_ns = (double)step->asked_ns, better_ns = 2.0 * asked_ns - got_ns[s];
        if (step->asked_ns && better_ns >= LEAST_LEFT * asked_ns)
            step->asked_ns = capture_rounded(better_ns);
    }
    round_result_release(&result);
    timeline_release(&timeline);
    trace_buffer_release(&buffer);
    return status;
}

/* Measures what the workload is now, but `before` if kernels cannot have its durations. */
static enum status measure_workload(struct capture *capture, const struct workload *before)
{
    struct replay replay;
    struct workload *workload = &capture->workload.workload;
    enum status status = replay_prepare(capture, &replay);
    if (status == STATUS_UNSUPPORTED && memcmp(before, workload, sizeof *before) != 0) {
        *workload = *before;
        replay_release(&replay);
        status = replay_prepare(capture, &replay);
    }
    if (status == STATUS_OK)
        status = measure(capture, &replay);
    replay_release(&replay);
    return status;
}

static enum status measure_fit(struct fit *fit, const struct workload *before)
{
    struct capture *capture = fit->data;
    enum status status = measure_workload(capture, before);
    fit->took_ns = capture->replay_ns;
    fit->turns_per_ns = capture->turns_per_ns;
    return status;
}

/* Makes the workload, which was measured, as long as the program. */
static enum status fit(struct capture *capture)
{
    struct fit fit = {.workload = &capture->workload.workload,
                      .asked_ns = capture->program_ns,
                      .took_ns = capture->replay_ns,
                      .host = capture->host_bound,
                      .busy = capture->busy,
                      .turns_per_ns = capture->turns_per_ns,
                      .measure = measure_fit,
                      .data = capture};
    enum status status = fit_length(&fit);
    capture->replay_ns = fit.took_ns;
    return status;
}

/* How much it does in the end, and not in the luckiest of several measurements. */
static enum status measure_crowd(struct capture *capture)
{
    struct replay replay;
    enum status status = replay_prepare(capture, &replay);
    if (status == STATUS_OK)
        status = capture_compare_crowd(capture, &replay.plan.points[1], CAPTURE_PAIRS_MOST);
    replay_release(&replay);
    return status;
}

/* Measures the workload with the durations that CUPTI finds to be the program's. */
static enum status translate_and_measure(struct capture *capture)
{
    struct replay replay;
    const struct workload before = capture->workload.workload;
    enum status status = replay_prepare(capture, &replay);
    if (status == STATUS_OK)
        status = translate_durations(capture, &replay);
    replay_release(&replay);
    return status == STATUS_OK ? measure_workload(capture, &before) : status;
}

/* The program in several processes over MPS: how much they leave of the GPU to each other is in no
 * trace. Without that the recording goes on, and the notice has the reason. */
static enum status start_crowd(struct capture *capture)
{
    enum status status = capture_start_crowd(capture);
    if (status == STATUS_OK || status == STATUS_INTERRUPTED)
        return status;
    char notice[1024];
    snprintf(notice, sizeof notice,
             "warning: with %u process%s over MPS the program could not be measured, so what it "
             "does beside others is not in the workload: %s",
             capture->crowd, capture->crowd == 1 ? "" : "es", status_text());
    report_notice(notice);
    capture->crowd = 0;
    return STATUS_OK;
}

/* Other blocks may have made an iteration alone a little longer, or shorter. Without MPS, as that
 * is measured, its daemon does not run. */
static enum status fit_again(struct capture *capture)
{
    const struct workload found = capture->workload.workload;
    enum status status = capture_end_crowd(capture, STATUS_OK);
    if (status == STATUS_OK)
        status = measure_workload(capture, &found);
    if (status == STATUS_OK)
        status = fit(capture);
    if (status != STATUS_OK)
        return status;
    status = capture_start_crowd(capture);
    /* What the program did before is still known. */
    return status == STATUS_WORKER ? STATUS_OK : status;
}

static enum status fit_both(struct capture *capture)
{
    const struct workload own = capture->workload.workload;
    enum status status = capture_fit_crowd(capture);
    if (status == STATUS_OK && memcmp(&own, &capture->workload.workload, sizeof own) != 0)
        status = fit_again(capture);
    return status == STATUS_OK && capture->crowd ? measure_crowd(capture) : status;
}

/* What tracing took is in the host's times: what the iteration was longer with it, but no more than
 * tracing can take, since a busy machine makes iterations longer, too. */
static double host_scale(const struct capture *capture)
{
    double host_ns = captured_host_ns(&capture->iteration);
    double excess_ns = fmin(capture->iteration.took_ns - capture->program_ns,
                            TRACED_CALL_NS * (double)capture->iteration.count);
    return host_ns > 0 && excess_ns > 0 ? fmax(0.0, 1.0 - excess_ns / host_ns) : 1.0;
}

/* How far a kind of program is from the share of a CPU that it used, and from how often it slept in
 * an iteration. Shares, since virtual CPUs may have been slower where it was traced. */
static double distance(const struct capture *capture, bool busy, bool spins)
{
    const struct captured_iteration *iteration = &capture->iteration;
    double host_ns = captured_host_ns(iteration), wait_ns = captured_wait_ns(iteration);
    double calls_ns = fmax(0.0, iteration->took_ns - host_ns - wait_ns);
    double cpu_ns = calls_ns + (busy ? host_ns : 0.0) + (spins ? wait_ns : 0.0);
    double gaps = iteration->after_ns >= LONG_NS, waits = 0.0;
    for (size_t i = 0; i < iteration->count; i++) {
        gaps += iteration->steps[i].before_ns >= LONG_NS;
        waits += iteration->steps[i].wait_ns >= LONG_NS;
    }
    double sleeps = (busy ? 0.0 : gaps) + (spins ? 0.0 : waits), most = fmax(1.0, gaps + waits);
    return fabs(capture->cpu_share - cpu_ns / iteration->took_ns) +
           fabs(fmin(capture->sleeps, most) - sleeps) / most;
}

/* Whether the program computes in its own time, or clearly sleeps; it waits for the GPU in either
 * way. One that computes and sleeps while it waits looks like one that sleeps and spins while it
 * waits, if both take as long. */
static bool host_is_busy(const struct capture *capture)
{
    double busy = fmin(distance(capture, true, true), distance(capture, true, false));
    double asleep = fmin(distance(capture, false, true), distance(capture, false, false));
    /* More than all calls and waits can have used, also where other threads have had its CPU. */
    if (capture->cpu_share > 1.0 - (1.0 - COMPUTED_REL) * captured_host_ns(&capture->iteration) /
                                       capture->iteration.took_ns)
        return true;
    return busy <= asleep + CLEARLY;
}

enum status capture_replay(struct capture *capture)
{
    capture->busy = host_is_busy(capture);
    learn_turns(capture);
    struct capture_choice choice = {
        .name = capture->name,
        .host_scale = host_scale(capture),
        .busy = capture->busy,
        .turns_per_ns = capture->turns_per_ns,
    };
    capture->host_bound = choice.host_scale * captured_host_ns(&capture->iteration) >
                          captured_wait_ns(&capture->iteration);
    for (;;) {
        enum status status = capture_describe(&capture->iteration, &choice, &capture->workload);
        if (status == STATUS_NOT_FOUND)
            return status_set(STATUS_WORKER,
                              "the iterations of '%s' give the GPU nothing: there is "
                              "nothing to record",
                              capture->job->command[0]);
        if (status == STATUS_OK)
            status = translate_and_measure(capture);
        if (status == STATUS_OK)
            status = fit(capture);
        if (status == STATUS_OK && capture->crowd && !capture->program_crowd_ips)
            status = start_crowd(capture);
        if (status == STATUS_OK && capture->crowd)
            status = fit_both(capture);
        if (status != STATUS_UNSUPPORTED || choice.least_kernel_ns >= SHORTEST_NS)
            return status;
        choice.least_kernel_ns = choice.least_kernel_ns ? choice.least_kernel_ns * 5 / 4 : SHORT_NS;
    }
}

double capture_difference(const struct capture *capture)
{
    return capture->replay_ns > 0 ? capture->replay_ns / capture->program_ns - 1.0 : (double)NAN;
}

double capture_crowd_difference(const struct capture *capture)
{
    return capture->replay_crowd_ips > 0
               ? capture->replay_crowd_ips / capture->program_crowd_ips - 1.0
               : (double)NAN;
}

bool capture_crowd_is_alike(const struct capture *capture)
{
    return fabs(capture_crowd_difference(capture)) <=
           CAPTURE_ALIKE_REL + fmin(capture->crowd_error, CAPTURE_ALIKE_REL);
}
