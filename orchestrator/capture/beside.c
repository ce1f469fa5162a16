#include "orchestrator/capture/internal.h"

#include <math.h>

#include "orchestrator/console/report.h"
#include "orchestrator/trace/run.h"
#include "statistics/statistics.h"

/* Windows of each side are no more once the error of what they show is at most this share. Two may
 * agree by chance. */
#define PAIRS_LEAST 3
#define ERROR_REL 0.01

/* One window of a crowd, of all its processes together, which stay parked if all goes well. */
static enum status run_window(struct capture *capture, const struct point *point,
                              const struct round_limits *limits, struct crew *crew, double *ips)
{
    const struct turn turn = {
        .starts = crew->pool.count == 0, .keeps = true, .slots_most = point_slots(point)};
    struct round_result result;
    enum status status = round_run_on(&capture->session, point, limits, crew, &turn, &result);
    status = trace_judge(status, &result);
    *ips = status == STATUS_OK ? result.throughput_ips : 0.0;
    round_result_release(&result);
    if (status == STATUS_OK && !(*ips > 0.0))
        return status_set(STATUS_WORKER, "no iteration ended in the window");
    return status;
}

enum status capture_start_crowd(struct capture *capture)
{
    double ips = 0.0;
    struct point point = capture->plan.points[1];
    point.work.warmup_ns = capture->plan.points[0].work.warmup_ns;
    capture_announce(capture, "measuring the program", capture->crowd);
    enum status status = run_window(capture, &point, &capture->limits, &capture->beside, &ips);
    if (status == STATUS_OK)
        capture->program_crowd_ips = ips;
    return status;
}

/* A window of the program, if its processes are there and have not ended by now. */
static enum status run_program(struct capture *capture, const struct point *point,
                               const struct round_limits *limits, double *ips)
{
    double found_ips;
    if (capture->beside.pool.count == 0)
        return STATUS_OK;
    enum status status = STATUS_WORKER;
    if (crew_is_fit(&capture->beside, &capture->session, point))
        status = run_window(capture, point, limits, &capture->beside, &found_ips);
    if (status == STATUS_OK)
        *ips = found_ips;
    if (status != STATUS_WORKER)
        return status;
    report_notice("warning: the program's processes did not last while the workload was measured "
                  "beside them: it is compared with what they did before");
    return capture_end_crowd(capture, STATUS_OK);
}

/* One window of each side; without the program's processes what they did before stands. */
static enum status run_pair(struct capture *capture, const struct point *workload,
                            struct crew *crew, double *program_ips, double *replay_ips)
{
    double iteration_ns = capture->crowd * (double)NS_PER_S / capture->program_crowd_ips;
    struct point points[] = {*workload, capture->plan.points[1]};
    struct round_limits limits;
    *program_ips = capture->program_crowd_ips;
    for (unsigned i = 0; i < 2; i++) {
        points[i].work.warmup_ns = capture->plan.points[0].work.warmup_ns;
        capture_shorten(capture, iteration_ns, &points[i], &limits);
    }
    /* Not yet at work. */
    if (crew->pool.count == 0)
        points[0].work.warmup_ns = capture->plan.points[0].work.warmup_ns;
    enum status status = run_window(capture, &points[0], &limits, crew, replay_ips);
    return status == STATUS_OK ? run_program(capture, &points[1], &limits, program_ips) : status;
}

/* The standard error of their mean, as a share of it. */
static double error_of(const double *ratios, unsigned count)
{
    return count < PAIRS_LEAST ? (double)INFINITY
                               : statistics_ci95_rel(ratios, count) / statistics_t975(count - 1);
}

enum status capture_compare_crowd(struct capture *capture, const struct point *workload,
                                  unsigned pairs)
{
    struct crew crew = CREW_EMPTY;
    double ratios[CAPTURE_PAIRS_MOST], sum_ips = 0.0;
    unsigned count = 0;
    enum status status = STATUS_OK;
    capture_announce(capture, "measuring the workload", capture->crowd);
    while (count < pairs && error_of(ratios, count) > ERROR_REL && status == STATUS_OK) {
        double program_ips, replay_ips;
        status = run_pair(capture, workload, &crew, &program_ips, &replay_ips);
        /* There may be too many clients, or too little memory, for both crowds. */
        if (status == STATUS_WORKER && count == 0 && capture->beside.pool.count > 0) {
            status = capture_end_crowd(capture, STATUS_OK);
            continue;
        }
        if (status != STATUS_OK)
            break;
        ratios[count++] = replay_ips / program_ips;
        sum_ips += program_ips;
    }
    status = crew_dismiss_after(&crew, &capture->session, capture->limits.timeout_ns, status);
    if (status != STATUS_OK)
        return status;
    capture->program_crowd_ips = sum_ips / count;
    capture->replay_crowd_ips = capture->program_crowd_ips * statistics_mean(ratios, count);
    capture->crowd_error = error_of(ratios, count);
    return STATUS_OK;
}

enum status capture_end_crowd(struct capture *capture, enum status status)
{
    return crew_dismiss_after(&capture->beside, &capture->session, capture->limits.timeout_ns,
                              status);
}
