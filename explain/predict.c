#include "explain/predict.h"

#include <math.h>
#include <stddef.h>

#include "common/clock.h"

#include "explain/curve.h"
#include "explain/internal.h"
#include "explain/network.h"

/* For which a thread keeps its CPU while others wait for it. On H200s with 16 CPUs 128 threads with
 * graphs of 2.3 to 3.4 ms do 1.4 to 1.7 times what 16 do; 32 processes of 2.1 ms 1.1 times. */
#define TURN_S 8e-3

/* Processes over MPS that keep the GPU and the host's memory busy. */
#define MANY 16.0

/* A point, and the curves of its workers: beside those of all processes, and of its own. */
struct expected {
    const struct explain_point *point;
    const struct calibration *calibration;
    bool awake;
    struct curve over_mps, threads;
    struct curve rows;           /* awake, in pinned memory */
    struct curve others;         /* graphs of threads that do not poll */
    struct curve synced;         /* threads that wait for their streams before they copy out */
    struct curve paged, unpaged; /* launched by stream over MPS */
};

static bool is_awake(const struct explain_point *point, const struct calibration *calibration)
{
    return calibration_waits_awake(calibration, point->schedule) || ceiling_polls(point);
}

/* Whether threads launch kernel by kernel for several streams each. */
static bool launches_for_others(const struct explain_point *point)
{
    return ceiling_polls(point) && point->launch == LAUNCH_STREAM;
}

/* Whether pageable copies of a process wait for each other, which threads do asleep. */
static bool waits_for_copies(const struct explain_point *point)
{
    return point->memory == MEMORY_PAGEABLE && point->threads > 1 &&
           (point->launch == LAUNCH_GRAPH || point->sync == SYNC_NONE);
}

static void make_curves(struct expected *expected)
{
    const struct explain_point *point = expected->point;
    double share = ceiling_thread_share(point);
    /* One thread that launches kernel by kernel for all its streams keeps the GPU waiting: a run of
     * it shows what the thread does, and no more. */
    bool polls = ceiling_polls(point) && !launches_for_others(point);
    struct curve_kind kind = {.mps = true,
                              .polls = polls,
                              .awake = expected->awake,
                              .memory = point->memory,
                              .sync = point->sync,
                              .launch = point->launch};
    curve_make(&kind, expected->calibration, share, &expected->over_mps);
    kind.mps = false;
    /* Of processes over MPS the curve of all has what waking up takes. */
    kind.awake = expected->awake || waits_for_copies(point) || (point->mps && point->processes > 1);
    curve_make(&kind, expected->calibration, share, &expected->threads);
    kind.sync = SYNC_STREAM;
    curve_make(&kind, expected->calibration, share, &expected->synced);
    kind.sync = point->sync;
    kind.awake = expected->awake;
    kind.polls = false;
    curve_make(&kind, expected->calibration, share, &expected->others);
    kind.mps = point->mps;
    kind.awake = true;
    kind.sync = SYNC_STREAM;
    if (!waits_for_copies(point))
        kind.memory = MEMORY_PINNED;
    curve_make(&kind, expected->calibration, share, &expected->rows);
    kind.memory = MEMORY_PINNED;
    kind.mps = true;
    kind.launch = LAUNCH_STREAM;
    curve_make(&kind, expected->calibration, share, &expected->unpaged);
    kind.memory = MEMORY_PAGEABLE;
    kind.sync = SYNC_STREAM;
    curve_make(&kind, expected->calibration, share, &expected->paged);
}

/* What an iteration over MPS takes longer with pageable copies, beside that many. */
static double paged_longer_s(const struct expected *expected, double workers)
{
    return fmax(curve_s(&expected->paged, workers) - curve_s(&expected->unpaged, workers), 0.0);
}

/* What processes over MPS take beside that many in all. A graph's pageable copies cost it as much
 * as those of streams, whose runs show how they share the host's memory. */
