#include "orchestrator/capture/internal.h"

#include <math.h>
#include <stdlib.h>

#include "common/clock.h"
#include "orchestrator/campaign/campaign.h"
#include "orchestrator/console/report.h"
#include "orchestrator/trace/run.h"

/* Where even this is too short for a kernel of a given duration, the GPU is none that runs. */
#define SHORTEST_NS 100000

/* The most that tracing adds to a call and its work. */
#define TRACED_CALL_NS 5e3

/* For how late a sleep ends. */
#define SLEEPS 15
#define SLEEP_NS (200 * NS_PER_US)

static enum status set(struct job *job, enum option_id id, const char *text)
{
    return job_set(job, &option_table[id], text);
}

/* A job of the one workload, alone. */
static enum status make_job(const struct captured_workload *captured, struct job *out)
{
    enum status status = job_load(NULL, out);
    if (status != STATUS_OK)
        return status;
    out->workloads = malloc(sizeof *out->workloads);
    if (!out->workloads)
        return status_set(STATUS_MEMORY, "out of memory for a workload");
    out->workloads[0] = captured->workload;
    out->workload_count = 1;
    status = set(out, OPTION_LAYOUT, "threads:1");
    if (status == STATUS_OK)
        status = set(out, OPTION_WORKLOAD, captured->workload.name);
    if (status == STATUS_OK)
        status = set(out, OPTION_LAUNCH, captured->graph ? "graph" : "stream");
    if (status == STATUS_OK)
        status = set(out, OPTION_MEMORY, captured->pageable ? "pageable" : "pinned");
    return status == STATUS_OK ? set(out, OPTION_SYNC, "none") : status;
}

static enum status run(struct capture *capture, struct plan *plan)
{
    struct round_result result;
    json_t *lengths = json_array();
    bool quiet = options_switch(capture->options, OPTION_QUIET);
    enum status status = lengths_find(&capture->session, plan->points, 1,
                                      capture->limits.timeout_ns, quiet, report_notice, lengths);
    json_decref(lengths);
    if (status != STATUS_OK)
        return status;
    plan->points[0].work.warmup_ns = capture->plan.points[0].work.warmup_ns;
    status = trace_run(&capture->session, &plan->points[0], &capture->limits, &result);
    if (status == STATUS_OK)
        capture->replay_ns = histogram_quantile_ns(&result.latency, 0.5);
    round_result_release(&result);
    return status;
}

static enum status measure(struct capture *capture)
{
    struct job job = {0};
    struct plan plan = {0};
    enum status status = make_job(&capture->workload, &job);
    if (status == STATUS_OK)
        status = plan_make(&job, 1, &plan);
    if (status == STATUS_OK)
        status = run(capture, &plan);
    plan_release(&plan);
    job_release(&job);
    return status;
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

/* Whether the program computes in its own time: which time of a CPU it would have used then or
 * else, whether it spins or sleeps while it waits for the GPU, and which of these is nearest. */
static bool host_is_busy(const struct capture *capture)
{
    double host_ns = captured_host_ns(&capture->iteration);
    double wait_ns = captured_wait_ns(&capture->iteration);
    double call_ns = fmax(0.0, capture->iteration.took_ns - host_ns - wait_ns);
    double cpu_ns = capture->cpu_ns - call_ns;
    double busy_ns = fmin(fabs(cpu_ns - host_ns), fabs(cpu_ns - host_ns - wait_ns));
    double asleep_ns = fmin(fabs(cpu_ns), fabs(cpu_ns - wait_ns));
    return busy_ns <= asleep_ns;
}

static int by_number(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* How much longer a sleep takes here than it was asked for, where no other thread has the CPU. */
static double sleep_lateness_ns(void)
{
    double late_ns[SLEEPS];
    for (unsigned i = 0; i < SLEEPS; i++) {
        uint64_t until_ns = clock_now_ns() + SLEEP_NS;
        clock_sleep_until(until_ns);
        late_ns[i] = (double)(clock_now_ns() - until_ns);
    }
    qsort(late_ns, SLEEPS, sizeof late_ns[0], by_number);
    return late_ns[SLEEPS / 4];
}

enum status capture_replay(struct capture *capture)
{
    struct capture_choice choice = {
        .name = capture->name,
        .host_scale = host_scale(capture),
        .busy = host_is_busy(capture),
        .lateness_ns = sleep_lateness_ns(),
    };
    for (;;) {
        enum status status = capture_describe(&capture->iteration, &choice, &capture->workload);
        if (status == STATUS_NOT_FOUND)
            return status_set(STATUS_WORKER,
                              "the iterations of '%s' give the GPU nothing: there is "
                              "nothing to record",
                              capture->job->command[0]);
        if (status == STATUS_OK)
            status = measure(capture);
        if (status != STATUS_UNSUPPORTED || choice.least_kernel_ns >= SHORTEST_NS)
            return status;
        choice.least_kernel_ns = choice.least_kernel_ns ? 2 * choice.least_kernel_ns : 1500;
    }
}

double capture_difference(const struct capture *capture)
{
    return capture->replay_ns > 0 ? capture->replay_ns / capture->program_ns - 1.0 : (double)NAN;
}
