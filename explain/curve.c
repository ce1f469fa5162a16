#include "explain/curve.h"

#include <math.h>
#include <stddef.h>

#include "explain/internal.h"

/* How soft the corner is between workers who never wait and those that the machine holds back. */
#define CORNER 8.0

/* As much longer than alone that the machine holds them back. */
#define CROWDED 2.0

/* Processes that share the host's memory slow each other down well before it is busy all the time.
 */
#define MEMORY_CORNER 2.0

/* Of an interval that is searched. */
#define HALVINGS 30

/* 0: not known, and the other one stands. */
static double smaller_known(double a, double b)
{
    if (a <= 0.0 || b <= 0.0)
        return a > b ? a : b;
    return a < b ? a : b;
}

static double per_s(double rate, double amount)
{
    return amount > 0.0 ? rate / amount : 0.0;
}

/* -- runs -------------------------------------------------------------------------------------- */

static bool is_awake(const struct calibration_run *run)
{
    return run->schedule != SCHEDULE_BLOCK;
}

static unsigned workers_of(const struct calibration_run *run)
{
    return run->processes * run->threads * run->streams;
}

static bool is_sliced(const struct calibration_run *run)
{
    return run->processes > 1 && !run->mps;
}

/* Of pinned memory, and of graphs, all synchronisations are the same. */
static bool is_same_sync(const struct calibration_run *run, const struct curve_kind *kind)
{
    return kind->memory == MEMORY_PINNED || kind->launch == LAUNCH_GRAPH ||
           run->sync == (uint32_t)kind->sync;
}

static bool is_of_kind(const struct calibration_run *run, const struct curve_kind *kind)
{
    return !is_sliced(run) && (run->streams > 1) == kind->polls && run->mps == kind->mps &&
           run->memory == (uint32_t)kind->memory && run->launch == (uint32_t)kind->launch &&
           is_same_sync(run, kind);
}

/* One worker alone; NULL: there is no such run. */
static const struct calibration_run *find_alone(const struct calibration *calibration,
                                                const struct curve_kind *kind, bool awake)
{
    struct curve_kind one = *kind;
    one.mps = one.polls = false;
    for (unsigned i = 0; i < calibration->run_count; i++) {
        const struct calibration_run *run = &calibration->runs[i];
        if (workers_of(run) == 1 && is_of_kind(run, &one) && is_awake(run) == awake)
            return run;
    }
    return NULL;
}

/* What waking up takes: of those that launch so, in pinned memory, which have it measured. */
static double wake_s(const struct calibration *calibration, enum work_launch launch)
{
    const struct curve_kind kind = {.launch = launch};
    const struct calibration_run *awake = find_alone(calibration, &kind, true);
    const struct calibration_run *asleep = find_alone(calibration, &kind, false);
    if (!awake || !asleep)
        return 0.0;
    return fmax(1.0 / asleep->ips - 1.0 / awake->ips, 0.0);
}

static double find_alone_s(const struct calibration *calibration, const struct curve_kind *kind)
{
    struct curve_kind like = *kind;
    const struct calibration_run *run = find_alone(calibration, &like, true);
    if (!run) {
        like.sync = SYNC_STREAM;
        run = find_alone(calibration, &like, true);
    }
    if (!run) {
        like.memory = MEMORY_PINNED;
        run = find_alone(calibration, &like, true);
    }
    if (!run)
        return 0.0;
    return 1.0 / run->ips + (kind->awake || kind->polls ? 0.0 : wake_s(calibration, kind->launch));
}

/* -- what the machine can do ------------------------------------------------------------------- */

static double launches_ips(const struct curve_kind *kind, const struct calibration *calibration)
{
    double kernels = calibration->work.kernels;
    if (kind->launch == LAUNCH_GRAPH)
        return per_s(calibration->graph_kernels_per_s, kernels);
    return per_s(kind->mps ? ceiling_gpu_launches(calibration)
                           : calibration->process_launches_per_s,
                 kernels);
}

/* The larger of two times; how soft the corner is between them. */
static double larger_s(double one_s, double other_s, double corner)
{
    double longer = fmax(one_s, other_s), shorter = fmin(one_s, other_s);
    return longer * pow(1.0 + pow(shorter / longer, corner), 1.0 / corner);
}

/* What the larger one is, of the two, if that is the other. */
static double other_of_larger_s(double larger, double one_s, double corner)
{
    return larger > one_s ? larger * pow(1.0 - pow(one_s / larger, corner), 1.0 / corner) : 0.0;
}

/* Graphs that take much longer beside others than alone do what the GPU can do: what limits them
 * there may be none of the figures, as the blocks that it starts. 0: no run shows it. */
