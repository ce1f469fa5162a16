/*
 * Percentiles of the latency, and how far they can be trusted.
 *
 * Iterations that follow each other are alike: a queue that is long makes all wait. So the number
 * above a percentile is counted in blocks of the window. How that number varies from block to block
 * shows of how many independent iterations the percentile is as sure (Korn and Graubard's effective
 * sample size), and the binomial distribution of that number gives the bounds.
 *
 * The orchestrator makes the blocks while it waits: it reads the workers' histograms and keeps
 * their sum, which costs the timed path nothing. Order of calls: latency_blocks_begin, then
 * latency_blocks_note whenever the clock passes next_ns, percentiles_of, latency_blocks_release.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "shm/shm.h"

/* p50, p90, p99 and p99.9. */
#define PERCENTILES 4
#define PERCENTILE_P99 2
extern const double percentile_shares[PERCENTILES];

/* Of one round. */
struct percentiles {
    double us[PERCENTILES];
    double independent[PERCENTILES]; /* iterations; 0: not known */
};

/* Sums of the workers' histograms at moments that are evenly spaced. */
struct latency_blocks {
    struct histogram *sums; /* NULL: without memory there are no blocks */
    size_t count;
    uint64_t step_ns, next_ns; /* as clock_now_ns() */
};

/* The window begins at begin_ns, and is of this length at least. */
void latency_blocks_begin(struct latency_blocks *blocks, uint64_t begin_ns, uint64_t length_ns);

/* Reads the histograms of the workers, who may be at work, and puts next_ns off. now_ns: not before
 * it. */
void latency_blocks_note(struct latency_blocks *blocks, const struct shm *shm, uint64_t now_ns);

void latency_blocks_release(struct latency_blocks *blocks);

/* latency: of all iterations of the round. */
void percentiles_of(const struct histogram *latency, const struct latency_blocks *blocks,
                    struct percentiles *out);

/* Between which values the percentile number `which` lies with 95% confidence, in microseconds,
 * from all iterations of all rounds and from each round: what differs between rounds counts, too.
 * False where the iterations are too few for it, or too much alike. */
bool percentiles_bounds(const struct histogram *latency, const struct percentiles *rounds,
                        size_t count, size_t which, double *low_us, double *high_us);
