#include "orchestrator/campaign/estimate.h"

#include <math.h>

#include "orchestrator/campaign/saturation.h"
#include "orchestrator/round/openloop.h"

/* With this many processes, each takes twice as long to start as one alone. */
#define DOUBLING_PROCESSES 14.0

/* Queues that a context gets for free; each further queue costs as much as a process. */
#define FREE_QUEUES 8.0

/* With the warm-up. */
static double window_s(const struct point *point, const struct round_limits *limits)
{
    double window = (double)point->work.warmup_ns / 1e9;
    if (!point->work.iterations)
        window += (double)openloop_window_ns(point, limits) / 1e9;
    return window;
}

static double ready_s(const struct point *point)
{
    double ready = ESTIMATE_POINT_S;
    if (!point_is_program(point))
        ready += ESTIMATE_IN_FLIGHT_S * point_workers(point);
    return ready;
}

double estimate_point_s(const struct point *point, const struct round_limits *limits)
{
    return (window_s(point, limits) + ready_s(point)) * saturation_rounds(point);
}

double estimate_point_most_s(const struct point *point, const struct round_limits *limits)
{
    struct round_limits longest = *limits;
    if (longest.max_duration_ns > longest.duration_ns && !point_is_open(point))
        longest.duration_ns = longest.max_duration_ns;
    return (window_s(point, &longest) + ESTIMATE_SLOW * ready_s(point)) * saturation_rounds(point);
}

double estimate_start_weight(const struct point *point)
{
    double processes = point->processes, queues = point_connections(point);
    return processes * (1.0 + processes / DOUBLING_PROCESSES + fmax(0.0, queues - FREE_QUEUES));
}

double estimate_start_s(const struct point *point)
{
    return ESTIMATE_START_S +
           ESTIMATE_START_PROCESS_S * point_gpus(point) * estimate_start_weight(point);
}
