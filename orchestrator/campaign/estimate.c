#include "orchestrator/campaign/estimate.h"

#include "orchestrator/campaign/saturation.h"
#include "orchestrator/round/openloop.h"

double estimate_point_s(const struct point *point, const struct round_limits *limits)
{
    double window = (double)point->work.warmup_ns / 1e9;
    if (!point->work.iterations)
        window += (double)openloop_window_ns(point, limits) / 1e9;
    double ready = ESTIMATE_POINT_S;
    if (!point_is_program(point))
        ready += ESTIMATE_IN_FLIGHT_S * point_workers(point);
    return (window + ready) * saturation_rounds(point);
}

double estimate_start_s(const struct point *point)
{
    return ESTIMATE_START_S + ESTIMATE_START_PROCESS_S * point_processes(point);
}
