/*
 * Does a launch take longer when other threads of the process launch as well?
 *
 * Each worker launches a run of empty kernels into a stream of its own and waits for them, again
 * and again, all workers at once. A run is short enough for no queue to fill up, so that the calls
 * show what the host's side costs; what the GPU makes of it is in the second metric. Calls are
 * timed one by one, since the mean of a run would hold the pauses of a thread that has no CPU.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/text.h"
#include "kernels/image.h"
#include "probes/outcome.h"
#include "probes/rows.h"

/* Launches of a run: two streams that share a queue of the driver's stay below its 1024 entries. */
#define RUN_LAUNCHES 256

/* Calls of which one is timed: a run must not be longer for it. */
#define TIMED_EVERY 16

/* Kernels of a graph, and graphs of a run. */
#define GRAPH_KERNELS 128
#define RUN_GRAPHS 2

#define WORKERS_MOST 16

enum kind { KIND_STREAMS, KIND_CONTEXTS, KIND_GRAPHS };
enum metric { METRIC_CALL, METRIC_KERNEL };

struct worker {
    pthread_t thread;
    bool started;
    struct group *group;
    cuda_context context; /* an own one, or NULL */
    cuda_module module;
    cuda_function empty;
    cuda_stream stream;
    cuda_graph graph;
    cuda_graph_exec exec;
    enum status status; /* of the thread, once it has ended, with */
    char error[256];
};

struct group {
    struct probe_run *run;
    struct probe_gpu gpu;
    enum kind kind;
    unsigned count;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned ready; /* under the lock, as the next */
    enum { START_WAIT, START_GO, START_QUIT } start;
    struct worker workers[WORKERS_MOST];
};

static enum status launch(const struct worker *worker)
{
    return probe_launch(worker->group->run, worker->empty, 32, worker->stream);
}

static enum status make_graph(struct worker *worker)
{
    struct probe_run *run = worker->group->run;
    enum status status =
        PROBE_CALL(run, stream_begin_capture, worker->stream, CUDA_CAPTURE_MODE_THREAD_LOCAL);
    for (unsigned i = 0; i < GRAPH_KERNELS && status == STATUS_OK; i++)
        status = launch(worker);
    if (status == STATUS_OK)
        status = PROBE_CALL(run, stream_end_capture, worker->stream, &worker->graph);
    if (status == STATUS_OK)
        status = PROBE_CALL(run, graph_instantiate, &worker->exec, worker->graph, 0);
    return status;
}

/* In the thread that opens the group. */
static enum status open_worker(struct group *group, struct worker *worker)
{
    struct probe_run *run = group->run;
    enum status status = STATUS_OK;
    worker->group = group;
    worker->empty = group->gpu.empty;
    if (group->kind == KIND_CONTEXTS) {
        status = PROBE_CALL(run, ctx_create, &worker->context, 0, group->gpu.device);
        if (status == STATUS_OK)
            status = probe_module_load(run, &worker->module);
        if (status == STATUS_OK)
            status =
                PROBE_CALL(run, module_get_function, &worker->empty, worker->module, KERNELS_EMPTY);
    }
    if (status == STATUS_OK)
        status = probe_new_stream(run, &worker->stream);
    if (status == STATUS_OK && group->kind == KIND_GRAPHS)
        status = make_graph(worker);
    return status;
}

static void close_worker(struct group *group, struct worker *worker)
{
    const struct cuda_driver *driver = &group->run->driver;
    /* The samples are given already: errors change nothing. */
    if (worker->context)
        driver->ctx_set_current(worker->context);
    if (worker->exec)
        driver->graph_exec_destroy(worker->exec);
    if (worker->graph)
        driver->graph_destroy(worker->graph);
    probe_destroy_stream(group->run, worker->stream);
    if (worker->module)
        driver->module_unload(worker->module);
    if (worker->context)
        driver->ctx_destroy(worker->context);
}

/* One launch: a kernel, or a graph of them. */
static cuda_result launch_once(const struct worker *worker, const struct cuda_driver *driver)
{
    return worker->exec ? driver->graph_launch(worker->exec, worker->stream)
                        : driver->launch_kernel(worker->empty, 1, 1, 1, 32, 1, 1, 0, worker->stream,
                                                NULL, NULL);
}

/* A run: some of its calls are timed one by one, all of it as a whole. Times are given for one
 * kernel, whichever way it was launched. */
static enum status time_run(const struct worker *worker, bool count)
{
    struct probe_run *run = worker->group->run;
    const struct cuda_driver *driver = &run->driver;
    const unsigned kernels = worker->exec ? GRAPH_KERNELS : 1;
    const unsigned launches = worker->exec ? RUN_GRAPHS : RUN_LAUNCHES;
    const unsigned every = worker->exec ? 1 : TIMED_EVERY;
    uint64_t calls_ns[RUN_LAUNCHES / TIMED_EVERY];
    unsigned timed = 0;
    cuda_result result = CUDA_SUCCESS_;
    uint64_t begin_ns = clock_now_ns();
    for (unsigned i = 0; i < launches && result == CUDA_SUCCESS_; i++) {
        if (i % every != every - 1) {
            result = launch_once(worker, driver);
            continue;
        }
        uint64_t call_ns = clock_now_ns();
        result = launch_once(worker, driver);
        calls_ns[timed++] = clock_now_ns() - call_ns;
    }
    enum status status =
        cuda_check(driver, result, worker->exec ? "cuGraphLaunch" : "cuLaunchKernel");
    if (status == STATUS_OK)
        status = probe_synchronize(run, worker->stream);
    uint64_t end_ns = clock_now_ns();
    if (status != STATUS_OK || !count)
        return status;
    for (unsigned i = 0; i < timed; i++)
        probe_sample(run, METRIC_CALL, calls_ns[i] / kernels);
    probe_sample(run, METRIC_KERNEL, (end_ns - begin_ns) / (launches * kernels));
    return STATUS_OK;
}

