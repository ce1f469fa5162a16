#include "tests/unit/statistics/series.h"

#include <math.h>

#define WARM_UP 300
#define LEVEL 100.0

double series_uniform(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return ((double)(*state >> 11) + 0.5) / 9007199254740992.0;
}

double series_normal(uint64_t *state)
{
    double radius = sqrt(-2.0 * log(series_uniform(state)));
    return radius * cos(2.0 * M_PI * series_uniform(state));
}

double series_exponential(uint64_t *state)
{
    return -log(series_uniform(state));
}

static void make_queue(uint64_t *state, double *values, size_t count)
{
    double wait = 0.0;
    for (size_t i = 0; i < WARM_UP + count; i++) {
        double service = 0.5 * series_exponential(state);
        if (i >= WARM_UP)
            values[i - WARM_UP] = LEVEL + wait + service;
        wait = fmax(0.0, wait + service - series_exponential(state));
    }
}

double series_make(enum series_kind kind, double phi, uint64_t *state, double *values, size_t count)
{
    if (kind == SERIES_QUEUE) {
        make_queue(state, values, count);
        return LEVEL + 1.0;
    }
    double deviation = kind == SERIES_AR ? series_normal(state) / sqrt(1.0 - phi * phi) : 0.0;
    for (size_t i = 0; i < count; i++) {
        if (kind == SERIES_NORMAL)
            deviation = series_normal(state);
        else if (kind == SERIES_AR && i > 0)
            deviation = phi * deviation + series_normal(state);
        values[i] =
            kind == SERIES_EXPONENTIAL ? LEVEL * series_exponential(state) : LEVEL + deviation;
    }
    return LEVEL;
}

double series_modes(double percent, double dwell, bool exponential, uint64_t *state, double *values,
                    size_t count, size_t *changes_at)
{
    double level = series_uniform(state) < 0.5 ? percent : -percent;
    double left = dwell * (exponential ? series_exponential(state) : series_uniform(state));
    *changes_at = count;
    for (size_t i = 0; i < count; i++, left -= 1.0) {
        for (; left <= 0.0; level = -level) {
            left += dwell * (exponential ? series_exponential(state) : 1.0);
            *changes_at = i < *changes_at ? i : *changes_at;
        }
        values[i] = LEVEL + level + series_normal(state);
    }
    return LEVEL;
}

double series_stalls(double share, double length, uint64_t *state, double *values, size_t count,
                     size_t *changes_at)
{
    double gap = length * (1.0 - share) / share;
    bool stalled = series_uniform(state) < share;
    double left = (stalled ? length : gap) * series_exponential(state);
    *changes_at = count;
    for (size_t i = 0; i < count; i++, left -= 1.0) {
        for (; left <= 0.0; stalled = !stalled) {
            left += (stalled ? gap : length) * series_exponential(state);
            *changes_at = i < *changes_at ? i : *changes_at;
        }
        values[i] = stalled ? 0.0 : LEVEL + series_normal(state);
    }
    return LEVEL * (1.0 - share);
}

double series_pareto(double exponent, uint64_t *state, double *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        values[i] = pow(series_uniform(state), -1.0 / exponent);
    return exponent / (exponent - 1.0);
}

double series_outliers(double slice_s, uint64_t *state, double *values, size_t count)
{
    double begin = -0.51 * series_uniform(state), end = slice_s * (double)count;
    for (size_t i = 0; i < count; i++)
        values[i] = 0.0;
    while (begin < end) {
        double length = series_uniform(state) < 0.02 ? 0.51 : 0.01, next = begin + length;
        size_t first = (size_t)(fmax(begin, 0.0) / slice_s);
        for (size_t i = first; i < count && (double)i * slice_s < next; i++) {
            double from = fmax(begin, (double)i * slice_s);
            values[i] += fmax(fmin(next, (double)(i + 1) * slice_s) - from, 0.0) / length;
        }
        begin = next;
    }
    return 50.0 * slice_s;
}