static double over_mps_s(const struct expected *expected, double all)
{
    double seconds = curve_s(&expected->over_mps, all);
    if (expected->point->memory != MEMORY_PAGEABLE || expected->point->launch != LAUNCH_GRAPH)
        return seconds;
    double unshared_s = curve_longer_s(&expected->paged, &expected->unpaged, all);
    return seconds + fmax(curve_s(&expected->paged, all) - unshared_s, 0.0);
}

/* Seconds of an iteration beside that many in its process. */
static double of_process_s(const struct expected *expected, double own)
{
    const struct curve *threads = &expected->threads;
    double reach = curve_reach(threads), most_s = curve_s(threads, reach);
    if (!waits_for_copies(expected->point) || own <= reach || reach <= 1.0)
        return curve_s(threads, own);
    /* One launch of a graph has the process's lock, however many wait for it. */
    if (expected->point->launch == LAUNCH_GRAPH)
        return fmax(curve_s(threads, own), own / reach * most_s);
    /* Each further thread holds up the others for as long as a thread of the run does, which was
     * awake, and for its waking up. No thread is faster than with a synchronisation. */
    double wake_s = fmax(expected->over_mps.alone_s - threads->alone_s, 0.0);
    double each_s = (most_s - threads->alone_s) / (reach - 1.0) + wake_s;
    return fmax(curve_s(&expected->synced, own), most_s + (own - reach) * each_s);
}

/* Seconds of an iteration beside that many in all, that many of them in its process. */
static double beside_s(const struct expected *expected, double all, double own)
{
    double of_process = of_process_s(expected, own);
    if (launches_for_others(expected->point))
        return curve_s(&expected->over_mps, all);
    /* Several that poll are not held back by what one of them can do. */
    if (ceiling_polls(expected->point) && expected->point->threads > 1)
        of_process = fmin(of_process, curve_s(&expected->others, own));
    if (!expected->point->mps || expected->point->processes == 1)
        return of_process;
    double of_all = over_mps_s(expected, all);
    if (expected->point->memory != MEMORY_PAGEABLE)
        return fmax(of_all, of_process);
    /* Pageable copies wait in two lines, for the others of their process and for the host's memory:
     * what they lose there adds up as squares do. */
    double alone_s = fmin(expected->over_mps.alone_s, fmin(of_all, of_process));
    return alone_s + hypot(of_all - alone_s, of_process - alone_s);
}

/* -- hardware queues --------------------------------------------------------------------------- */

/* Whether more threads spin than there are CPUs. */
static bool spins_in_line(const struct expected *expected)
{
    const struct explain_point *point = expected->point;
    return expected->awake && !ceiling_polls(point) && !waits_for_copies(point) &&
           point->processes * point->threads > expected->calibration->cpus;
}

/* What of an iteration does not hold its queue: its copies, unless others wait for them, and its
 * host's own steps. */
static double off_queue_s(const struct explain_point *point, const struct calibration *calibration)
{
    return waits_for_copies(point) ? ceiling_host_steps_s(&point->work, calibration)
                                   : ceiling_beside_kernels_s(&point->work, calibration);
}

/* How much of the time a queue has a row where more threads spin than there are CPUs. Those behind
 * it have launched theirs, so that it loses little, be its rows long or short: on H200s with 16
 * CPUs queues of 20 to 57 threads did 0.74 to 0.99 of what they do with a CPU for each thread. */
#define BUSY_QUEUE 0.9

/* Rows of kernels come one after the other in a queue. */
static double rows_ips(const struct expected *expected)
{
    const struct explain_point *point = expected->point;
    double own = point->connections;
    /* One that has no CPU when its row is done lets its queue wait. */
    if (spins_in_line(expected))
        own *= BUSY_QUEUE;
    double all = own * point->processes;
    double held_s = curve_s(&expected->rows, point->mps ? all : own);
    /* They share their process's launches and staging, over MPS, too. A thread that waits for
     * the others' copies has its row done, and holds no queue. */
    if (waits_for_copies(point))
        held_s = fmax(held_s, curve_s(&expected->synced, own));
    double off_s = off_queue_s(point, expected->calibration);
    return all / fmax(held_s - off_s, CEILING_HELD_LEAST * held_s);
}

