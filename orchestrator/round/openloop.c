#include "orchestrator/round/openloop.h"

#include <math.h>

/* A queue that is not longer than this may come and go; but half of all that was offered does not,
 * however many threads there are. Streams have the queue of their thread together. */
#define QUEUE_PER_THREAD 2
#define QUEUE_SHARE 0.05
#define QUEUE_MOST_SHARE 0.5

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
    histogram_merge(&counts->service, &slot->service);
}

void openloop_judge(struct openloop_counts *counts, const struct point *point, double window_s)
{
    double offered = ips_of(point->work.rate_units) * window_s;
    unsigned threads = point_workers(point) / point_streams(point);
    double usual = QUEUE_PER_THREAD * threads + QUEUE_SHARE * offered;
    counts->saturated =
        point->work.rate_units && (double)counts->backlog > fmin(usual, QUEUE_MOST_SHARE * offered);
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
