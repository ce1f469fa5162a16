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

double told_median_us(const struct probe_outcome *outcome, const char *arm, unsigned metric)
{
    const struct probe_arm_data *data = probe_outcome_arm(outcome, arm);
    struct probe_summary summary;
    if (!data || probe_summarise(data->series[metric], data->rounds, &summary) != STATUS_OK)
        return NAN;
    return summary.median_us;
}

double told_quantile_us(const struct probe_outcome *outcome, const char *arm, unsigned metric,
                        double share)
{
    const struct probe_arm_data *data = probe_outcome_arm(outcome, arm);
    size_t total = 0;
    double *all = data ? gather(data->series[metric], data->rounds, &total) : NULL;
    double value = !all           ? NAN
                   : share == 0.5 ? probe_median(all, total)
                                  : probe_quantile(all, total, share);
    free(all);
    return value;
}
