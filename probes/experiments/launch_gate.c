/*
 * Is it the host or the GPU that limits how fast kernels start? Workers enqueue the same launches
 * in turns free, and behind a gate: a host function holds all streams until every launch of every
 * worker is enqueued. What the GPU then needs, it needs without any help of the host. Workers that
 * are slower when they are free are held by the host; others by the GPU, if they run at the highest
 * rate at which it accepts kernels, or by neither.
 *
 * An iteration lasts from when all may begin until the last worker's kernels have ended: the order
 * in which the GPU serves the workers changes nothing. Both times come from the same processes.
 */
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/text.h"
#include "kernels/image.h"
#include "probes/experiments/launchers.h"
#include "probes/outcome.h"
#include "probes/rows.h"

/* Launches of an iteration, and how many all streams of a queue may have waiting: the driver has
 * room for 1024 in each. */
#define LAUNCHES 220
#define QUEUE_LAUNCHES 900

/* Queues that the driver gives a process, and an MPS client, by default. */
#define QUEUES 8
#define CLIENT_QUEUES 2

/* Nanoseconds of a kernel, where the arm has no other. */
#define KERNEL_NS 10000

/* Rates within this of the highest are that rate. */
#define AT_RATE 0.9

enum metric { METRIC_FREE, METRIC_GATED, METRIC_ENQUEUE, METRIC_ENQUEUE_GATED, METRIC_ASLEEP };

/* Counters of all processes of the arm; none is ever set back. */
enum word {
    WORD_READY,    /* workers that begin an iteration */
    WORD_AWAKE,    /* and know that all do */
    WORD_ENQUEUED, /* workers that have enqueued one behind the gate, and gates that look for it */
    WORD_OPENED,   /* gated iterations that may run */
    WORD_DONE      /* workers whose kernels have ended */
};

/* Each process has one, in a stream of its own. */
struct gate {
    struct probe_run *run;
    cuda_stream stream;
    cuda_event event;          /* behind the host function */
    uint32_t enqueued, opened; /* what the host function waits for */
};

struct gated {
    struct gate gate; /* the first worker's */
    cuda_event done[LAUNCHERS_MOST];
    unsigned launches; /* of an iteration; of graphs, kernels of the graph */
    unsigned workers;  /* of all processes */
};

static struct gated *gated_of(const struct launcher *launcher)
{
    return launcher->all->options->data;
}

/* Counts this one, and wakes those who wait for it when it is the last. */
static void arrive(const struct probe_run *run, enum word word, uint32_t least)
{
    _Atomic uint32_t *at = &run->shm.header->words[word];
    if (atomic_fetch_add(at, 1) + 1 == least)
        probe_shm_wake(at);
}

/* For those who delay no launch by it. False: the arm is over. */
static bool spin(const struct probe_run *run, enum word word, uint32_t least)
{
    while (atomic_load(&run->shm.header->words[word]) < least && !probe_is_over(run))
        sched_yield();
    return !probe_is_over(run);
}

/* False: the arm is over. Those who wait for the last one sleep, and are woken one by one; they
 * begin when all are awake, if there are CPUs enough for that. */
static bool begin_together(const struct probe_run *run, unsigned workers, uint32_t iteration)
{
    const uint32_t least = iteration * workers;
    arrive(run, WORD_READY, least);
    if (!probe_shm_wait(&run->shm, &run->shm.header->words[WORD_READY], least))
        return false;
    if (workers > (unsigned long)sysconf(_SC_NPROCESSORS_ONLN))
        return true;
    atomic_fetch_add(&run->shm.header->words[WORD_AWAKE], 1);
    return spin(run, WORD_AWAKE, least);
}

/* One worker decides for all, and takes the time. */
static bool leads(const struct launcher *launcher)
{
    return launcher->all->run->process == 0 && launcher->index == 0;
}

/* How far WORD_ENQUEUED comes with a gated iteration: all workers, and then all gates. */
static uint32_t enqueued_by(const struct launcher *launcher, uint32_t number, bool gates)
{
    const unsigned processes = probe_arm_processes(launcher->all->run->arm);
    const unsigned workers = gated_of(launcher)->workers;
    return number * (workers + processes) - (gates ? 0 : processes);
}

/* On a thread of the driver's. It sleeps while others enqueue, so as not to take their CPUs; awake,
 * all gates see at once that they are open. */
