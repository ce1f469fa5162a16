#include "orchestrator/round/window.h"

#include <math.h>

#include "statistics/steady.h"

#define ITERATIONS_PER_BATCH 2

/* A window is extended by this share of itself at a time: the more looks, the more chances that one
 * of them takes luck for precision. */
#define EXTEND_SHARE 4

/* Two levels that lie farther apart have no mean that stands for both. */
#define LEVEL_MATTERS 0.1

/* One pass over the slots: a look costs no more than reading what has been counted. Returns the
 * fewest iterations of a worker. */
static double sum_slices(const struct shm *shm, uint64_t slices, double *series)
{
    double fewest = INFINITY;
    for (uint64_t i = 0; i < slices; i++)
        series[i] = 0.0;
    for (unsigned p = 0; p < shm->header->processes; p++) {
        for (unsigned t = 0; t < shm->header->threads; t++) {
            const struct shm_slot *slot = shm_slot_at(shm, p, t);
            double sum = 0.0;
            for (uint64_t i = 0; i < slices; i++) {
                uint64_t units = atomic_load_explicit(&slot->slices[i], memory_order_relaxed);
                double iterations = (double)units / (double)SHM_ITERATION_UNITS;
                series[i] += iterations;
                sum += iterations;
            }
            fewest = fmin(fewest, sum);
        }
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
    double fewest = sum_slices(shm, slices, series);
    double shortest = ceil(ITERATIONS_PER_BATCH * (double)slices / fewest);
    if (shortest <= (double)slices)
        window_judge_series(series, slices, (size_t)shortest, out);
}

bool window_ends(const struct window *window, double goal_rel, unsigned *narrow)
{
    return interval_reached(window->settled ? window->interval.half_rel : INFINITY, goal_rel,
                            narrow);
}

uint64_t window_next(uint64_t length, uint64_t longest)
{
    uint64_t next = length + length / EXTEND_SHARE + 1;
    return next < longest ? next : longest;
}

bool window_is_plain(const struct window *window)
{
    return window->settled || fabs(window->before_rel) <= LEVEL_MATTERS;
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
}