/* -- CPUs -------------------------------------------------------------------------------------- */

/* Threads that spin where there are more of them than CPUs: those that have one do what they can,
 * and one that gets its turn finds the iteration done that it began in the turn before. */
static double spinning_ips(const struct expected *expected)
{
    const struct explain_point *point = expected->point;
    double cpus = expected->calibration->cpus, threads = point->processes * point->threads;
    double each_s = beside_s(expected, cpus, fmin(point->threads, cpus));
    return cpus / each_s * (1.0 + (1.0 - cpus / threads) * each_s / TURN_S);
}

/* What a thread that polls does for its streams, one after the other: no more than runs show for a
 * graph of next to nothing, no less than for this iteration. */
static double polling_ips(const struct expected *expected)
{
    const struct calibration *calibration = expected->calibration;
    const struct explain_point *point = expected->point;
    double most = point->launch == LAUNCH_GRAPH && point->memory == MEMORY_PINNED
                      ? calibration->polled_graphs_per_s
                      : 0.0;
    if (most > 0.0)
        most = 1.0 / (1.0 / most + ceiling_busy_s(&point->work, calibration));
    for (unsigned i = 0; i < calibration->run_count; i++) {
        const struct calibration_run *run = &calibration->runs[i];
        if (run->processes == 1 && run->threads == 1 && run->streams > 1 &&
            run->launch == (uint32_t)point->launch && run->memory == (uint32_t)point->memory)
            most = fmax(most, run->ips);
    }
    double seconds = ceiling_polling_s(point, calibration);
    if (most <= 0.0)
        most = seconds > 0.0 ? 1.0 / seconds : 0.0;
    /* Threads of a process get in each other's way, and share its launch path. Where it is not
     * known what a stream takes of its thread beside calls, it is what a graph of next to nothing
     * does. */
    if (launches_for_others(point) && most > 0.0) {
        struct curve launching = expected->threads;
        double served = calibration->polled_calls_us > 0.0 ? 0.0 : calibration->polled_graphs_per_s;
        launching.alone_s = 1.0 / most + (served > 0.0 ? 1.0 / served : 0.0);
        most = 1.0 / curve_s(&launching, point->threads);
    }
    return point->processes * point->threads * most;
}

/* -- turns of processes ------------------------------------------------------------------------ */

/* A process's turn for one iteration: pageable copies lengthen it as they do among many processes
 * over MPS. 0: not known. */
static double turn_s(const struct expected *expected)
{
    const struct explain_point *point = expected->point;
    double shown_s = ceiling_turn_s(point, expected->calibration);
    bool longer =
        shown_s > 0.0 && point->launch == LAUNCH_STREAM && point->memory == MEMORY_PAGEABLE;
    return longer ? shown_s + paged_longer_s(expected, MANY) / MANY : shown_s;
}

/* Processes that wait for the GPU's turn, and do the rest of an iteration beside each other, where
 * pageable copies share the host's memory: mean value analysis of a closed network. All turns
 * take equally long: a process that arrives finds half of the current one left on average. */
