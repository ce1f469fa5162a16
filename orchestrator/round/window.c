#include "orchestrator/round/window.h"

#include <math.h>

#include "statistics/steady.h"

#define ITERATIONS_PER_BATCH 2

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

void window_judge(const struct shm *shm, uint64_t slices, struct window *out)
{
    double series[SHM_SLICES];
    struct steady steady;
    *out = (struct window){.settled = true, .interval.half_rel = INFINITY};
    if (slices == 0 || slices > SHM_SLICES)
        return;
    double fewest = sum_slices(shm, slices, series);
    double shortest = ceil(ITERATIONS_PER_BATCH * (double)slices / fewest);
    if (!(shortest <= (double)slices))
        return;
    size_t batch = (size_t)shortest;
    steady_find(series, slices, batch, &steady);
    out->steady_slice = steady.start;
    out->settled = steady.settled;
    out->before_rel = steady.before_rel;
    out->drift_rel = steady_drift_rel(series + steady.start, slices - steady.start, batch);
    interval_of_series(series + steady.start, slices - steady.start, batch, &out->interval);
}

void window_merge(struct window *newest, const struct window *before)
{
    newest->settled = newest->settled && before->settled;
    if (before->steady_slice > newest->steady_slice) {
        newest->steady_slice = before->steady_slice;
        newest->before_rel = before->before_rel;
    }
    if (fabs(before->drift_rel) > fabs(newest->drift_rel))
        newest->drift_rel = before->drift_rel;
}
