/*
 * Random numbers of simulated machines; *random is the state.
 */
#pragma once

#include <math.h>
#include <stdbool.h>

#include "common/random.h"

static inline double chance_uniform(uint64_t *random)
{
    return ((double)(random_next(random) >> 11) + 0.5) / 9007199254740992.0;
}

static inline bool chance_happens(uint64_t *random, double share)
{
    return chance_uniform(random) < share;
}

/* Evenly on the logarithmic scale. */
static inline double chance_between(uint64_t *random, double low, double high)
{
    return low * pow(high / low, chance_uniform(random));
}

static inline double chance_normal(uint64_t *random)
{
    double u = chance_uniform(random), v = chance_uniform(random);
    return sqrt(-2.0 * log(u)) * cos(2.0 * M_PI * v);
}
