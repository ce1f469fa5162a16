#include "common/statistics.h"

#include <math.h>

#define NORMAL_975 1.959963984540054

double statistics_mean(const double *values, size_t count)
{
    double sum = 0.0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return count ? sum / (double)count : 0.0;
}

double statistics_t975(size_t degrees)
{
    static const double small[] = {INFINITY,  12.7062047, 4.3026527,
                                   3.1824463, 2.7764451,  2.5705818};
    if (degrees < sizeof small / sizeof small[0])
        return small[degrees];
    double z = NORMAL_975, n = (double)degrees;
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

double statistics_jain(const double *values, size_t count)
{
    double sum = 0.0, squares = 0.0;
    for (size_t i = 0; i < count; i++) {
        sum += values[i];
        squares += values[i] * values[i];
    }
    return squares > 0.0 ? sum * sum / ((double)count * squares) : 0.0;
}
