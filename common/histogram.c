#include "common/histogram.h"

#include <math.h>
#include <string.h>

void histogram_clear(struct histogram *histogram)
{
    memset(histogram, 0, sizeof *histogram);
}

void histogram_merge(struct histogram *into, const struct histogram *from)
{
    if (from->count == 0)
        return;
    if (into->count == 0 || from->min_ns < into->min_ns)
        into->min_ns = from->min_ns;
    if (from->max_ns > into->max_ns)
        into->max_ns = from->max_ns;
    into->count += from->count;
    into->sum_ns += from->sum_ns;
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
        into->buckets[i] += from->buckets[i];
}

static double bucket_middle_ns(unsigned bucket)
{
    if (bucket < (1u << HISTOGRAM_SUB_BITS))
        return bucket;
    unsigned shift = (bucket >> HISTOGRAM_SUB_BITS) - 1;
    uint64_t low = (uint64_t)(bucket - (shift << HISTOGRAM_SUB_BITS)) << shift;
    uint64_t width = UINT64_C(1) << shift;
    return (double)low + (double)(width - 1) / 2.0;
}

double histogram_quantile_ns(const struct histogram *histogram, double share)
{
    if (histogram->count == 0)
        return 0.0;
    double wanted = ceil(share * (double)histogram->count);
    uint64_t rank = wanted < 1.0 ? 1 : (uint64_t)wanted;
    if (rank >= histogram->count)
        return (double)histogram->max_ns;
    uint64_t seen = 0;
    unsigned bucket = 0;
    for (; bucket < HISTOGRAM_BUCKETS; bucket++) {
        seen += histogram->buckets[bucket];
        if (seen >= rank)
            break;
    }
    double value = bucket_middle_ns(bucket);
    if (value < (double)histogram->min_ns)
        return (double)histogram->min_ns;
    if (value > (double)histogram->max_ns)
        return (double)histogram->max_ns;
    return value;
}

double histogram_mean_ns(const struct histogram *histogram)
{
    return histogram->count ? (double)histogram->sum_ns / (double)histogram->count : 0.0;
}
