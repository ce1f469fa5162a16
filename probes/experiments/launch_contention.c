/*
 * Does a launch take longer when other threads of the process launch as well?
 *
 * Each worker launches a run of empty kernels into a stream of its own and waits for them, again
 * and again, all workers at once. A run is short enough for no queue to fill up, so that the calls
 * show what the host's side costs; what the GPU makes of it is in the second metric. Calls are
 * timed one by one, since the mean of a run would hold the pauses of a thread that has no CPU.
 */
#include <stdio.h>

#include "common/clock.h"
#include "common/text.h"
#include "kernels/image.h"
#include "probes/experiments/launchers.h"
#include "probes/outcome.h"
#include "probes/rows.h"

/* Launches of a run: two streams that share a queue of the driver's stay below its 1024 entries. */
#define RUN_LAUNCHES 256

/* Calls of which one is timed: a run must not be longer for it. */
#define TIMED_EVERY 16

/* Kernels of a graph, and graphs of a run. */
#define GRAPH_KERNELS 128
#define RUN_GRAPHS 2

enum metric { METRIC_CALL, METRIC_KERNEL };

/* A run: some of its calls are timed one by one, all of it as a whole. Times are given for one
 * kernel, whichever way it was launched. */
static enum status time_run(const struct launcher *launcher, bool count)
{
    struct probe_run *run = launcher->all->run;
    const struct cuda_driver *driver = &run->driver;
    const unsigned kernels = launcher->exec ? GRAPH_KERNELS : 1;
    const unsigned launches = launcher->exec ? RUN_GRAPHS : RUN_LAUNCHES;
    const unsigned every = launcher->exec ? 1 : TIMED_EVERY;
    uint64_t calls_ns[RUN_LAUNCHES / TIMED_EVERY];
    unsigned timed = 0;
    cuda_result result = CUDA_SUCCESS_;
    uint64_t begin_ns = clock_now_ns();
    for (unsigned i = 0; i < launches && result == CUDA_SUCCESS_; i++) {
        if (i % every != every - 1) {
            result = launcher_launch(launcher);
            continue;
        }
        uint64_t call_ns = clock_now_ns();
        result = launcher_launch(launcher);
        calls_ns[timed++] = clock_now_ns() - call_ns;
    }
    enum status status =
        cuda_check(driver, result, launcher->exec ? "cuGraphLaunch" : "cuLaunchKernel");
    if (status == STATUS_OK)
        status = probe_synchronize(run, launcher->stream);
    uint64_t end_ns = clock_now_ns();
    if (status != STATUS_OK || !count)
        return status;
    for (unsigned i = 0; i < timed; i++)
        probe_sample(run, METRIC_CALL, calls_ns[i] / kernels);
    probe_sample(run, METRIC_KERNEL, (end_ns - begin_ns) / (launches * kernels));
    return STATUS_OK;
}

/* A stream's first launches may do what later ones need not. */
static enum status prepare(struct launcher *launcher)
{
    return time_run(launcher, false);
}

static enum status measure(struct launcher *launcher)
{
    const struct probe_run *run = launcher->all->run;
    enum status status;
    uint64_t until_ns = clock_now_ns() + run->measure_ns;
    do
        status = time_run(launcher, true);
    while (status == STATUS_OK && clock_now_ns() < until_ns && !probe_is_over(run));
    return status;
}

static enum status run_arm(struct probe_run *run)
{
    const struct launchers_options options = {
        .kind = (enum launchers_kind)run->arm->variant,
        .count = (unsigned)run->arm->number,
        .kernel = KERNELS_EMPTY,
        .graph_kernels = GRAPH_KERNELS,
        .prepare = prepare,
        .measure = measure,
    };
    return launchers_run(run, &options);
}

/* -- notes ------------------------------------------------------------------------------------- */

static bool note_growth(const struct probe_outcome *outcome, struct probe_note *note)
{
    double thread = probe_outcome_median_us(outcome, "threads-1", METRIC_CALL);
    double threads = probe_outcome_median_us(outcome, "threads-8", METRIC_CALL);
    double client = probe_outcome_median_us(outcome, "mps-1", METRIC_CALL);
    double clients = probe_outcome_median_us(outcome, "mps-8", METRIC_CALL);
    if (!(thread > 0 && threads > 0 && client > 0 && clients > 0))
        return false;
    snprintf(note->text, sizeof note->text,
             "a launch call takes %.2f us in one thread and %.2f us in each of 8 (%.1f times as "
             "long); over MPS %.2f us in one process and %.2f us in each of 8 (%.1f times)",
             thread, threads, threads / thread, client, clients, clients / client);
    return true;
}

