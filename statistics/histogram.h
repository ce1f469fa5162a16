/*
 * Log-linear histogram of durations in nanoseconds: fixed size, no allocation, mergeable.
 *
 * Values below 64 have a bucket each; above, each octave is cut into 64 equal buckets, so a value
 * reported (its bucket's middle) is within 1/128 = 0.8% of any value recorded there. Values from
 * 2^40 ns (18 minutes) up count in the last bucket; the exact maximum and sum are kept beside.
 *
 * One writer; readers wait until the writer has published that it is done.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define HISTOGRAM_SUB_BITS 6
#define HISTOGRAM_MAX_BITS 40
#define HISTOGRAM_BUCKETS ((HISTOGRAM_MAX_BITS - HISTOGRAM_SUB_BITS + 1) << HISTOGRAM_SUB_BITS)

/* All zero bytes are an empty histogram. */
struct histogram {
    uint64_t count;
    uint64_t sum_ns;
    uint64_t min_ns; /* meaningless while count is 0 */
    uint64_t max_ns;
    uint64_t buckets[HISTOGRAM_BUCKETS]; /* 32 bits overflow: 2^32 samples of 65 ns take 5 min */
};

static inline unsigned histogram_bucket(uint64_t value_ns)
{
    if (value_ns < (1u << HISTOGRAM_SUB_BITS))
        return (unsigned)value_ns;
    unsigned exponent = 63u - (unsigned)__builtin_clzll(value_ns);
    if (exponent >= HISTOGRAM_MAX_BITS)
        return HISTOGRAM_BUCKETS - 1;
    unsigned shift = exponent - HISTOGRAM_SUB_BITS;
    /* The leading bit of the shifted value is 64, which is what makes octaves adjoin. */
    return (shift << HISTOGRAM_SUB_BITS) + (unsigned)(value_ns >> shift);
}

/* In the timed path: no branch that depends on earlier values but min and max. */
static inline void histogram_record(struct histogram *histogram, uint64_t value_ns)
{
    if (histogram->count == 0 || value_ns < histogram->min_ns)
        histogram->min_ns = value_ns;
    if (value_ns > histogram->max_ns)
        histogram->max_ns = value_ns;
    histogram->count++;
    histogram->sum_ns += value_ns;
    histogram->buckets[histogram_bucket(value_ns)]++;
}

/* Raises the maximum to a value without counting it as a sample. */
static inline void histogram_cover(struct histogram *histogram, uint64_t value_ns)
{
    if (value_ns > histogram->max_ns)
        histogram->max_ns = value_ns;
}

/* Adds everything in from to into. */
void histogram_merge(struct histogram *into, const struct histogram *from);

/* Adds the counts of a histogram whose writer may be at work: each bucket is as it was at some
 * moment. Sum, minimum and maximum are left alone. */
void histogram_add_counts(struct histogram *into, const struct histogram *from);

/* Adds samples that are later than any other: a wait that was in vain. Quantiles and bounds that
 * reach one of them are histogram_is_never(). Maximum and mean are meaningless then. */
void histogram_add_never(struct histogram *histogram, uint64_t count);
bool histogram_is_never(const struct histogram *histogram, double value_ns);

/* The samples in the buckets above one. */
uint64_t histogram_count_above(const struct histogram *histogram, unsigned bucket);

/* The value below or at which the given share (0..1) of the samples lie, in nanoseconds; the exact
 * minimum and maximum bound it. 0 for an empty histogram. */
double histogram_quantile_ns(const struct histogram *histogram, double share);

/* The fewest samples of which the 95% interval of the 99th or 99.9th percentile has an upper end.
 */
#define HISTOGRAM_LEAST_P99 368
#define HISTOGRAM_LEAST_P999 3688

/* Between which values, in nanoseconds, that quantile of what was sampled lies with 95% confidence,
 * if the samples are as sure as `independent` ones (all of them at most) that are, of any
 * distribution (statistics_rank_bounds()), widened to the edges of their buckets. False where those
 * are too few for it: 0.999 takes 3688 of them. */
bool histogram_quantile_bounds(const struct histogram *histogram, double share, double independent,
                               double *low_ns, double *high_ns);

/* The share of the samples in the buckets above that of a value, and of the time that they took. */
void histogram_above(const struct histogram *histogram, double value_ns, double *share,
                     double *time_share);

/* Mean in nanoseconds, exact; 0 for an empty histogram. */
double histogram_mean_ns(const struct histogram *histogram);