static void hold_gate(void *argument)
{
    const struct gate *gate = argument;
    const struct probe_run *run = gate->run;
    _Atomic uint32_t *enqueued = &run->shm.header->words[WORD_ENQUEUED];
    if (!probe_shm_wait(&run->shm, enqueued, gate->enqueued))
        return;
    atomic_fetch_add(enqueued, 1);
    spin(run, WORD_OPENED, gate->opened);
}

static enum status close_gate(struct launcher *launcher, uint32_t number)
{
    struct probe_run *run = launcher->all->run;
    struct gate *gate = &gated_of(launcher)->gate;
    gate->enqueued = enqueued_by(launcher, number, false);
    gate->opened = number;
    enum status status = PROBE_CALL(run, launch_host_func, gate->stream, hold_gate, gate);
    return status == STATUS_OK ? PROBE_CALL(run, event_record, gate->event, gate->stream) : status;
}

/* When all workers have enqueued. False: the arm is over. */
static bool pass_gate(const struct launcher *launcher, uint32_t number, uint64_t *begin_ns)
{
    const struct probe_run *run = launcher->all->run;
    _Atomic uint32_t *opened = &run->shm.header->words[WORD_OPENED];
    arrive(run, WORD_ENQUEUED, enqueued_by(launcher, number, false));
    if (!leads(launcher))
        return probe_shm_wait(&run->shm, opened, number);
    if (!spin(run, WORD_ENQUEUED, enqueued_by(launcher, number, true)))
        return false;
    *begin_ns = clock_now_ns();
    atomic_store(opened, number);
    probe_shm_wake(opened);
    return true;
}

static enum status enqueue(struct launcher *launcher, uint64_t *took_ns)
{
    struct probe_run *run = launcher->all->run;
    const struct gated *gated = gated_of(launcher);
    const unsigned launches = launcher->exec ? 1 : gated->launches;
    cuda_result result = CUDA_SUCCESS_;
    uint64_t begin_ns = clock_now_ns();
    for (unsigned i = 0; i < launches && result == CUDA_SUCCESS_; i++)
        result = launcher_launch(launcher);
    *took_ns = clock_now_ns() - begin_ns;
    enum status status =
        cuda_check(&run->driver, result, launcher->exec ? "cuGraphLaunch" : "cuLaunchKernel");
    return status == STATUS_OK
               ? PROBE_CALL(run, event_record, gated->done[launcher->index], launcher->stream)
               : status;
}

/* Sleeps, since a worker that spins would take its CPU from those who launch. */
static enum status finish(struct launcher *launcher)
{
    return PROBE_CALL(launcher->all->run, event_synchronize,
                      gated_of(launcher)->done[launcher->index]);
}

/* One iteration of all workers at once; number counts those behind the gate, 0: this one is free.
 * *over: the arm has ended, and nothing was measured. */
static enum status iterate(struct launcher *launcher, uint32_t iteration, uint32_t number,
                           bool *over)
{
    struct probe_run *run = launcher->all->run;
    const struct gated *gated = gated_of(launcher);
    uint64_t enqueue_ns = 0;
    enum status status = STATUS_OK;
    /* Before anything that it must hold can be in its queue. */
    if (number && launcher->index == 0)
        status = close_gate(launcher, number);
    if (status != STATUS_OK)
        return status;
    *over = !begin_together(run, gated->workers, iteration);
    if (*over)
        return STATUS_OK;
    struct thread_time before, after;
    thread_time_read(&before);
    uint64_t begin_ns = clock_now_ns();
    if (number)
        status = PROBE_CALL(run, stream_wait_event, launcher->stream, gated->gate.event, 0);
    if (status == STATUS_OK)
        status = enqueue(launcher, &enqueue_ns);
    thread_time_read(&after);
    if (status != STATUS_OK)
        return status;
    if (number)
        *over = !pass_gate(launcher, number, &begin_ns);
    status = finish(launcher);
    if (status != STATUS_OK || *over)
        return status;
    probe_sample(run, number ? METRIC_ENQUEUE_GATED : METRIC_ENQUEUE, enqueue_ns);
    if (!number)
        probe_sample(run, METRIC_ASLEEP, thread_time_asleep_ns(&before, &after));
    arrive(run, WORD_DONE, iteration * gated->workers);
    if (leads(launcher) && spin(run, WORD_DONE, iteration * gated->workers))
        probe_sample(run, number ? METRIC_GATED : METRIC_FREE, clock_now_ns() - begin_ns);
    return STATUS_OK;
}