static double sliced_ips(const struct expected *expected, double one_ips)
{
    const struct calibration *calibration = expected->calibration;
    const struct explain_point *point = expected->point;
    double alone = point->launch == LAUNCH_GRAPH ? calibration->single_graph_ips
                                                 : calibration->single_stream_ips;
    double many = fmax(one_ips / fmax(alone, 1e-9), 1.0); /* more than one thread each */
    double in_turn_s = turn_s(expected) / many, rest_s = fmax(1.0 / one_ips - in_turn_s, 0.0);
    bool pageable = point->memory == MEMORY_PAGEABLE;
    double all = (double)ceiling_streams(point) * point->processes;
    double waiting = 0.0, used = 0.0, ips = one_ips;
    for (unsigned n = 1; n <= point->processes && in_turn_s > 0.0; n++) {
        double there_s = in_turn_s * (1.0 + waiting - 0.5 * used);
        double beside_s = rest_s + (pageable ? curve_memory_s(&expected->paged, n - waiting) : 0.0);
        ips = fmin(n / (there_s + beside_s), 1.0 / in_turn_s);
        used = ips * in_turn_s;
        waiting = ips * there_s;
    }
    /* With a turn for all at once they would do no less. */
    return fmin(ips, all / over_mps_s(expected, all));
}

/* -- all of it --------------------------------------------------------------------------------- */

/* Threads that share queues and launch in turns. */
static double turns_ips(const struct expected *expected)
{
    const struct explain_point *point = expected->point;
    return point->processes * ceiling_turn_launches(point, expected->calibration) /
           point->work.kernels;
}

/* in_rows: threads that share queues launch so. */
static double of_gpu_ips(const struct expected *expected, bool in_rows)
{
    const struct explain_point *point = expected->point;
    double own = ceiling_streams(point), all = own * point->processes;
    double ips = all / beside_s(expected, all, own);
    if (in_rows)
        ips = fmin(ips, rows_ips(expected));
    else if (ceiling_shares_queues(point) && !ceiling_polls(point))
        ips = fmin(ips, turns_ips(expected));
    if (ceiling_polls(point)) {
        double polling = polling_ips(expected);
        return polling > 0.0 ? fmin(ips, polling) : ips;
    }
    if (spins_in_line(expected))
        ips = fmin(ips, spinning_ips(expected));
    return ips;
}

/* -- how far it may be off --------------------------------------------------------------------- */

/* Parts of the half width of an interval, as shares; they add up as squares do. By how much
 * predictions were off, at 9 of 10 points, in the development set of docs/explain.md. */
#define OFF_ALWAYS 0.09
#define OFF_CROWDED 0.12   /* more threads that spin than CPUs */
#define OFF_LAUNCHING 0.12 /* workers wait for each other's launches */
#define OFF_POLLING 0.15   /* threads that launch kernel by kernel and never wait */
#define OFF_QUEUES 0.12    /* streams that share a hardware queue */
#define OFF_PAGEABLE 0.13  /* the copies of a process wait for each other in turns that change */
#define OFF_WAITING 0.35   /* pageable copies that hold the others up */
/* With each doubling of workers beyond the runs; of a process's threads whose copies wait. */
#define OFF_EACH_DOUBLING 0.05
#define OFF_EACH_WAITING 0.15

/* Predictions were compared with no more than this many times the workers of the largest run. */
#define BEYOND 4.0

/* Of workers, from the largest run to that many. */
static double doublings(const struct curve *curve, double workers)
{
    return fmax(log2(workers / curve_reach(curve)), 0.0);
}

static double find_off(const struct expected *expected, double all)
{
    const struct explain_point *point = expected->point;
    const struct curve *curve = point->mps ? &expected->over_mps : &expected->threads;
    double farther = doublings(curve, all), own = ceiling_streams(point);
    double parts[] = {
        OFF_ALWAYS,
        expected->awake && !ceiling_polls(point) &&
                ceiling_threads(point) > expected->calibration->cpus
            ? OFF_CROWDED
            : 0.0,
        ceiling_shares_queues(point) ? OFF_QUEUES : 0.0,
        point->launch == LAUNCH_STREAM &&
                (point->threads > 1 || (point->mps && point->processes > 1))
            ? OFF_LAUNCHING
            : 0.0,
        launches_for_others(point) && point->threads > 1 ? OFF_POLLING : 0.0,
        waits_for_copies(point)            ? OFF_WAITING
        : point->memory == MEMORY_PAGEABLE ? OFF_PAGEABLE
                                           : 0.0,
        OFF_EACH_DOUBLING * farther,
        waits_for_copies(point) ? OFF_EACH_WAITING * doublings(&expected->threads, own) : 0.0,
    };
    double squares = 0.0;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        squares += parts[i] * parts[i];
    return sqrt(squares);
}

