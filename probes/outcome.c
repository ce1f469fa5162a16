#include "probes/outcome.h"

#include <math.h>

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
    double value;
    if (!data ||
        probe_series_quantile(data->series[metric], data->rounds, share, &value) != STATUS_OK)
        return NAN;
    return value;
}
