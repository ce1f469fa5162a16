#include "probes/told.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A copy, since what sorts must not change the order in which samples came. */
static double *gather(const struct probe_series *rounds, unsigned count, size_t *total)
{
    size_t at = 0;
    *total = 0;
    for (unsigned r = 0; r < count; r++)
        *total += rounds[r].count;
    double *all = *total > 0 ? malloc(*total * sizeof *all) : NULL;
    for (unsigned r = 0; all && r < count; r++) {
        if (rounds[r].count > 0)
            memcpy(all + at, rounds[r].us, rounds[r].count * sizeof *all);
        at += rounds[r].count;
    }
    return all;
}

static double quantile(const struct probe_series *rounds, unsigned count, double share)
{
    size_t total;
    double *all = gather(rounds, count, &total);
    double value = !all           ? NAN
                   : share == 0.5 ? probe_median(all, total)
                                  : probe_quantile(all, total, share);
    free(all);
    return value;
}

double told_median_us(const struct probe_outcome *outcome, const char *arm, unsigned metric)
{
    const struct probe_arm_data *data = probe_outcome_arm(outcome, arm);
    double medians[PROBE_ROUNDS];
    size_t count = 0;
    for (unsigned r = 0; data && r < data->rounds; r++) {
        double median = quantile(&data->series[metric][r], 1, 0.5);
        if (!isnan(median))
            medians[count++] = median;
    }
    return probe_median(medians, count);
}

double told_quantile_us(const struct probe_outcome *outcome, const char *arm, unsigned metric,
                        double share)
{
    const struct probe_arm_data *data = probe_outcome_arm(outcome, arm);
    return data ? quantile(data->series[metric], data->rounds, share) : NAN;
}
