/*
 * splitmix64 (Steele, Lea, Flood 2014): a small generator whose sequence is the same on every
 * machine, so that --seed repeats.
 */
#pragma once

#include <stdint.h>

/* Any state is a good one to begin with; the next 64 random bits. */
static inline uint64_t random_next(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}
