/*
 * Marks for tests of what is found in them: one period, from nothing at each test's begin.
 */
#pragma once

#include <stdint.h>

#include "observer/period.h"

static struct period period;
static uint64_t now_ns;

static int set_up(void **state)
{
    (void)state;
    period = (struct period){0};
    now_ns = 0;
    return 0;
}

/* A wait for launches, the first of a kernel, after which bytes came back. */
static inline enum period_state wait_for_kernel(uint64_t kernel, uint32_t launches,
                                                uint64_t bytes_in, uint64_t bytes_out, uint64_t ns)
{
    now_ns += ns;
    const struct mark mark = {.at_ns = now_ns,
                              .kernel = kernel,
                              .launches = launches,
                              .copies_in = bytes_in > 0,
                              .bytes_in = bytes_in,
                              .copies_out = bytes_out > 0,
                              .bytes_out = bytes_out};
    return period_add(&period, &mark, false);
}

/* The same of kernels that are not known. */
static inline enum period_state wait_for(uint32_t launches, uint64_t bytes_in, uint64_t bytes_out,
                                         uint64_t ns)
{
    return wait_for_kernel(0, launches, bytes_in, bytes_out, ns);
}

static inline uint32_t draw(uint32_t *random, uint32_t below)
{
    *random = *random * 1664525 + 1013904223;
    return (*random >> 8) % below;
}
