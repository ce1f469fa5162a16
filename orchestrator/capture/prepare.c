#include "orchestrator/capture/internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "orchestrator/campaign/campaign.h"
#include "orchestrator/console/report.h"

/* A short window, at least, and its warm-up; and the iterations that fit in. */
#define SHORT_NS (NS_PER_S / 5)
#define SHORT_WARMUP_NS (NS_PER_S / 10)
#define SEVERAL 10

void capture_announce(const struct capture *capture, const char *what, unsigned processes)
{
    char text[96];
    if (options_switch(capture->options, OPTION_QUIET))
        return;
    if (processes > 1)
        snprintf(text, sizeof text, "%s in %u processes over MPS", what, processes);
    else
        snprintf(text, sizeof text, "%s alone", what);
    report_notice(text);
}

/* The length of a window, at least `least_ns`, in which several iterations fit. */
static uint64_t window_ns(const struct capture *capture, uint64_t least_ns, double iteration_ns)
{
    double several_ns = fmax((double)least_ns, SEVERAL * iteration_ns);
    return (uint64_t)fmin(several_ns, (double)capture->limits.max_duration_ns);
}

struct round_limits capture_first_limits(const struct capture *capture, const struct point *point)
{
    struct round_limits limits = capture->limits;
    /* Only a program's window grows by itself until it has enough. */
    if (!point_is_program(point))
        limits.duration_ns = window_ns(capture, limits.duration_ns, capture->program_ns);
    return limits;
}

void capture_shorten(const struct capture *capture, double iteration_ns, struct point *point,
                     struct round_limits *limits)
{
    *limits = capture->limits;
    limits->fits_program = false;
    limits->duration_ns = window_ns(capture, SHORT_NS, iteration_ns);
    if (point->work.warmup_ns > SHORT_WARMUP_NS)
        point->work.warmup_ns = SHORT_WARMUP_NS;
}

const char *capture_layouts(unsigned crowd, char out[CAPTURE_LAYOUTS_TEXT])
{
    if (crowd)
        snprintf(out, CAPTURE_LAYOUTS_TEXT, "threads:1,processes+mps:%u", crowd);
    else
        snprintf(out, CAPTURE_LAYOUTS_TEXT, "threads:1");
    return out;
}

static enum status set(struct job *job, enum option_id id, const char *text)
{
    return job_set(job, &option_table[id], text);
}

/* A job of the one workload, alone and with the crowd. */
static enum status make_job(const struct captured_workload *captured, unsigned crowd,
                            struct job *out)
{
    char layouts[CAPTURE_LAYOUTS_TEXT];
    enum status status = job_load(NULL, out);
    if (status != STATUS_OK)
        return status;
    out->workloads = malloc(sizeof *out->workloads);
    if (!out->workloads)
        return status_set(STATUS_MEMORY, "out of memory for a workload");
    out->workloads[0] = captured->workload;
    out->workload_count = 1;
    status = set(out, OPTION_LAYOUT, capture_layouts(crowd, layouts));
    if (status == STATUS_OK)
        status = set(out, OPTION_WORKLOAD, captured->workload.name);
    if (status == STATUS_OK)
        status = set(out, OPTION_LAUNCH, captured->graph ? "graph" : "stream");
    if (status == STATUS_OK)
        status = set(out, OPTION_MEMORY, captured->pageable ? "pageable" : "pinned");
    return status == STATUS_OK ? set(out, OPTION_SYNC, "none") : status;
}

enum status replay_prepare(struct capture *capture, struct replay *out)
{
    *out = (struct replay){0};
    enum status status = make_job(&capture->workload, capture->crowd, &out->job);
    if (status == STATUS_OK)
        status = plan_make(&out->job, 1, &out->plan);
    if (status == STATUS_OK)
        status = lengths_find(&capture->session, out->plan.points, out->plan.count,
                              capture->limits.timeout_ns, true, report_notice, capture->lengths);
    return status;
}

void replay_release(struct replay *replay)
{
    plan_release(&replay->plan);
    job_release(&replay->job);
}
