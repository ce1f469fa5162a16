#include "orchestrator/round/window.h"

#include <math.h>

#include "common/clock.h"
#include "statistics/steady.h"

#define ITERATIONS_PER_BATCH 2

/* A window is extended by this share of itself at a time: the more looks, the more chances that one
 * of them takes luck for precision. */
#define EXTEND_SHARE 4

/* What a look asks for, as a share of the goal: the window ends some slices after it, and must meet
 * the goal still. */
#define LOOK_SHARE 0.95

/* An interval that would be more than this many times the goal at best is left as it is: that is an
 * estimate, and one that seems to miss the goal by less may reach it. */
#define HOPELESS 2.0

/* Two levels that lie farther apart have no mean that stands for both. */
#define LEVEL_MATTERS 0.1

/* See struct window_stall. */
#define STALL_USUALS 5
#define STALL_WINDOW_SHARE 10
#define STALL_LEAST_NS (NS_PER_S / 2)
#define USUAL_LEAST 2

static uint64_t end_of(const struct shm_header *header, uint64_t slices)
{
    return atomic_load_explicit(&header->window_begin_ns, memory_order_relaxed) +
           slices * header->settings.slice_ns;
}

/* Adds what the iteration that runs is taken to have done of itself. */
static double add_running(const struct shm_header *header, uint64_t completed, uint64_t last_end_ns,
                          uint64_t first, uint64_t last, double *series)
{
    uint64_t end_ns = end_of(header, last), from_ns = end_of(header, first);
    if (header->settings.rate_units || last_end_ns >= end_ns)
        return 0.0;
    double age_ns = (double)(end_ns - last_end_ns);
    double mean_ns = completed ? (double)last_end_ns / (double)completed : 0.0;
    double per_ns = 1.0 / fmax(age_ns, mean_ns);
    if (last_end_ns > from_ns)
        from_ns = last_end_ns;
    uint64_t since = (from_ns - end_of(header, 0)) / header->settings.slice_ns;
    for (uint64_t i = since; series && i < last; i++) {
        uint64_t begin_ns = end_of(header, i);
        begin_ns = begin_ns > from_ns ? begin_ns : from_ns;
        series[i - first] += (double)(end_of(header, i + 1) - begin_ns) * per_ns;
    }
    return (double)(end_ns - from_ns) * per_ns;
}

double window_iterations(const struct shm *shm, const struct shm_slot *slot, uint64_t first,
                         uint64_t last, double *series)
{
    /* Before the slices: what ends meanwhile may count twice in a look, and is in no result. */
    uint64_t completed = atomic_load_explicit(&slot->completed, memory_order_acquire);
    uint64_t last_end_ns = atomic_load_explicit(&slot->last_end_ns, memory_order_relaxed);
    uint64_t units = 0;
    for (uint64_t i = first; i < last; i++) {
        uint64_t slice = atomic_load_explicit(&slot->slices[i], memory_order_relaxed);
        units += slice;
        if (series)
            series[i - first] += (double)slice / (double)SHM_ITERATION_UNITS;
    }
    return (double)units / (double)SHM_ITERATION_UNITS +
           add_running(shm->header, completed, last_end_ns, first, last, series);
}

/* How long an iteration takes usually: the fourth longest of the window, or, while it has fewer,
 * the mean of all but the one that may be a stall. 0: not known. One alone may be the first of all,
 * which had to wait for no other worker's. */
static uint64_t usual_of(const struct shm_slot *slot, uint64_t still_ns, bool still_runs)
{
    uint64_t usual_ns =
        atomic_load_explicit(&slot->longest_ns[SHM_LONGEST - 1], memory_order_relaxed);
    uint64_t others = atomic_load_explicit(&slot->completed, memory_order_acquire);
    uint64_t others_ns = atomic_load_explicit(&slot->last_end_ns, memory_order_relaxed);
    if (!still_runs && others > 0) {
        others--;
        others_ns -= still_ns < others_ns ? still_ns : others_ns;
    }
    if (usual_ns > 0 || others < USUAL_LEAST)
        return usual_ns;
    return others_ns / others;
}

/* When any connection of a server had its last answer; of other processes 0: each worker counts by
 * itself. */
static uint64_t progress_of(const struct shm *shm, unsigned process)
{
    uint64_t latest_ns = 0;
    for (unsigned i = 0; shm->header->settings.server && i < shm_slots(shm->header); i++) {
        uint64_t end_ns =
            atomic_load_explicit(&shm_slot_at(shm, process, i)->last_end_ns, memory_order_relaxed);
        latest_ns = end_ns > latest_ns ? end_ns : latest_ns;
    }
    return latest_ns;
}

