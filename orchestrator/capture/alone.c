#include "orchestrator/capture/internal.h"

#include <math.h>

#include "orchestrator/trace/run.h"

/* Of the CPUs, those that an iteration is measured on one after the other, in short windows. */
#define PARTS 8
/* A workload that was held up for less is measured on no others. */
#define HELD_UP_REL 0.02

/* What the workload's work on the host took longer than on a CPU with nothing beside it. */
static double held_up_ns(const struct capture *capture, const struct round_result *result)
{
    const struct workload *workload = &capture->workload.workload;
    double work_ns = 0.0, took_ns = histogram_quantile_ns(&result->latency, 0.5);
    const struct histogram *phases[] = {&result->phases.h2d, &result->phases.launch,
                                        &result->phases.sync, &result->phases.d2h};
    for (unsigned i = 0; i < workload->count; i++)
        if (workload->steps[i].kind == STEP_WORK)
            work_ns += (double)workload->steps[i].amount *
                       (double)workload_step_times(workload->steps, i) / capture->turns_per_ns;
    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++)
        if (phases[i]->count > 0)
            took_ns -= histogram_quantile_ns(phases[i], 0.5);
    return work_ns > 0.0 ? fmax(0.0, took_ns - work_ns) : 0.0;
}

/* One window on the crew. *fastest_ns becomes no more than it showed; *settled is whether others
 * will show no less. */
static enum status run_window(struct capture *capture, const struct point *point,
                              const struct round_limits *limits, struct crew *crew, bool keeps,
                              struct round_result *out, double *fastest_ns, bool *settled)
{
    const struct turn turn = {
        .starts = crew->pool.count == 0, .keeps = keeps, .slots_most = point_slots(point)};
    enum status status = round_run_on(&capture->session, point, limits, crew, &turn, out);
    *settled = false;
    if (status != STATUS_OK || out->status != STATUS_OK)
        return status;
    double took_ns = histogram_quantile_ns(&out->latency, 0.5);
    double held_ns = point_is_program(point) ? 0.0 : held_up_ns(capture, out);
    *fastest_ns = fmin(*fastest_ns, took_ns - held_ns);
    *settled = !point_is_program(point) && held_ns <= HELD_UP_REL * took_ns;
    return STATUS_OK;
}

/* A program may have ended by now, or not iterate on some CPUs: then there are fewer windows. */
static enum status run_on_parts(struct capture *capture, const struct point *point, unsigned parts,
                                struct crew *crew, double *fastest_ns)
{
    struct point brief = *point;
    struct round_limits limits;
    struct round_result result;
    bool settled = false;
    enum status status = STATUS_OK;
    capture_shorten(capture, *fastest_ns, &brief, &limits);
    limits.cpu_parts = parts;
    for (unsigned i = 0; i < parts && status == STATUS_OK && !settled; i++) {
        if (!crew_is_fit(crew, &capture->session, &brief))
            break;
        limits.cpu_part = i;
        status = run_window(capture, &brief, &limits, crew, i + 1 < parts, &result, fastest_ns,
                            &settled);
        round_result_release(&result);
    }
    return status;
}

enum status capture_measure_alone(struct capture *capture, const struct point *point,
                                  struct round_result *out, double *fastest_ns)
{
    struct crew crew = CREW_EMPTY;
    unsigned cpus = bind_usable_cpus(capture->session.topology);
    unsigned parts = cpus < 2 ? 0 : cpus < PARTS ? cpus : PARTS;
    const struct round_limits limits = capture_first_limits(capture, point);
    bool settled;
    *fastest_ns = (double)INFINITY;
    enum status status =
        run_window(capture, point, &limits, &crew, parts > 0, out, fastest_ns, &settled);
    status = trace_judge(status, out);
    if (status == STATUS_OK && !settled)
        status = run_on_parts(capture, point, parts, &crew, fastest_ns);
    return crew_dismiss_after(&crew, &capture->session, capture->limits.timeout_ns, status);
}
