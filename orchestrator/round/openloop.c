#include "orchestrator/round/openloop.h"

#include <math.h>

/* A queue that is not longer than this may come and go; but half of all that was offered does not,
 * however many threads there are. Streams have the queue of their thread together. */
#define QUEUE_PER_THREAD 2
#define QUEUE_SHARE 0.05
#define QUEUE_MOST_SHARE 0.5

/* Chance makes a mean of that many standard errors more. */
#define CHANCE 2.0

static double ips_of(uint64_t units)
{
    return (double)units / RATE_UNITS;
}

uint64_t openloop_window_ns(const struct point *point, const struct round_limits *limits)
{
    uint64_t window_ns = limits->duration_ns;
    if (point->work.rate_units) {
        double wanted_ns = limits->samples / ips_of(point->work.rate_units) * 1e9;
        if (wanted_ns > (double)window_ns)
            window_ns = (uint64_t)fmin(wanted_ns, (double)limits->max_duration_ns);
    }
    return window_ns;
}

void openloop_collect(struct openloop_counts *counts, const struct shm_slot *slot)
{
    counts->late += slot->late;
    counts->backlog += slot->backlog;
    for (unsigned i = 0; i < SHM_PARTS; i++) {
        counts->parts[i].iterations += slot->parts[i].iterations;
        counts->parts[i].latency_ns += slot->parts[i].latency_ns;
    }
    histogram_merge(&counts->service, &slot->service);
}

/* Whether the latency grows from each part of the window to the next, by more than that and more
 * than by chance, for which latencies count as independent ones whose deviation is their mean. A
 * server whose first requests are still on their way has ever more of them, too, but their latency
 * is that of later ones. */
static bool latency_grows(const struct openloop_counts *counts, double least_ns)
{
    double before_ns = 0.0, before_error = 0.0;
    for (unsigned i = 0; i < SHM_PARTS; i++) {
        const struct shm_part *part = &counts->parts[i];
        if (part->iterations == 0)
            return false;
        double mean_ns = (double)part->latency_ns / (double)part->iterations;
        double error = mean_ns * mean_ns / (double)part->iterations;
        double chance_ns = CHANCE * sqrt(error + before_error);
        if (i > 0 && mean_ns - before_ns <= fmax(least_ns, chance_ns))
            return false;
        before_ns = mean_ns;
        before_error = error;
    }
    return true;
}

void openloop_judge(struct openloop_counts *counts, const struct point *point, double window_s)
{
    double offered = ips_of(point->work.rate_units) * window_s;
    unsigned threads = point_workers(point) / point_streams(point);
    double usual = QUEUE_PER_THREAD * threads + QUEUE_SHARE * offered;
    usual = fmin(usual, QUEUE_MOST_SHARE * offered);
    /* What is begun and not ended is a queue as well. Latencies that grow by a share of the time
     * let it grow by that share of what is offered (Little's law). */
    double part_ns = window_s * 1e9 / SHM_PARTS;
    counts->saturated =
        point->work.rate_units &&
        ((double)counts->backlog > usual || latency_grows(counts, usual / offered * part_ns));
}

double openloop_latency_ns(const struct rate_goal *goal, const struct round_result *result)
{
    struct histogram all;
    round_latency_of_all(result, &all);
    double latency_ns = histogram_quantile_ns(&all, goal->permille / 1e3);
    return histogram_is_never(&all, latency_ns) ? INFINITY : latency_ns;
}

bool openloop_holds(const struct rate_goal *goal, const struct round_result *result)
{
    return !result->open.saturated && openloop_latency_ns(goal, result) <= (double)goal->latency_ns;
}
