#include "orchestrator/campaign/estimate.h"

#include "orchestrator/campaign/saturation.h"
#include "orchestrator/round/openloop.h"

/* What a point costs beside its window: getting ready, and, unless it has the workers of another
 * one, starting and ending them, making one context after the other (measured on an H200: 16 MPS
 * processes 1.5 s, 48 processes 7 s). */
#define POINT_S 0.1
#define START_S 0.4
#define START_PROCESS_S 0.1

double estimate_point_s(const struct point *point, const struct round_limits *limits)
{
    double window = (double)point->work.warmup_ns / 1e9;
    if (!point->work.iterations)
        window += (double)openloop_window_ns(point, limits) / 1e9;
    return (window + POINT_S) * saturation_rounds(point);
}

double estimate_start_s(const struct point *point)
{
    return START_S + START_PROCESS_S * point_processes(point);
}
