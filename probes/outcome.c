#include "probes/outcome.h"

#include <math.h>
#include <string.h>

#include "probes/probe.h"

/* Arms that are compared with each other: a control and all whose control it is. */
static bool is_of(const struct probe_arm *arm, const struct probe_arm *control)
{
    return arm == control || (arm->control && strcmp(arm->control, control->name) == 0);
}

/* Sums and counts the logarithms of the levels of the rounds of a control's arms. mean: NULL, or
 * what each round is scaled to. */
static double sum_levels(const struct probe_outcome *outcome, const struct probe_arm *control,
                         const double *mean, size_t *count)
{
    unsigned level = outcome->probe->level_metric;
    double sum = 0;
    *count = 0;
    for (size_t a = 0; a < outcome->probe->arm_count; a++) {
        struct probe_arm_data *data = &outcome->arms[a];
        for (unsigned r = 0; is_of(data->arm, control) && r < data->rounds; r++) {
            const struct probe_series *round = &data->series[level][r];
            if (round->count == 0)
                continue;
            double at = log(fmax(round->median_us * round->scale, PROBE_LEAST_US));
            sum += at;
            ++*count;
            if (mean)
                data->series[0][r].scale *= exp(*mean - at);
        }
    }
    return sum;
}

void probe_level(struct probe_outcome *outcome)
{
    const struct probe *probe = outcome->probe;
    for (size_t a = 0; probe->level_metric && a < probe->arm_count; a++) {
        size_t count;
        if (probe->arms[a].control)
            continue;
        double mean = sum_levels(outcome, &probe->arms[a], NULL, &count);
        if (count == 0)
            continue;
        mean /= (double)count;
        sum_levels(outcome, &probe->arms[a], &mean, &count);
    }
}

struct probe_arm_data *probe_outcome_arm(const struct probe_outcome *outcome, const char *name)
{
    for (size_t i = 0; i < outcome->probe->arm_count; i++)
        if (strcmp(outcome->arms[i].arm->name, name) == 0)
            return &outcome->arms[i];
    return NULL;
}

bool probe_arm_is_measured(const struct probe_arm_data *data)
{
    return data->chosen && data->status == STATUS_OK && data->rounds > 0;
}

double probe_outcome_median_us(const struct probe_outcome *outcome, const char *arm,
                               unsigned metric)
{
    const struct probe_arm_data *data = probe_outcome_arm(outcome, arm);
    struct probe_summary summary;
    if (!data || !probe_arm_is_measured(data) ||
        probe_summarise(data->series[metric], data->rounds, &summary) != STATUS_OK)
        return NAN;
    return summary.median_us;
}

double probe_outcome_quantile_us(const struct probe_outcome *outcome, const char *arm,
                                 unsigned metric, double share)
{
    const struct probe_arm_data *data = probe_outcome_arm(outcome, arm);
    double value;
    if (!data || !probe_arm_is_measured(data) ||
        probe_series_quantile(data->series[metric], data->rounds, share, &value) != STATUS_OK)
        return NAN;
    return value;
}