/* Reports that this worker is ready, and waits until it may begin. False: it must end. */
static bool await_start(struct group *group)
{
    pthread_mutex_lock(&group->lock);
    group->ready++;
    pthread_cond_broadcast(&group->changed);
    while (group->start == START_WAIT)
        pthread_cond_wait(&group->changed, &group->lock);
    bool go = group->start == START_GO;
    pthread_mutex_unlock(&group->lock);
    return go;
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct group *group = worker->group;
    struct probe_run *run = group->run;
    cuda_context context = worker->context ? worker->context : group->gpu.context;
    enum status status = probe_set_current(run, context);
    /* A stream's first launches may do what later ones need not. */
    if (status == STATUS_OK)
        status = time_run(worker, false);
    if (await_start(group) && status == STATUS_OK) {
        uint64_t until_ns = clock_now_ns() + run->measure_ns;
        do
            status = time_run(worker, true);
        while (status == STATUS_OK && clock_now_ns() < until_ns && !probe_is_over(run));
    }
    worker->status = status;
    if (status != STATUS_OK)
        snprintf(worker->error, sizeof worker->error, "%s", status_text());
    return NULL;
}

static enum status start_threads(struct group *group)
{
    for (unsigned i = 0; i < group->count; i++) {
        struct worker *worker = &group->workers[i];
        int error = pthread_create(&worker->thread, NULL, work, worker);
        if (error)
            return status_set(STATUS_SYSTEM, "cannot start thread %u of %u: %s", i + 1,
                              group->count, strerror(error));
        worker->started = true;
    }
    pthread_mutex_lock(&group->lock);
    while (group->ready < group->count)
        pthread_cond_wait(&group->changed, &group->lock);
    pthread_mutex_unlock(&group->lock);
    return STATUS_OK;
}

/* Lets the threads begin, or end, and waits for them. */
static enum status finish_threads(struct group *group, enum status status)
{
    pthread_mutex_lock(&group->lock);
    group->start = status == STATUS_OK ? START_GO : START_QUIT;
    pthread_cond_broadcast(&group->changed);
    pthread_mutex_unlock(&group->lock);
    for (unsigned i = 0; i < group->count; i++) {
        struct worker *worker = &group->workers[i];
        if (worker->started)
            pthread_join(worker->thread, NULL);
        if (status == STATUS_OK && worker->status != STATUS_OK)
            status = status_set(worker->status, "%s", worker->error);
    }
    return status;
}

static enum status run_arm(struct probe_run *run)
{
    struct group group = {
        .run = run,
        .kind = (enum kind)run->arm->variant,
        .count = (unsigned)run->arm->number,
        .lock = PTHREAD_MUTEX_INITIALIZER,
        .changed = PTHREAD_COND_INITIALIZER,
    };
    enum status status = probe_gpu_open(run, 0, true, &group.gpu);
    for (unsigned i = 0; i < group.count && status == STATUS_OK; i++)
        status = open_worker(&group, &group.workers[i]);
    if (status == STATUS_OK) {
        status = start_threads(&group);
        if (status == STATUS_OK)
            status = probe_begin(run);
        status = finish_threads(&group, status);
    }
    for (unsigned i = 0; i < group.count; i++)
        close_worker(&group, &group.workers[i]);
    if (group.gpu.context)
        run->driver.ctx_set_current(group.gpu.context);
    probe_gpu_close(run, &group.gpu);
    return status;
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
        .variant = KIND_STREAMS, .number = (n), .run = run_arm                                     \
    }
#define PROCESSES(given_name, given_what, given_control, given_series, n, given_flags)             \
    {                                                                                              \
        .name = (given_name), .what = (given_what), .control = (given_control),                    \
        .flags = (given_flags), .processes = (n), .series = (given_series), .x = (n),              \
        .variant = KIND_STREAMS, .number = 1, .run = run_arm                                       \
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
     .what = "16 threads, 32 connections",
     .control = "threads-1",
     .flags = PROBE_ARM_EXTRA,
     .connections = 32,
     .series = "threads, 32 connections",
     .x = 16,
     .variant = KIND_STREAMS,
     .number = 16,
     .run = run_arm},
    PROCESSES("mps-1", "1 process over MPS", NULL, "processes over MPS", 1, PROBE_ARM_OVER_MPS),
    PROCESSES("mps-8", "8 processes over MPS", NULL, "processes over MPS", 8, PROBE_ARM_OVER_MPS),
    PROCESSES("mps-16", "16 processes over MPS", NULL, "processes over MPS", 16,
              PROBE_ARM_OVER_MPS | PROBE_ARM_EXTRA),
    PROCESSES("processes-8", "8 processes, no MPS", "mps-8", "processes", 8, 0),
    OTHERS("contexts-8", "8 threads, a context each", "mps-8", "threads, a context each",
           KIND_CONTEXTS, 8, PROBE_ARM_EXTRA),
    OTHERS("graphs-1", "1 thread, graphs", "threads-1", "threads, graphs", KIND_GRAPHS, 1,
           PROBE_ARM_EXTRA),
    OTHERS("graphs-8", "8 threads, graphs", "mps-8", "threads, graphs", KIND_GRAPHS, 8, 0),
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
