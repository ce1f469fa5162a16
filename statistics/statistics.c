#include "statistics/statistics.h"

#include <math.h>
#include <stdlib.h>

double statistics_normal_below(double x)
{
    return 0.5 * erfc(-x / sqrt(2.0));
}

double statistics_mean(const double *values, size_t count)
{
    double sum = 0.0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return count ? sum / (double)count : 0.0;
}

static int by_size(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

void statistics_sort(double *values, size_t count)
{
    qsort(values, count, sizeof *values, by_size);
}

double statistics_median(double *values, size_t count)
{
    statistics_sort(values, count);
    return (values[(count - 1) / 2] + values[count / 2]) / 2.0;
}

double statistics_t975(size_t degrees)
{
    static const double small[] = {INFINITY,  12.7062047, 4.3026527,
                                   3.1824463, 2.7764451,  2.5705818};
    if (degrees < sizeof small / sizeof small[0])
        return small[degrees];
    double z = STATISTICS_NORMAL_975, n = (double)degrees;
    double z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;
    return z + (z3 + z) / (4 * n) + (5 * z5 + 16 * z3 + 3 * z) / (96 * n * n) +
           (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * n * n * n);
}

double statistics_ci95_rel(const double *values, size_t count)
{
    double mean = statistics_mean(values, count);
    double squares = 0.0;
    if (count < 2 || mean <= 0.0)
        return INFINITY;
    for (size_t i = 0; i < count; i++)
        squares += (values[i] - mean) * (values[i] - mean);
    double error = sqrt(squares / (double)(count - 1) / (double)count);
    return statistics_t975(count - 1) * error / mean;
}

/* Where the binomial distribution is taken to begin, in standard deviations below its mean. */
#define NEGLIGIBLE 12.0

bool statistics_rank_bounds(uint64_t count, double share, uint64_t *lower, uint64_t *upper)
{
    double n = (double)count, odds = share / (1.0 - share);
    double low = floor(n * share - NEGLIGIBLE * sqrt(n * share * (1.0 - share)) - NEGLIGIBLE);
    double k = fmax(low, 0.0);
    /* Of k values at or below the quantile. */
    double probability = exp(lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(n - k + 1.0) +
                             k * log(share) + (n - k) * log1p(-share));
    double below = 0.0; /* of fewer than k */
    double lowest = 0.0;
    /* Lower: the highest rank l with P(fewer than l) <= 2.5%. Upper: the lowest rank u with P(fewer
     * than u) >= 97.5%. */
    while (k <= n && below < 0.975) {
        if (below <= 0.025)
            lowest = k;
        below += probability;
        probability *= (n - k) / (k + 1.0) * odds;
        k += 1.0;
    }
    if (lowest < 1.0 || k > n || below < 0.975)
        return false;
    *lower = (uint64_t)lowest;
    *upper = (uint64_t)k;
    return true;
}

double statistics_jain(const double *values, size_t count)
{
    double sum = 0.0, squares = 0.0;
    for (size_t i = 0; i < count; i++) {
        sum += values[i];
        squares += values[i] * values[i];
    }
    return squares > 0.0 ? sum * sum / ((double)count * squares) : 0.0;
}