static double crowded_ips(const struct curve_kind *kind, const struct calibration *calibration)
{
    double most = 0.0;
    if (kind->launch != LAUNCH_GRAPH || kind->memory != MEMORY_PINNED || kind->mps)
        return 0.0;
    for (unsigned i = 0; i < calibration->run_count; i++) {
        const struct calibration_run *run = &calibration->runs[i];
        struct curve_kind alike = *kind;
        alike.polls = run->streams > 1;
        alike.awake = is_awake(run);
        double workers = workers_of(run), alone_s = find_alone_s(calibration, &alike);
        if (is_of_kind(run, &alike) && workers / run->ips > CROWDED * alone_s)
            most = fmax(most, workers / other_of_larger_s(workers / run->ips, alone_s, CORNER));
    }
    return most;
}

static double find_most_ips(const struct curve_kind *kind, const struct calibration *calibration,
                            double share)
{
    double bytes = (double)calibration->work.bytes;
    double most =
        smaller_known(launches_ips(kind, calibration), calibration->arithmetic_ips * share);
    most = smaller_known(most, per_s(calibration->both_bytes_per_s, bytes));
    most = smaller_known(most, crowded_ips(kind, calibration));
    /* What was done can be done. */
    for (unsigned i = 0; i < calibration->run_count && share >= 1.0 && most > 0.0; i++)
        if (is_of_kind(&calibration->runs[i], kind))
            most = fmax(most, calibration->runs[i].ips);
    return most;
}

/* -- the curve --------------------------------------------------------------------------------- */

static double staged_ips(const struct curve *curve, double threads)
{
    struct explain_point point = {.threads = (unsigned)threads};
    if (!curve->staged)
        return 0.0;
    return per_s(ceiling_pageable_bytes(&point, curve->staged), (double)curve->staged->work.bytes);
}

/* Without what is between the two. */
static double plain_s(const struct curve *curve, double workers)
{
    double most = smaller_known(curve->most_ips, staged_ips(curve, workers));
    return larger_s(curve->alone_s, most > 0.0 ? workers / most : 0.0, CORNER);
}

static void add_knot(struct curve *curve, double workers, double factor)
{
    unsigned at = curve->count;
    if (curve->count == CURVE_KNOTS)
        return;
    while (at > 0 && curve->workers[at - 1] > workers) {
        curve->workers[at] = curve->workers[at - 1];
        curve->factor[at] = curve->factor[at - 1];
        at--;
    }
    curve->workers[at] = workers;
    curve->factor[at] = factor;
    curve->count++;
}

static bool has_knot(const struct curve *curve, double workers)
{
    for (unsigned i = 0; i < curve->count; i++)
        if (curve->workers[i] == workers)
            return true;
    return false;
}

/* The runs of a kind; more threads awake than CPUs show something else. */
static void add_runs(const struct curve_kind *kind, const struct calibration *calibration,
                     bool awake, struct curve *out)
{
    struct curve_kind as_run = *kind;
    as_run.awake = awake;
    struct curve alike = *out;
    alike.alone_s = find_alone_s(calibration, &as_run);
    for (unsigned i = 0; i < calibration->run_count; i++) {
        const struct calibration_run *run = &calibration->runs[i];
        unsigned workers = workers_of(run);
        if (!is_of_kind(run, kind) || is_awake(run) != awake || has_knot(out, workers) ||
            (awake && !kind->polls && workers > calibration->cpus))
            continue;
        add_knot(out, workers, workers / run->ips / plain_s(&alike, workers));
    }
}

/* Threads that never wait show how fast those that do can copy, too. */
static void add_unsynced(const struct curve_kind *kind, const struct calibration *calibration,
                         struct curve *out)
{
    struct curve_kind unsynced = *kind;
    unsynced.sync = SYNC_NONE;
    for (unsigned i = 0; i < calibration->run_count; i++) {
        const struct calibration_run *run = &calibration->runs[i];
        unsigned workers = workers_of(run);
        if (is_of_kind(run, &unsynced) && workers > 1 && !has_knot(out, workers) &&
            workers / run->ips < curve_s(out, workers))
            add_knot(out, workers, workers / run->ips / plain_s(out, workers));
    }
}

/* A worker at its pageable copies holds up none of those that are at the rest of their iterations:
 * by Little's law n of them are, each for as long as it takes beside n in pinned memory. */
double curve_longer_s(const struct curve *curve, const struct curve *pinned, double workers)
{
    double more_s = fmax(curve->alone_s - pinned->alone_s, 0.0), few = 0.0, many = workers;
    for (unsigned i = 0; i < HALVINGS; i++) {
        double n = (few + many) / 2.0, there_s = curve_s(pinned, fmax(n, 1.0));
        if (n * (1.0 + more_s / there_s) < workers)
            few = n;
        else
            many = n;
    }
    return curve_s(pinned, fmax(many, 1.0)) + more_s;
}

/* What pageable memory adds to an iteration in pinned memory, or its staging if that takes longer.
 */
static double added_s(const struct curve *curve, const struct curve *pinned, double workers)
{
    double beside_s = curve_longer_s(curve, pinned, workers);
    double staged = staged_ips(curve, workers);
    if (!curve->staged)
        return larger_s(beside_s, workers * curve->memory_s, MEMORY_CORNER);
    return larger_s(beside_s, staged > 0.0 ? workers / staged : 0.0, CORNER);
}