static bool is_beyond(const struct expected *expected, double all)
{
    const struct explain_point *point = expected->point;
    const struct curve *curve = point->mps ? &expected->over_mps : &expected->threads;
    return all > BEYOND * curve_reach(curve) || point->percentage_count > 0 ||
           point->schedule == SCHEDULE_YIELD ||
           (ceiling_gpus(point) > 1 && expected->calibration->all.gpus < ceiling_gpus(point));
}

/* -- one prediction ---------------------------------------------------------------------------- */

/* What curves make of few runs may exceed what workers do that never wait, and what the kernels
 * themselves take. Figures of other ceilings come from other loads, and are a few percent off:
 * where predictions are above those, measurements are, too. */
static double within_ceilings(double ips, const struct explain_point *point,
                              const struct calibration *calibration)
{
    static const enum ceiling_kind hard[] = {CEILING_WORKERS, CEILING_ARITHMETIC};
    struct ceilings ceilings;
    ceilings_compute(point, calibration, &ceilings);
    for (size_t i = 0; i < sizeof hard / sizeof hard[0]; i++)
        if (ceilings.ips[hard[i]] > 0.0)
            ips = fmin(ips, ceilings.ips[hard[i]]);
    return ips;
}

static void from_runs(const struct explain_point *point, const struct calibration *calibration,
                      struct prediction *out)
{
    struct explain_point one = *point;
    struct expected expected = {
        .point = &one, .calibration = calibration, .awake = is_awake(point, calibration)};
    if (!point->mps)
        one.processes = 1;
    make_curves(&expected);
    if (expected.threads.alone_s <= 0.0)
        return;
    bool in_rows = ceiling_shares_queues(point) && !ceiling_takes_turns(point, calibration);
    double ips = of_gpu_ips(&expected, in_rows), other_rel = 0.0;
    if (ceiling_may_do_either(point, calibration))
        other_rel = fabs(of_gpu_ips(&expected, !in_rows) / ips - 1.0);
    expected.point = point;
    if (!point->mps && point->processes > 1)
        ips = sliced_ips(&expected, ips);
    ips *= ceiling_gpus(point);
    double host_s =
        fmax(ceiling_host_copies_s(point, calibration), ceiling_host_launch_s(point, calibration));
    ips = within_ceilings(ips, point, calibration);
    out->ips = host_s > 0.0 ? fmin(ips, 1.0 / host_s) : ips;
    double all = (double)ceiling_streams(point) * one.processes;
    out->half_rel = find_off(&expected, all) + other_rel;
    out->is_beyond = is_beyond(&expected, all);
}

static double from_network_ips(const struct explain_point *point,
                               const struct calibration *calibration)
{
    struct ceilings ceilings;
    double ips = network_ips(point, calibration, CEILING_KINDS);
    if (ips <= 0.0)
        return 0.0;
    ceilings_compute(point, calibration, &ceilings);
    return fmin(ips, ceilings.ips[ceilings_lowest(&ceilings)]);
}

void predict(const struct explain_point *point, const struct calibration *calibration,
             struct prediction *out)
{
    struct prediction prediction = {.ips = 0.0};
    if (calibration->run_count > 0)
        from_runs(point, calibration, &prediction);
    if (prediction.ips <= 0.0)
        prediction.ips = from_network_ips(point, calibration);
    *out = prediction;
}

double predict_ips(const struct explain_point *point, const struct calibration *calibration)
{
    struct prediction prediction;
    predict(point, calibration, &prediction);
    return prediction.ips;
}