static enum status measure(struct launcher *launcher)
{
    struct probe_run *run = launcher->all->run;
    uint64_t until_ns = clock_now_ns() + run->measure_ns;
    enum status status = STATUS_OK;
    bool over = false;
    for (uint32_t i = 1; status == STATUS_OK && !over; i++) {
        status = iterate(launcher, i, i % 2 == 0 ? i / 2 : 0, &over);
        /* Between pairs. */
        if (leads(launcher) && i % 2 == 0 && clock_now_ns() >= until_ns)
            probe_shm_end(&run->shm);
    }
    return status;
}

/* A stream's first launches may do what later ones need not. */
static enum status prepare(struct launcher *launcher)
{
    struct probe_run *run = launcher->all->run;
    struct gated *gated = gated_of(launcher);
    struct gate *gate = &gated->gate;
    uint64_t enqueue_ns;
    enum status status = PROBE_CALL(run, event_create, &gated->done[launcher->index],
                                    CUDA_EVENT_BLOCKING_SYNC | CUDA_EVENT_DISABLE_TIMING);
    if (status == STATUS_OK && launcher->index == 0) {
        gate->run = run;
        status = probe_new_stream(run, &gate->stream);
        if (status == STATUS_OK)
            status = PROBE_CALL(run, event_create, &gate->event, CUDA_EVENT_DISABLE_TIMING);
    }
    if (status == STATUS_OK)
        status = enqueue(launcher, &enqueue_ns);
    return status == STATUS_OK ? finish(launcher) : status;
}

static void close_events(struct launcher *launcher)
{
    struct probe_run *run = launcher->all->run;
    struct gated *gated = gated_of(launcher);
    struct gate *gate = &gated->gate;
    if (gated->done[launcher->index])
        run->driver.event_destroy(gated->done[launcher->index]);
    if (launcher->index > 0)
        return;
    /* The host function reads what ends with the arm. */
    if (gate->stream)
        run->driver.stream_synchronize(gate->stream);
    if (gate->event)
        run->driver.event_destroy(gate->event);
    probe_destroy_stream(run, gate->stream);
}

/* -- arms -------------------------------------------------------------------------------------- */

/* A variant is a kind and the nanoseconds of a kernel. */
#define VARIANT(kind, ns) ((unsigned)(kind) | (unsigned)(ns) << 4)

static enum launchers_kind kind_of(const struct probe_arm *arm)
{
    return (enum launchers_kind)(arm->variant & 15);
}

static unsigned workers_of(const struct probe_arm *arm)
{
    return probe_arm_processes(arm) * (unsigned)arm->number;
}

static unsigned launches_of(const struct probe_arm *arm)
{
    unsigned streams = kind_of(arm) == LAUNCHERS_CONTEXTS ? 1 : (unsigned)arm->number;
    unsigned queues = arm->connections                  ? arm->connections
                      : arm->flags & PROBE_ARM_OVER_MPS ? CLIENT_QUEUES
                                                        : QUEUES;
    unsigned most = QUEUE_LAUNCHES / ((streams + queues - 1) / queues);
    return most < LAUNCHES ? most : LAUNCHES;
}

static enum status run_arm(struct probe_run *run)
{
    const struct probe_arm *arm = run->arm;
    struct gated gated = {.launches = launches_of(arm), .workers = workers_of(arm)};
    unsigned long long cycles;
    enum status status = probe_cycles(run, arm->variant >> 4, &cycles);
    if (status != STATUS_OK)
        return status;
    void *parameters[] = {&cycles};
    const struct launchers_options options = {
        .kind = kind_of(arm),
        .count = (unsigned)arm->number,
        .kernel = KERNELS_DELAY,
        .parameters = parameters,
        .graph_kernels = gated.launches,
        .prepare = prepare,
        .measure = measure,
        .close = close_events,
        .data = &gated,
    };
    return launchers_run(run, &options);
}

/* -- what limits ------------------------------------------------------------------------------- */

/* Million kernels/s of all workers; NAN: not measured. */
static double rate_of(const struct probe_outcome *outcome, const struct probe_arm *arm,
                      enum metric metric)
{
    return workers_of(arm) * launches_of(arm) / probe_outcome_median_us(outcome, arm->name, metric);
}

/* What the GPU has accepted of an arm: behind the gate it is less where workers are late there. */
static double accepted_rate(const struct probe_outcome *outcome, const struct probe_arm *arm)
{
    return fmax(rate_of(outcome, arm, METRIC_FREE), rate_of(outcome, arm, METRIC_GATED));
}

