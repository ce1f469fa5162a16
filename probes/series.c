#include "probes/series.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "statistics/statistics.h"

void probe_series_make(double *us, size_t count, struct probe_series *out)
{
    uint64_t lower, upper;
    *out = (struct probe_series){.scale = 1};
    if (count == 0)
        return;
    statistics_sort(us, count);
    *out = (struct probe_series){
        .us = us,
        .count = count < PROBE_KEPT ? count : PROBE_KEPT,
        .samples = count,
        .median_us = (us[(count - 1) / 2] + us[count / 2]) / 2,
        .low_us = NAN,
        .high_us = NAN,
        .mean_us = statistics_mean(us, count),
        .longest_us = us[count - 1],
        .scale = 1,
    };
    if (statistics_rank_bounds(count, 0.5, &lower, &upper)) {
        out->low_us = us[lower - 1];
        out->high_us = us[upper - 1];
    }
    /* The middle of each of as many equal parts; never one that has been overwritten. */
    for (size_t i = 0; i < out->count; i++)
        us[i] = us[(2 * i + 1) * count / (2 * out->count)];
}

enum status probe_series_take(const struct probe_shm *shm, unsigned metric,
                              struct probe_series *out)
{
    size_t count = 0, at = 0;
    uint64_t dropped = 0;
    for (unsigned i = 0; i < shm->header->processes; i++) {
        uint64_t all = atomic_load(&probe_shm_process(shm, i)->counts[metric]);
        size_t there = probe_shm_count(shm, i, metric);
        count += there;
        dropped += all - there;
    }
    probe_series_make(NULL, 0, out);
    if (count == 0)
        return STATUS_OK;
    double *us = malloc(count * sizeof *us);
    if (!us)
        return status_set(STATUS_MEMORY, "out of memory for the samples");
    for (unsigned i = 0; i < shm->header->processes; i++) {
        const struct probe_shm_process *process = probe_shm_process(shm, i);
        for (size_t s = 0; s < probe_shm_count(shm, i, metric) && at < count; s++)
            us[at++] = (double)process->samples_ns[metric][s] / 1e3;
    }
    probe_series_make(us, at, out);
    out->dropped = dropped;
    double *kept = realloc(us, out->count * sizeof *us);
    out->us = kept ? kept : us;
    return STATUS_OK;
}

/* -- rounds together --------------------------------------------------------------------------- */

/* A value that stands for `samples` samples. */
struct weighed {
    double us, samples;
};

static int by_time(const void *a, const void *b)
{
    const struct weighed *x = a, *y = b;
    return (x->us > y->us) - (x->us < y->us);
}

/* Finds the first value at which `samples` samples have passed; where exactly as many have, and
 * middle is wanted, its mean with the next one. */
static double find(const struct weighed *all, size_t count, double samples, bool middle)
{
    double passed = 0;
    for (size_t i = 0; i < count; i++) {
        passed += all[i].samples;
        if (passed < samples)
            continue;
        return middle && passed == samples && i + 1 < count ? (all[i].us + all[i + 1].us) / 2
                                                            : all[i].us;
    }
    return all[count - 1].us;
}

enum status probe_series_quantile(const struct probe_series *rounds, unsigned count, double share,
                                  double *out)
{
    size_t total = 0, at = 0;
    double samples = 0, longest_us = NAN;
    for (unsigned r = 0; r < count; r++) {
        total += rounds[r].count;
        samples += (double)rounds[r].samples;
        if (rounds[r].count > 0)
            longest_us = fmax(longest_us, rounds[r].longest_us * rounds[r].scale);
    }
    *out = longest_us;
    if (total == 0 || share >= 1)
        return STATUS_OK;
    struct weighed *all = malloc(total * sizeof *all);
    if (!all)
        return status_set(STATUS_MEMORY, "out of memory for the samples");
    for (unsigned r = 0; r < count; r++)
        for (size_t i = 0; i < rounds[r].count; i++)
            all[at++] = (struct weighed){rounds[r].us[i] * rounds[r].scale,
                                         (double)rounds[r].samples / (double)rounds[r].count};
    qsort(all, total, sizeof *all, by_time);
    *out = find(all, total, share * samples, share == 0.5);
    free(all);
    return STATUS_OK;
}
