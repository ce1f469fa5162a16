/*
 * How much a kernel must be given to take so long: found by trying.
 */
#pragma once

#include <stdint.h>

#include "common/status.h"
#include "wire/lengths.h"

/* The search stops within LENGTH_AIM of the target; within LENGTH_TOLERANCE a result is accepted.
 */
#define LENGTH_AIM 0.005
#define LENGTH_TOLERANCE 0.02
/* Where no amount comes that near, the nearest is accepted up to this: a kernel of few GPU threads
 * takes longer in steps, each a vector of all of them. And the shortest kernels of two GPUs of one
 * kind differ, but a workload that was recorded on one must run on the other. */
#define LENGTH_COARSE_TOLERANCE 0.05

/* What an amount takes, nanoseconds. A larger one takes longer on the whole; the search tolerates
 * some noise. */
typedef enum status (*length_measure)(void *data, uint64_t amount, double *ns);

struct length_search {
    double asked_ns;
    uint64_t unit;               /* amounts are multiples of it */
    uint64_t least, first, most; /* the smallest, one that takes a moment, and the greatest */
    length_measure measure;
    void *data;
};

/* STATUS_UNSUPPORTED: even the smallest takes clearly longer, or no amount comes near enough. The
 * text has no subject: the caller knows what it is that was asked. Errors of measure are handed on.
 */
enum status length_find(const struct length_search *search, struct length *out);