static void note_stall(const struct shm_header *header, const struct shm_slot *slot,
                       unsigned worker, uint64_t progress_ns, uint64_t slices,
                       struct window_stall *stall)
{
    uint64_t end_ns = end_of(header, slices), window_ns = slices * header->settings.slice_ns;
    uint64_t still_ns = atomic_load_explicit(&slot->still_ns, memory_order_relaxed);
    uint64_t last_end_ns = atomic_load_explicit(&slot->last_end_ns, memory_order_relaxed);
    if (last_end_ns < progress_ns)
        last_end_ns = progress_ns;
    bool runs =
        !header->settings.rate_units && last_end_ns < end_ns && end_ns - last_end_ns > still_ns;
    if (runs)
        still_ns = end_ns - last_end_ns;
    uint64_t usual_ns = usual_of(slot, still_ns, runs);
    if (usual_ns == 0 || still_ns < STALL_USUALS * usual_ns ||
        still_ns < window_ns / STALL_WINDOW_SHARE || still_ns < STALL_LEAST_NS)
        return;
    stall->workers++;
    if (still_ns > stall->ns) {
        stall->worker = worker;
        stall->ns = still_ns;
        stall->usual_ns = usual_ns;
    }
}

/* One pass over the slots: a look costs no more than reading what has been counted. Returns the
 * fewest iterations of a worker. */
static double sum_slices(const struct shm *shm, uint64_t slices, double *series,
                         struct window_stall *stall)
{
    const struct shm_header *header = shm->header;
    double fewest = INFINITY;
    uint64_t progress_ns = 0;
    unsigned slots = shm_slots(header);
    for (uint64_t i = 0; i < slices; i++)
        series[i] = 0.0;
    for (unsigned worker = 0; worker < header->processes * slots; worker++) {
        const struct shm_slot *slot = shm_slot_at(shm, worker / slots, worker % slots);
        fewest = fmin(fewest, window_iterations(shm, slot, 0, slices, series));
        if (worker % slots == 0)
            progress_ns = progress_of(shm, worker / slots);
        note_stall(header, slot, worker, progress_ns, slices, stall);
    }
    return fewest;
}

void window_judge_series(const double *series, uint64_t slices, size_t shortest_batch,
                         struct window *out)
{
    struct steady steady;
    steady_find(series, slices, shortest_batch, &steady);
    *out = (struct window){
        .steady_slice = steady.start, .settled = steady.settled, .before_rel = steady.before_rel};
    out->drift_rel = steady_drift_rel(series + steady.start, slices - steady.start, shortest_batch);
    interval_of_series(series + steady.start, slices - steady.start, shortest_batch,
                       &out->interval);
}

void window_judge(const struct shm *shm, uint64_t slices, struct window *out)
{
    double series[SHM_SLICES];
    *out = (struct window){.settled = true, .interval.half_rel = INFINITY};
    if (slices == 0 || slices > SHM_SLICES)
        return;
    double fewest = sum_slices(shm, slices, series, &out->stall);
    double shortest = ceil(ITERATIONS_PER_BATCH * (double)slices / fewest);
    struct window_stall stall = out->stall;
    if (shortest <= (double)slices)
        window_judge_series(series, slices, (size_t)shortest, out);
    out->stall = stall;
}

bool window_ends(const struct window *window, double goal_rel, unsigned *narrow)
{
    bool steady = window->settled && window->stall.workers == 0;
    double look_rel = goal_rel < 1.0 ? LOOK_SHARE * goal_rel : goal_rel;
    return interval_reached(steady ? window->interval.half_rel : INFINITY, look_rel, narrow);
}

bool window_is_hopeless(const struct window *window, double goal_rel, uint64_t length,
                        uint64_t longest)
{
    double half_rel = window->interval.half_rel;
    double at_best = half_rel * sqrt((double)length / (double)longest);
    return 2 * length >= longest && window->settled && window->stall.workers == 0 &&
           goal_rel < 1.0 && isfinite(half_rel) && at_best > HOPELESS * goal_rel;
}

uint64_t window_next(uint64_t length, uint64_t longest)
{
    uint64_t next = length + length / EXTEND_SHARE + 1;
    return next < longest ? next : longest;
}

bool window_is_plain(const struct window *window)
{
    return window->stall.workers == 0 &&
           (window->settled || fabs(window->before_rel) <= LEVEL_MATTERS);
}

void window_merge(struct window *newest, const struct window *before)
{
    bool worse = before->settled != newest->settled ? !before->settled
                                                    : before->steady_slice > newest->steady_slice;
    if (worse) {
        newest->settled = before->settled;
        newest->steady_slice = before->steady_slice;
        newest->before_rel = before->before_rel;
    }
    if (fabs(before->drift_rel) > fabs(newest->drift_rel))
        newest->drift_rel = before->drift_rel;
    if (before->stall.ns > newest->stall.ns)
        newest->stall = before->stall;
}