/* Processes share the host's memory: what the largest run with pageable copies takes beside what
 * as many would without that. */
static double find_memory_s(const struct curve *curve, const struct curve *pinned)
{
    double most = curve_reach(curve), unshared_s = curve_longer_s(curve, pinned, most);
    return other_of_larger_s(curve_s(curve, most), unshared_s, MEMORY_CORNER) / most;
}

static void add_added(struct curve *out, const struct curve *pinned, const struct curve *beyond,
                      double workers)
{
    if (!has_knot(out, workers))
        add_knot(out, workers,
                 added_s(out, pinned, workers) * curve_s(beyond, workers) / plain_s(out, workers));
}

/* Between two runs with pageable memory those with pinned memory show how workers get in each
 * other's way. */
static void add_pinned(const struct curve_kind *kind, const struct calibration *calibration,
                       struct curve *out)
{
    struct curve_kind pinned_kind = *kind;
    struct curve pinned, beyond = {.alone_s = 1.0, .count = out->count};
    pinned_kind.memory = MEMORY_PINNED;
    curve_make(&pinned_kind, calibration, 1.0, &pinned);
    if (pinned.alone_s <= 0.0)
        return;
    if (kind->mps && curve_reach(out) > 1.0)
        out->memory_s = find_memory_s(out, &pinned);
    for (unsigned i = 0; i < out->count; i++) {
        beyond.workers[i] = out->workers[i];
        beyond.factor[i] = curve_s(out, out->workers[i]) / added_s(out, &pinned, out->workers[i]);
    }
    double reach = out->count > 1 ? curve_reach(out) : curve_reach(&pinned);
    for (unsigned i = 0; i < pinned.count; i++)
        if (pinned.workers[i] <= reach)
            add_added(out, &pinned, &beyond, pinned.workers[i]);
    for (double workers = 2.0; out->memory_s > 0.0 && workers < reach; workers *= 1.5)
        add_added(out, &pinned, &beyond, workers);
}

void curve_make(const struct curve_kind *kind, const struct calibration *calibration, double share,
                struct curve *out)
{
    struct curve_kind alike = *kind;
    *out = (struct curve){.alone_s = find_alone_s(calibration, kind),
                          .most_ips = find_most_ips(kind, calibration, 1.0),
                          .staged =
                              kind->memory == MEMORY_PAGEABLE && !kind->mps ? calibration : NULL};
    if (out->alone_s <= 0.0)
        return;
    add_runs(kind, calibration, kind->awake, out);
    add_runs(kind, calibration, !kind->awake, out);
    /* Those that a similar kind shows; what those in pinned memory do, see add_pinned(). */
    if (out->count == 0 && alike.memory == MEMORY_PAGEABLE && alike.sync == SYNC_NONE) {
        alike.sync = SYNC_STREAM;
        add_runs(&alike, calibration, kind->awake, out);
        add_runs(&alike, calibration, !kind->awake, out);
    }
    if (!has_knot(out, 1.0))
        add_knot(out, 1.0, 1.0);
    if (kind->memory == MEMORY_PAGEABLE && kind->sync == SYNC_STREAM &&
        kind->launch == LAUNCH_STREAM)
        add_unsynced(kind, calibration, out);
    if (kind->memory == MEMORY_PAGEABLE)
        add_pinned(kind, calibration, out);
    if (share < 1.0)
        out->most_ips = find_most_ips(kind, calibration, share);
}

/* Beyond the last run: as the factor has it, or as from the run before, whichever is slower. */
static double farther_s(const struct curve *curve, double workers)
{
    unsigned last = curve->count - 1;
    double to = curve->workers[last], to_s = plain_s(curve, to) * curve->factor[last];
    double plain = plain_s(curve, workers) * curve->factor[last];
    if (last == 0)
        return plain;
    double from = curve->workers[last - 1];
    double from_s = plain_s(curve, from) * curve->factor[last - 1];
    double slope = fmin(fmax(log(to_s / from_s) / log(to / from), 0.0), 1.0);
    return fmax(plain, to_s * pow(workers / to, slope));
}

double curve_s(const struct curve *curve, double workers)
{
    unsigned above = 0;
    if (curve->count == 0)
        return plain_s(curve, workers);
    while (above < curve->count && curve->workers[above] < workers)
        above++;
    if (above == 0)
        return plain_s(curve, workers) * curve->factor[0];
    if (above == curve->count)
        return farther_s(curve, workers);
    double from = log(curve->workers[above - 1]), to = log(curve->workers[above]);
    double part = (log(workers) - from) / (to - from);
    return plain_s(curve, workers) * pow(curve->factor[above - 1], 1.0 - part) *
           pow(curve->factor[above], part);
}

double curve_memory_s(const struct curve *curve, double workers)
{
    return larger_s(curve->alone_s, workers * curve->memory_s, MEMORY_CORNER) - curve->alone_s;
}

double curve_reach(const struct curve *curve)
{
    return curve->count > 0 ? curve->workers[curve->count - 1] : 1.0;
}