/* Kernels per second of all workers together. */
static bool note_rates(const struct probe_outcome *outcome, struct probe_note *note)
{
    static const struct {
        const char *arm, *what;
        double workers;
    } rows[] = {{"threads-1", "1 thread", 1},     {"threads-8", "8 threads", 8},
                {"threads-16", "16 threads", 16}, {"mps-8", "8 processes over MPS", 8},
                {"mps-16", "16 over MPS", 16},    {"graphs-8", "8 threads by graphs", 8}};
    struct text text = {.at = note->text, .size = sizeof note->text};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        double us = probe_outcome_median_us(outcome, rows[i].arm, METRIC_KERNEL);
        if (us > 0)
            text_append(&text, "%s %s %.2f",
                        text.length ? "," : "million kernels/s in total:", rows[i].what,
                        rows[i].workers / us);
    }
    return text.length > 0;
}

#define THREADS(n, given_control, given_flags)                                                     \
    {                                                                                              \
        .name = "threads-" #n, .what = (n) == 1 ? "1 thread" : #n " threads",                      \
        .control = (given_control), .flags = (given_flags), .series = "threads", .x = (n),         \
        .variant = LAUNCHERS_STREAMS, .number = (n), .run = run_arm                                \
    }
#define PROCESSES(given_name, given_what, given_control, given_series, n, given_flags)             \
    {                                                                                              \
        .name = (given_name), .what = (given_what), .control = (given_control),                    \
        .flags = (given_flags), .processes = (n), .series = (given_series), .x = (n),              \
        .variant = LAUNCHERS_STREAMS, .number = 1, .run = run_arm                                  \
    }
#define OTHERS(given_name, given_what, given_control, given_series, given_kind, n, given_flags)    \
    {                                                                                              \
        .name = (given_name), .what = (given_what), .control = (given_control),                    \
        .flags = (given_flags), .series = (given_series), .x = (n), .variant = (given_kind),       \
        .number = (n), .run = run_arm                                                              \
    }

static const struct probe_arm arms[] = {
    THREADS(1, NULL, 0),
    THREADS(2, "threads-1", PROBE_ARM_EXTRA),
    THREADS(4, "threads-1", PROBE_ARM_EXTRA),
    THREADS(8, "mps-8", 0),
    THREADS(16, "threads-1", 0),
    {.name = "threads-16-queues-32",
     .what = "16 threads, 32 queues",
     .control = "threads-1",
     .flags = PROBE_ARM_EXTRA,
     .connections = 32,
     .series = "threads, 32 queues",
     .x = 16,
     .variant = LAUNCHERS_STREAMS,
     .number = 16,
     .run = run_arm},
    PROCESSES("mps-1", "1 process over MPS", NULL, "processes over MPS", 1, PROBE_ARM_OVER_MPS),
    PROCESSES("mps-8", "8 processes over MPS", NULL, "processes over MPS", 8, PROBE_ARM_OVER_MPS),
    PROCESSES("mps-16", "16 processes over MPS", NULL, "processes over MPS", 16,
              PROBE_ARM_OVER_MPS | PROBE_ARM_EXTRA),
    PROCESSES("processes-8", "8 processes, no MPS", "mps-8", "processes", 8, 0),
    OTHERS("contexts-8", "8 threads, a context each", "mps-8", "threads, a context each",
           LAUNCHERS_CONTEXTS, 8, PROBE_ARM_EXTRA),
    OTHERS("graphs-1", "1 thread, graphs", "threads-1", "threads, graphs", LAUNCHERS_GRAPHS, 1,
           PROBE_ARM_EXTRA),
    OTHERS("graphs-8", "8 threads, graphs", "mps-8", "threads, graphs", LAUNCHERS_GRAPHS, 8, 0),
};

static const char *const remedies[] = {"graphs-8", "mps-8", NULL};

const struct probe probe_launch_contention = {
    .name = "launch-contention",
    .question = "does a launch take longer in threads of one process than in processes over MPS?",
    .method =
        "Each worker launches runs of 256 empty kernels into its own stream and waits for each "
        "run. Every 16th call is timed; of graphs, which have 128 kernels, each, and times are "
        "given for one kernel.",
    .metrics = {"launch call", "kernel, with the wait", NULL},
    .xlabel = "workers",
    .gpus = 1,
    .rounds = 3,
    .measure_ns = 150 * NS_PER_MS,
    .arms = arms,
    .arm_count = sizeof arms / sizeof arms[0],
    .subject = "threads-8",
    .matters_ratio = 1.5,
    .matters_ns = 500,
    .remedy = "launch many kernels as one graph, or spread the threads over processes over MPS, "
              "each of which has a launch path of its own",
    .remedies = remedies,
    .infer = {note_growth, note_rates},
};
