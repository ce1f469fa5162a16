#include "orchestrator/capture/capture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"
#include "files/atomic_file.h"
#include "files/file_name.h"
#include "orchestrator/campaign/campaign.h"
#include "orchestrator/capture/internal.h"
#include "orchestrator/console/report.h"
#include "orchestrator/plan/device_choice.h"
#include "orchestrator/trace/run.h"

/* The most that a window grows for a program with slow iterations, seconds. */
#define LONGEST_S 30.0

static enum status take_name(struct capture *capture)
{
    struct workload unused;
    const char *given = options_text(capture->options, OPTION_RECORD_NAME);
    if (!given)
        return STATUS_OK;
    enum status status = workload_begin(given, &unused);
    if (status == STATUS_OK)
        snprintf(capture->name, sizeof capture->name, "%s", given);
    return status;
}

/* What is asked for, before a GPU is looked at. */
static enum status choose(struct capture *capture, struct job *job)
{
    const struct options *options = capture->options;
    const char *output = options_text(options, OPTION_OUTPUT);
    char layouts[CAPTURE_LAYOUTS_TEXT];
    if (!job->command)
        return status_set(STATUS_USAGE, "record needs a program: -- PROGRAM [ARGUMENT...]");
    if (!output)
        return status_set(STATUS_USAGE, "record needs --output FILE");
    enum status status = file_name_check(output, "a job", ".job");
    if (status == STATUS_OK)
        status = device_choice_check_single(options_text(options, OPTION_DEVICE), "a recording");
    if (status == STATUS_OK)
        status = trace_check_program(job->command);
    if (status == STATUS_OK)
        status = take_name(capture);
    if (status == STATUS_OK)
        status = atomic_file_check(output, 0);
    if (status == STATUS_OK)
        status =
            job_set(job, &option_table[OPTION_LAYOUT], capture_layouts(capture->crowd, layouts));
    if (status == STATUS_OK)
        status = plan_make(job, 1, &capture->plan);
    double duration = options_real(options, OPTION_DURATION);
    bool is_given = options_is_given(options, OPTION_DURATION);
    capture->limits = (struct round_limits){
        .duration_ns = (uint64_t)(duration * 1e9),
        .max_duration_ns = (uint64_t)((is_given ? duration : fmax(duration, LONGEST_S)) * 1e9),
        .fits_program = !is_given,
        .precision_rel = (double)INFINITY,
        .timeout_ns = (uint64_t)(options_real(options, OPTION_TIMEOUT) * 1e9),
    };
    return status;
}

static enum status run_plain(struct capture *capture)
{
    struct round_result result;
    capture_announce(capture, "measuring the program", 1);
    enum status status =
        capture_measure_alone(capture, &capture->plan.points[0], &result, &capture->fastest_ns);
    if (status == STATUS_OK) {
        capture->program_ns = histogram_quantile_ns(&result.latency, 0.5);
        double wall_ns = fmax(1.0, (double)result.cpu.wall_ns);
        /* What it had to wait for a CPU it would have used. */
        capture->cpu_share = (double)(result.cpu.cpu_ns + result.cpu.delay_ns) / wall_ns;
        capture->sleeps = (double)result.cpu.voluntary / fmax(1.0, (double)result.cpu.iterations);
    }
    round_result_release(&result);
    return status;
}

/* Of iterations that vary, the fastest window may only have had shorter ones. */
static void take_level(struct capture *capture)
{
    if (capture->alike == capture->iterations)
        capture->program_ns = fmin(capture->program_ns, capture->fastest_ns);
}

/* From the end of an iteration to the begin of the next: the shortest, which nothing held up. */
static double outside_ns(const struct timeline_iteration *marks, size_t count)
{
    uint64_t least_ns = UINT64_MAX;
    for (size_t i = 0; i <= count; i++)
        if (marks[i + 1].begin_ns >= marks[i].end_ns &&
            marks[i + 1].begin_ns - marks[i].end_ns < least_ns)
            least_ns = marks[i + 1].begin_ns - marks[i].end_ns;
    return least_ns == UINT64_MAX ? 0.0 : (double)least_ns;
}

/* The first is not taken, since with it tracing begins; each lasts until the next one begins. */
static enum status take_iterations(struct capture *capture)
{
    const struct timeline *timeline = &capture->timeline;
    const struct timeline_iteration *marks = timeline->iterations;
    size_t count = capture->iterations, taken = 0;
    if (timeline->iteration_count < count + 2 || timeline->full_at_ns)
        return status_set(
            STATUS_WORKER,
            "%u iterations have more than %d calls, kernels and copies: give a smaller "
            "--iterations",
            (unsigned)count, CAPTURE_RECORDS);
    struct captured_iteration *iterations = calloc(count, sizeof *iterations);
    enum status status =
        iterations ? STATUS_OK : status_set(STATUS_MEMORY, "out of memory for iterations");
    while (taken < count && status == STATUS_OK) {
        status = capture_iteration(timeline, marks[taken + 1].begin_ns, marks[taken + 2].begin_ns,
                                   &iterations[taken]);
        taken += status == STATUS_OK;
    }
    if (status == STATUS_OK)
        status = capture_median(iterations, count, &capture->iteration, &capture->alike);
    if (status == STATUS_OK)
        take_level(capture);
    capture->program_ns += outside_ns(marks, count);
    for (size_t i = 0; i < taken; i++)
        captured_iteration_release(&iterations[i]);
    free(iterations);
    return status;
}