/* The GPU's rate of accepting kernels from streams: the highest, if different numbers of workers
 * reach it. One that still grows with them is not a limit: NAN. */
static double accepting_rate(const struct probe_outcome *outcome)
{
    const struct probe *probe = outcome->probe;
    const struct probe_arm *fastest = NULL;
    double highest = 0;
    for (size_t a = 0; a < probe->arm_count; a++) {
        double rate = accepted_rate(outcome, &probe->arms[a]);
        if (kind_of(&probe->arms[a]) != LAUNCHERS_GRAPHS && rate > highest) {
            highest = rate;
            fastest = &probe->arms[a];
        }
    }
    for (size_t a = 0; fastest && a < probe->arm_count; a++)
        if (kind_of(&probe->arms[a]) != LAUNCHERS_GRAPHS &&
            workers_of(&probe->arms[a]) != workers_of(fastest) &&
            accepted_rate(outcome, &probe->arms[a]) >= AT_RATE * highest)
            return highest;
    return NAN;
}

static const char *limit_of(const struct probe_outcome *outcome, const struct probe_arm *arm,
                            enum probe_verdict verdict)
{
    if (verdict == PROBE_OBSERVED)
        return "host";
    if (verdict != PROBE_NOT_OBSERVED)
        return "unsure";
    if (kind_of(arm) == LAUNCHERS_GRAPHS)
        return "neither";
    double highest = accepting_rate(outcome);
    if (isnan(highest))
        return "not the host";
    return accepted_rate(outcome, arm) >= AT_RATE * highest ? "GPU" : "neither";
}

/* One number of each arm that runs by default. */
static bool note_arms(const struct probe_outcome *outcome, const char *what,
                      double (*number_of)(const struct probe_outcome *, const struct probe_arm *),
                      struct probe_note *note)
{
    const struct probe *probe = outcome->probe;
    struct text text = {.at = note->text, .size = sizeof note->text};
    for (size_t a = 0; a < probe->arm_count; a++) {
        const struct probe_arm *arm = &probe->arms[a];
        double number = number_of(outcome, arm);
        if (!isnan(number) && !(arm->flags & PROBE_ARM_EXTRA))
            text_append(&text, "%s %s %.2f", text.length ? "," : what, arm->name, number);
    }
    return text.length > 0;
}

static double gated_rate(const struct probe_outcome *outcome, const struct probe_arm *arm)
{
    return rate_of(outcome, arm, METRIC_GATED);
}

static bool note_rates(const struct probe_outcome *outcome, struct probe_note *note)
{
    double highest = accepting_rate(outcome);
    if (isnan(highest))
        return note_arms(outcome, "behind the gate, million kernels/s in total:", gated_rate, note);
    note->quantity = "accepted_mkernels_per_s";
    note->value = highest;
    snprintf(note->text, sizeof note->text,
             "the GPU accepts %.2f million kernels/s from streams, however many workers", highest);
    return true;
}

static double call_us(const struct probe_outcome *outcome, const struct probe_arm *arm)
{
    return probe_outcome_median_us(outcome, arm->name, METRIC_ENQUEUE) / launches_of(arm);
}

static bool note_enqueueing(const struct probe_outcome *outcome, struct probe_note *note)
{
    return note_arms(outcome, "us for each launch's call, free:", call_us, note);
}

static double asleep_share(const struct probe_outcome *outcome, const struct probe_arm *arm)
{
    return probe_outcome_median_us(outcome, arm->name, METRIC_ASLEEP) /
           probe_outcome_median_us(outcome, arm->name, METRIC_ENQUEUE);
}

static bool note_asleep(const struct probe_outcome *outcome, struct probe_note *note)
{
    return note_arms(outcome, "share of these calls in which the thread sleeps:", asleep_share,
                     note);
}

#define ARM(given_name, given_what, given_series, w, p, t, kind, ns, queues, given_flags)          \
    {                                                                                              \
        .name = (given_name), .what = (given_what), .control = (given_name),                       \
        .flags = (given_flags), .processes = (p), .connections = (queues),                         \
        .series = (given_series), .x = (w), .variant = VARIANT(kind, ns), .number = (t),           \
        .run = run_arm                                                                             \
    }
