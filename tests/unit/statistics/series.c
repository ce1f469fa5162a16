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