static enum status run_traced(struct capture *capture)
{
    struct round_result result;
    struct point point = capture->plan.points[0];
    struct round_limits limits = capture->limits;
    point.work.iterations = capture->iterations + 2;
    limits.needs_no_window = true;
    capture_announce(capture, "tracing the program", 1);
    enum status status = trace_run_traced(&capture->session, &point, &limits, CAPTURE_RECORDS,
                                          &capture->buffer, &capture->timeline, &result);
    if (status == STATUS_OK && capture->timeline.processes[0].pid == 0)
        status = status_set(STATUS_WORKER,
                            "'%s' does not use the GPU through CUDA's driver: there "
                            "is nothing to record",
                            capture->job->command[0]);
    if (status == STATUS_OK)
        capture_name(capture);
    if (status == STATUS_OK)
        status = take_iterations(capture);
    round_result_release(&result);
    return status;
}

/* How alike they are alone, and with the crowd. */
static void print_alone(const struct capture *capture)
{
    double off = capture_difference(capture);
    if (!isfinite(off))
        return;
    printf("replay %.4g ms, program %.4g ms: %+.1f%%\n", capture->replay_ns / 1e6,
           capture->program_ns / 1e6, 100.0 * off);
    if (fabs(off) > CAPTURE_ALIKE_REL)
        report_notice("warning: the workload's iterations are not as long as the program's: what "
                      "its kernels are bound by, and what else it does, is not in it");
}

static void print_unlike_crowd(const struct capture *capture)
{
    char notice[192];
    const char *does = capture_crowd_difference(capture) > 0.0 ? "more" : "less";
    bool tried = capture->tried_blocks || capture->tried_cache;
    snprintf(notice, sizeof notice,
             "warning: beside others the workload does %s than the program%s: the difference may "
             "be on the host%s",
             does, tried ? ", whatever its kernels leave of the GPU" : "",
             tried ? "" : ", or between two measurements");
    report_notice(notice);
}

static void print_crowd(const struct capture *capture)
{
    double off = capture_crowd_difference(capture);
    if (!isfinite(off))
        return;
    char blocks[CAPTURE_BLOCKS_TEXT], replay[32], program[32];
    printf("with %u process%s over MPS: replay %s/s, program %s/s: %+.1f%%%s%s\n", capture->crowd,
           capture->crowd == 1 ? "" : "es",
           text_number(capture->replay_crowd_ips, replay, sizeof replay),
           text_number(capture->program_crowd_ips, program, sizeof program), 100.0 * off,
           !capture_has_kernels(capture) ? ""
           : capture->share.cached       ? ", with bound=cache and "
                                         : ", with ",
           capture_has_kernels(capture) ? capture_blocks(capture, blocks) : "");
    if (!capture_crowd_is_alike(capture))
        print_unlike_crowd(capture);
}

/* What the workload does is what most of them do; of others it has nothing. */
static void print_unlike(const struct capture *capture)
{
    char alike[CAPTURE_ALIKE_TEXT], notice[160];
    if (2 * capture->alike > capture->iterations)
        return;
    snprintf(notice, sizeof notice,
             "warning: of %zu iterations there are %s: the workload does what %s, and others may "
             "do more or less",
             capture->iterations, capture_alike(capture, alike),
             capture->alike > 1 ? "these do" : "the one of median length does");
    report_notice(notice);
}

static void print(const struct capture *capture)
{
    char alike[CAPTURE_ALIKE_TEXT];
    printf("recorded %zu iteration%s of %s (%s) on %s%s: %u step%s in '%s'\n", capture->iterations,
           capture->iterations == 1 ? "" : "s", capture->file, capture_alike(capture, alike),
           gpu_at(capture->session.gpus, 0)->name, session_mark(&capture->session),
           capture->workload.workload.count, capture->workload.workload.count == 1 ? "" : "s",
           options_text(capture->options, OPTION_OUTPUT));
    print_unlike(capture);
    print_alone(capture);
    print_crowd(capture);
}

static int run(struct capture *capture)
{
    campaign_notify_session(&capture->session, report_notice);
    enum status status = session_watch_signals(&capture->session);
    if (status == STATUS_OK)
        status = session_check_cupti(&capture->session, NULL, 0);
    if (status == STATUS_OK)
        status = run_plain(capture);
    if (status == STATUS_OK)
        status = run_traced(capture);
    if (status == STATUS_OK)
        status = capture_replay(capture);
    status = capture_end_crowd(capture, status);
    if (status == STATUS_OK)
        status = capture_write(capture, options_text(capture->options, OPTION_OUTPUT));
    if (status == STATUS_OK)
        print(capture);
    int result = report(status);
    return status == STATUS_WORKER ? EXIT_SOME_FAILED : result;
}

int capture_command(const struct invocation *invocation)
{
    struct job job = *invocation->job;
    struct capture capture = {.options = invocation->options,
                              .job = &job,
                              .lengths = json_array(),
                              .buffer = TRACE_BUFFER_EMPTY,
                              .beside = CREW_EMPTY,
                              .share.scale = 1.0};
    const struct session_request request = {.device = options_text(capture.options, OPTION_DEVICE)};
    int result = EXIT_BAD_SETUP;
    capture.iterations = (size_t)options_integer(capture.options, OPTION_RECORD_ITERATIONS);
    capture.crowd = (unsigned)options_integer(capture.options, OPTION_RECORD_CROWD);
    enum status status = choose(&capture, &job);
    if (status == STATUS_OK)
        status = session_open(&request, &capture.session);
    if (status != STATUS_OK) {
        report(status);
    } else {
        result = run(&capture);
        if (session_close(&capture.session) != STATUS_OK)
            result = report(STATUS_SYSTEM);
    }
    captured_iteration_release(&capture.iteration);
    timeline_release(&capture.timeline);
    trace_buffer_release(&capture.buffer);
    plan_release(&capture.plan);
    json_decref(capture.lengths);
    return result;
}
