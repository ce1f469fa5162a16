#include "statistics/histogram.h"

#include <math.h>

#include "statistics/statistics.h"

void histogram_merge(struct histogram *into, const struct histogram *from)
{
    histogram_cover(into, from->max_ns);
    if (from->count == 0)
        return;
    if (into->count == 0 || from->min_ns < into->min_ns)
        into->min_ns = from->min_ns;
    into->count += from->count;
    into->sum_ns += from->sum_ns;
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
        into->buckets[i] += from->buckets[i];
}

void histogram_add_counts(struct histogram *into, const struct histogram *from)
{
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
        uint64_t count = __atomic_load_n(&from->buckets[i], __ATOMIC_RELAXED);
        into->buckets[i] += count;
        into->count += count;
    }
}

void histogram_add_never(struct histogram *histogram, uint64_t count)
{
    if (count == 0)
        return;
    if (histogram->count == 0)
        histogram->min_ns = UINT64_MAX;
    histogram->max_ns = UINT64_MAX;
    histogram->count += count;
    histogram->buckets[HISTOGRAM_BUCKETS - 1] += count;
}

uint64_t histogram_count_above(const struct histogram *histogram, unsigned bucket)
{
    uint64_t count = 0;
    for (unsigned i = bucket + 1; i < HISTOGRAM_BUCKETS; i++)
        count += histogram->buckets[i];
    return count;
}

static double bucket_low_ns(unsigned bucket, double *width)
{
    *width = 1.0;
    if (bucket < (1u << HISTOGRAM_SUB_BITS))
        return bucket;
    unsigned shift = (bucket >> HISTOGRAM_SUB_BITS) - 1;
    *width = (double)(UINT64_C(1) << shift);
    return (double)((uint64_t)(bucket - (shift << HISTOGRAM_SUB_BITS)) << shift);
}

bool histogram_is_never(const struct histogram *histogram, double value_ns)
{
    double width;
    return histogram->max_ns == UINT64_MAX &&
           value_ns >= bucket_low_ns(HISTOGRAM_BUCKETS - 1, &width);
}

static double bucket_middle_ns(unsigned bucket)
{
    double width, low = bucket_low_ns(bucket, &width);
    return low + (width - 1.0) / 2.0;
}

/* The bucket with the value of a rank, from 1 to count. */
static unsigned rank_bucket(const struct histogram *histogram, uint64_t rank)
{
    uint64_t seen = 0;
    unsigned bucket = 0;
    for (; bucket < HISTOGRAM_BUCKETS - 1; bucket++) {
        seen += histogram->buckets[bucket];
        if (seen >= rank)
            break;
    }
    return bucket;
}

double histogram_quantile_ns(const struct histogram *histogram, double share)
{
    if (histogram->count == 0)
        return 0.0;
    double wanted = ceil(share * (double)histogram->count);
    uint64_t rank = wanted < 1.0 ? 1 : (uint64_t)wanted;
    if (rank >= histogram->count)
        return (double)histogram->max_ns;
    double value = bucket_middle_ns(rank_bucket(histogram, rank));
    if (value < (double)histogram->min_ns)
        return (double)histogram->min_ns;
    if (value > (double)histogram->max_ns)
        return (double)histogram->max_ns;
    return value;
}

bool histogram_quantile_bounds(const struct histogram *histogram, double share, double independent,
                               double *low_ns, double *high_ns)
{
    uint64_t lower, upper;
    double width, count = (double)histogram->count;
    uint64_t samples = (uint64_t)fmin(independent, count);
    if (samples == 0 || !statistics_rank_bounds(samples, share, &lower, &upper))
        return false;
    /* The same share of all ranks. */
    double all = count / (double)samples;
    lower = (uint64_t)fmax(floor((double)lower * all), 1.0);
    upper = (uint64_t)fmin(ceil((double)upper * all), count);
    unsigned bucket = rank_bucket(histogram, upper);
    double high = bucket_low_ns(bucket, &width) + width - 1.0;
    double low = bucket_low_ns(rank_bucket(histogram, lower), &width);
    /* The last bucket has no upper edge. */
    if (bucket == HISTOGRAM_BUCKETS - 1)
        high = (double)histogram->max_ns;
    *low_ns = fmax(low, (double)histogram->min_ns);
    *high_ns = fmin(high, (double)histogram->max_ns);
    return true;
}

void histogram_above(const struct histogram *histogram, double value_ns, double *share,
                     double *time_share)
{
    uint64_t count = 0;
    double sum = 0.0;
    unsigned first = histogram_bucket(value_ns > 0.0 ? (uint64_t)value_ns : 0) + 1;
    for (unsigned bucket = first; bucket < HISTOGRAM_BUCKETS; bucket++) {
        count += histogram->buckets[bucket];
        sum += bucket_middle_ns(bucket) * (double)histogram->buckets[bucket];
    }
    *share = histogram->count ? (double)count / (double)histogram->count : 0.0;
    *time_share = histogram->sum_ns ? fmin(sum / (double)histogram->sum_ns, 1.0) : 0.0;
}

double histogram_mean_ns(const struct histogram *histogram)
{
    return histogram->count ? (double)histogram->sum_ns / (double)histogram->count : 0.0;
}
