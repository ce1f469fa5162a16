#include "orchestrator/round/percentiles.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "statistics/interval.h"
#include "statistics/statistics.h"

/* From half as many on there are blocks enough for an interval; as many are kept at most. */
#define MOST_BLOCKS 40
#define SHORTEST_STEP_NS NS_PER_MS

const double percentile_shares[PERCENTILES] = {0.5, 0.9, 0.99, 0.999};

void latency_blocks_begin(struct latency_blocks *blocks, uint64_t begin_ns, uint64_t length_ns)
{
    uint64_t step_ns = length_ns / (MOST_BLOCKS / 2);
    *blocks = (struct latency_blocks){
        .sums = calloc(MOST_BLOCKS, sizeof *blocks->sums),
        .step_ns = step_ns > SHORTEST_STEP_NS ? step_ns : SHORTEST_STEP_NS,
    };
    blocks->next_ns = blocks->sums != NULL ? begin_ns + blocks->step_ns : UINT64_MAX;
}

/* Blocks twice as long: every second sum goes. */
static void thin_out(struct latency_blocks *blocks)
{
    for (size_t i = 0; i < MOST_BLOCKS / 2; i++)
        blocks->sums[i] = blocks->sums[2 * i + 1];
    blocks->count = MOST_BLOCKS / 2;
    blocks->step_ns *= 2;
}

void latency_blocks_note(struct latency_blocks *blocks, const struct shm *shm, uint64_t now_ns)
{
    if (blocks->sums == NULL)
        return;
    if (blocks->count == MOST_BLOCKS)
        thin_out(blocks);
    struct histogram *sum = &blocks->sums[blocks->count++];
    memset(sum, 0, sizeof *sum);
    for (unsigned p = 0; p < shm->header->processes; p++)
        for (unsigned i = 0; i < shm_slots(shm->header); i++)
            histogram_add_counts(sum, &shm_slot_at(shm, p, i)->latency);
    while (blocks->next_ns <= now_ns)
        blocks->next_ns += blocks->step_ns;
}

void latency_blocks_release(struct latency_blocks *blocks)
{
    free(blocks->sums);
    *blocks = (struct latency_blocks){.next_ns = UINT64_MAX};
}

/* Of how many independent iterations a percentile is as sure. */
static double independent(const struct histogram *latency, const struct latency_blocks *blocks,
                          double share)
{
    double counts[MOST_BLOCKS], above[MOST_BLOCKS], excess[MOST_BLOCKS];
    double all = 0.0, all_above = 0.0, count = (double)latency->count;
    struct interval interval;
    unsigned bucket = histogram_bucket((uint64_t)histogram_quantile_ns(latency, share));
    for (size_t i = 0; i < blocks->count; i++) {
        const struct histogram *before = i > 0 ? &blocks->sums[i - 1] : NULL;
        const struct histogram *now = &blocks->sums[i];
        counts[i] = (double)(now->count - (before ? before->count : 0));
        above[i] = (double)(histogram_count_above(now, bucket) -
                            (before ? histogram_count_above(before, bucket) : 0));
        all += counts[i];
        all_above += above[i];
    }
    if (all <= 0.0)
        return 0.0;
    double of_all = all_above / all, blocks_count = (double)blocks->count;
    /* What lies above in a block, beyond what its number of iterations explains; around 1, since
     * intervals are a share of the mean. */
    for (size_t i = 0; i < blocks->count; i++)
        excess[i] = 1.0 + above[i] - of_all * counts[i];
    interval_of_series(excess, blocks->count, 1, &interval);
    double error = interval.half_rel * blocks_count / all / STATISTICS_NORMAL_975;
    if (!isfinite(error))
        return 0.0;
    double found = of_all * (1.0 - of_all) / (error * error);
    return found < count ? found : count; /* both are 0 where all are equal: NaN is not smaller */
}

void percentiles_of(const struct histogram *latency, const struct latency_blocks *blocks,
                    struct percentiles *out)
{
    for (size_t i = 0; i < PERCENTILES; i++) {
        out->us[i] = histogram_quantile_ns(latency, percentile_shares[i]) / 1e3;
        out->independent[i] =
            blocks->count > 0 ? independent(latency, blocks, percentile_shares[i]) : 0.0;
    }
}

bool percentiles_bounds(const struct histogram *latency, const struct percentiles *rounds,
                        size_t count, size_t which, double *low_us, double *high_us)
{
    double low, high, sum = 0.0, squares = 0.0, errors = 0.0, n = (double)count;
    /* The squares of the rounds' errors add up; one that is not known makes all unknown. */
    for (size_t i = 0; i < count; i++)
        errors += 1.0 / rounds[i].independent[which];
    if (count == 0 ||
        !histogram_quantile_bounds(latency, percentile_shares[which], n * n / errors, &low, &high))
        return false;
    *low_us = low / 1e3;
    *high_us = high / 1e3;
    if (count < 2)
        return true;
    for (size_t i = 0; i < count; i++) {
        double difference = log(rounds[i].us[which] / rounds[0].us[which]);
        sum += difference;
        squares += difference * difference;
    }
    double error = sqrt(fmax(squares - sum * sum / n, 0.0) / (n - 1.0) / n);
    double factor = exp(statistics_t975(count - 1) * error);
    double value = histogram_quantile_ns(latency, percentile_shares[which]) / 1e3;
    if (!isfinite(factor))
        return false;
    *low_us = fmin(*low_us, value / factor);
    *high_us = fmax(*high_us, value * factor);
    return true;
}
