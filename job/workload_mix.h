/*
 * Which of several workloads each worker runs: "detect:3+embed:1" has three workers of the one for
 * each of the other.
 */
#pragma once

#include "job/workload_text.h"

#define MIX_MOST 8 /* workloads */

/* Plain data, without padding. */
struct mix {
    uint32_t count;
    uint32_t weights[MIX_MOST];   /* in lowest terms */
    uint32_t workloads[MIX_MOST]; /* indices, in the order in which they were named */
};

/* One workload of a mix: which of the steps it has, and its part of the workers. */
struct mix_workload {
    char name[WORKLOAD_NAME_BYTES];
    uint32_t first, count; /* steps */
    uint32_t weight;
    uint32_t check; /* enum workload_check */
};

/* What the workers of a mix do: its workloads, and the steps of them all. */
struct mix_work {
    uint32_t count, padding; /* of workloads */
    struct mix_workload workloads[MIX_MOST];
    struct workload_step steps[WORKLOAD_STEPS];
};

/*
 * NAME, or NAME:WEIGHT+NAME:WEIGHT..., where a weight that is not given is 1. STATUS_USAGE with
 * what would be right; STATUS_NOT_FOUND, without a text, where a name is not one of these
 * workloads: *bad is that part of the text then, and *bad_length how long.
 */
enum status mix_parse(const char *text, const struct workload *workloads, size_t count,
                      struct mix *out, const char **bad, size_t *bad_length);

/*
 * Deals workers to workloads, one after the other: smooth weighted round robin. Each turn adds to
 * each workload its weight, and the one that has most by then, the first named of equals, gets the
 * worker and gives back the sum of all weights. So every run of workers is as near to the weights
 * as it can be: 3:1 deals a a b a, a a b a, ...
 */
struct mix_deal {
    int64_t has[MIX_MOST];
};
unsigned mix_next(struct mix_deal *deal, const uint32_t *weights, unsigned count);

/* How many workers it takes until each workload has one. */
unsigned mix_workers_needed(const uint32_t *weights, unsigned count);
