#include "statistics/steady.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "statistics/interval.h"
#include "statistics/statistics.h"

/* Values that MSER-5 takes together. */
#define GROUP 5

/* Fewer groups cannot distinguish a transient from chance. */
#define LEAST_GROUPS 16

/* How many standard errors a transient lies from the rest: the cut was chosen among many. */
#define FAR 4.0

/* Of the values before the cut, this share lies on one side of the median of the rest. */
#define MOST_OF_THEM 0.75

#define DRIFT_MOST_BATCHES 16
#define DRIFT_LEAST_BATCHES 8
#define DRIFT_ERRORS 3.0

/* The cut, in groups, whose remainder has the least squared error of its mean. */
static size_t best_cut(const double *values, size_t groups, double mean)
{
    double sum = 0.0, squares = 0.0, least = INFINITY;
    size_t best = 0;
    for (size_t left = 1; left <= groups; left++) {
        size_t group = groups - left;
        double value = statistics_mean(values + group * GROUP, GROUP) - mean;
        double n = (double)left;
        sum += value;
        squares += value * value;
        double error = (squares - sum * sum / n) / (n * n);
        /* As much with less cut is better. */
        if (group <= groups / 2 && error <= least) {
            least = error;
            best = group;
        }
    }
    return best;
}

/* The cut, in groups, that parts two levels best, by least squares: the other one goes on past the
 * end of a transient where chance has the remainder a little steadier there. */
static size_t step_cut(const double *values, size_t groups, double mean)
{
    double sum = 0.0, most = 0.0;
    size_t best = 0;
    for (size_t group = 1; group <= groups / 2; group++) {
        sum += statistics_mean(values + (group - 1) * GROUP, GROUP) - mean;
        double parted = sum * sum / ((double)group * (double)(groups - group));
        if (parted > most) {
            most = parted;
            best = group;
        }
    }
    return best;
}

/* Whether most of the values before the cut lie above, or below, the median of those after it. */
static bool most_differ(const double *values, size_t cut, size_t count, bool above)
{
    double after[INTERVAL_MOST_VALUES];
    size_t differ = 0;
    memcpy(after, values + cut, (count - cut) * sizeof *after);
    statistics_sort(after, count - cut);
    double median = after[(count - cut) / 2];
    for (size_t i = 0; i < cut; i++)
        differ += above ? values[i] > median : values[i] < median;
    return (double)differ >= MOST_OF_THEM * (double)cut;
}

/* Standard error of the difference between the means before and after the cut. */
static double error_of_difference(const struct interval *rest, size_t cut, size_t count)
{
    return rest->half_rel * rest->mean / STATISTICS_NORMAL_975 *
           sqrt(1.0 + (double)(count - cut) / (double)cut);
}

/* Of single values: the most that the mean can be off where each depends on all before it. */
static double deviation(const double *values, size_t count)
{
    double mean = statistics_mean(values, count), squares = 0.0;
    for (size_t i = 0; i < count; i++)
        squares += (values[i] - mean) * (values[i] - mean);
    return sqrt(squares / (double)count);
}

/* Whether what is before the cut is of another level than the rest. */
static bool take_cut(const double *values, size_t count, size_t cut, size_t shortest_batch,
                     struct steady *out)
{
    if (cut == 0)
        return false;
    struct interval rest;
    interval_of_series(values + cut, count - cut, shortest_batch, &rest);
    const bool known = isfinite(rest.half_rel);
    double difference = statistics_mean(values, cut) - rest.mean;
    double error =
        known ? error_of_difference(&rest, cut, count) : deviation(values + cut, count - cut);
    if (fabs(difference) <= FAR * error || !most_differ(values, cut, count, difference > 0.0))
        return false;
    /* The cut leaves about as much of the transient as chance hides, which an interval does not
     * forgive: half as much again goes with it. */
    size_t start = cut + cut / 2;
    out->before_rel = difference / rest.mean;
    out->settled = known && start <= count / STEADY_SHARE;
    if (out->settled)
        out->start = start;
    return true;
}

void steady_find(const double *values, size_t count, size_t shortest_batch, struct steady *out)
{
    *out = (struct steady){.settled = true};
    size_t groups = count / GROUP;
    if (groups < LEAST_GROUPS || count > INTERVAL_MOST_VALUES)
        return;
    double mean = statistics_mean(values, count);
    if (!take_cut(values, count, best_cut(values, groups, mean) * GROUP, shortest_batch, out))
        take_cut(values, count, step_cut(values, groups, mean) * GROUP, shortest_batch, out);
}

double steady_drift_rel(const double *values, size_t count, size_t shortest_batch)
{
    double means[DRIFT_MOST_BATCHES] = {0.0};
    double slopes[DRIFT_MOST_BATCHES * (DRIFT_MOST_BATCHES - 1) / 2];
    size_t batches = count / (shortest_batch ? shortest_batch : 1), pairs = 0;
    if (batches > DRIFT_MOST_BATCHES)
        batches = DRIFT_MOST_BATCHES;
    if (batches < DRIFT_LEAST_BATCHES)
        return 0.0;
    size_t length = count / batches;
    for (size_t i = 0; i < batches; i++)
        means[i] = statistics_mean(values + i * length, length);
    int sum = 0;
    for (size_t i = 0; i < batches; i++) {
        for (size_t j = i + 1; j < batches; j++) {
            slopes[pairs++] = (means[j] - means[i]) / (double)(j - i);
            sum += (means[j] > means[i]) - (means[j] < means[i]);
        }
    }
    double n = (double)batches, mean = statistics_mean(means, batches);
    double deviation = sqrt(n * (n - 1.0) * (2.0 * n + 5.0) / 18.0);
    if (!(mean > 0.0) || abs(sum) < DRIFT_ERRORS * deviation)
        return 0.0;
    statistics_sort(slopes, pairs);
    return slopes[pairs / 2] * (n - 1.0) / mean;
}