#define THREADS(queues, n, flags)                                                                  \
    ARM("threads" #queues "-" #n, (n) == 1 ? "1 thread" : #n " threads, " #queues " queues",       \
        "threads, " #queues " queues", n, 1, n, LAUNCHERS_STREAMS, KERNEL_NS, queues, flags)
#define CLIENTS(n, flags)                                                                          \
    ARM("mps-" #n, (n) == 1 ? "1 process over MPS" : #n " processes over MPS",                     \
        "processes over MPS", n, n, 1, LAUNCHERS_STREAMS, KERNEL_NS, 0,                            \
        PROBE_ARM_OVER_MPS | (flags))
#define CONTEXTS(n, flags)                                                                         \
    ARM("contexts-" #n, #n " threads over MPS, a context each", "contexts over MPS", n, 1, n,      \
        LAUNCHERS_CONTEXTS, KERNEL_NS, 0, PROBE_ARM_OVER_MPS | (flags))
#define GRAPHS(n, flags)                                                                           \
    ARM("graphs-" #n, (n) == 1 ? "1 thread, graphs" : #n " threads, graphs", "threads, graphs", n, \
        1, n, LAUNCHERS_GRAPHS, KERNEL_NS, 32, flags)
/* The same with kernels of other lengths. */
#define LENGTHS(us)                                                                                \
    ARM("threads32-16-" #us "us", "16 threads, 32 queues, kernels of " #us " us", NULL, 16, 1, 16, \
        LAUNCHERS_STREAMS, (us)*1000, 32, PROBE_ARM_EXTRA),                                        \
        ARM("mps-16-" #us "us", "16 processes over MPS, kernels of " #us " us", NULL, 16, 16, 1,   \
            LAUNCHERS_STREAMS, (us)*1000, 0, PROBE_ARM_OVER_MPS | PROBE_ARM_EXTRA)

static const struct probe_arm arms[] = {
    THREADS(32, 1, 0),
    THREADS(32, 2, PROBE_ARM_EXTRA),
    THREADS(32, 4, 0),
    THREADS(32, 8, 0),
    THREADS(32, 16, 0),
    THREADS(32, 32, 0),
    THREADS(32, 48, PROBE_ARM_EXTRA),
    THREADS(8, 4, PROBE_ARM_EXTRA),
    THREADS(8, 8, PROBE_ARM_EXTRA),
    THREADS(8, 16, 0),
    THREADS(8, 32, PROBE_ARM_EXTRA),
    CONTEXTS(4, PROBE_ARM_EXTRA),
    CONTEXTS(8, PROBE_ARM_EXTRA),
    CONTEXTS(16, PROBE_ARM_EXTRA),
    CONTEXTS(32, PROBE_ARM_EXTRA),
    CLIENTS(1, PROBE_ARM_EXTRA),
    CLIENTS(2, PROBE_ARM_EXTRA),
    CLIENTS(4, PROBE_ARM_EXTRA),
    CLIENTS(8, 0),
    CLIENTS(16, 0),
    CLIENTS(32, PROBE_ARM_EXTRA),
    CLIENTS(48, PROBE_ARM_EXTRA),
    GRAPHS(1, PROBE_ARM_EXTRA),
    GRAPHS(8, PROBE_ARM_EXTRA),
    GRAPHS(16, 0),
    GRAPHS(32, PROBE_ARM_EXTRA),
    GRAPHS(48, PROBE_ARM_EXTRA),
    LENGTHS(0),
    LENGTHS(3),
    LENGTHS(30),
    LENGTHS(100),
};

static const char *const remedies[] = {"graphs-16", "mps-16", NULL};

const struct probe probe_launch_gate = {
    .name = "launch-gate",
    .question = "is it the launch path of the host that holds the kernels of many workers, or the "
                "GPU?",
    .method = "Each worker enqueues 220 kernels of 10 us into its own stream, all workers at once, "
              "in turns free and behind a gate that opens when all workers have enqueued all. The "
              "time is that from when all may begin until the last worker's kernels have ended.",
    .metrics = {"iteration", "iteration behind the gate", "enqueueing",
                "enqueueing behind the gate", "asleep while enqueueing", NULL},
    .control_metric = METRIC_GATED,
    .xlabel = "workers",
    .gpus = 1,
    .rounds = 5,
    .measure_ns = 150 * NS_PER_MS,
    .arms = arms,
    .arm_count = sizeof arms / sizeof arms[0],
    .subject = "threads32-16",
    .matters_ratio = 1.05,
    .matters_ns = 10 * NS_PER_US,
    .remedy =
        "launch the kernels as one graph, or spread the threads over processes over MPS, each "
        "of which has a launch path of its own",
    .remedies = remedies,
    .limit = limit_of,
    .infer = {note_rates, note_enqueueing, note_asleep},
};
