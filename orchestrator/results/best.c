#include "orchestrator/results/best.h"

#include <math.h>
#include <string.h>

#include "common/json.h"
#include "orchestrator/results/point.h"

bool best_is_ok(const json_t *point)
{
    return point_is_measured(point) && strcmp(text_at(point, "status"), "ok") == 0;
}

bool best_is_unconverged(const json_t *point)
{
    return point_is_measured(point) && strcmp(text_at(point, "status"), "unconverged") == 0;
}

static double offered_of(const json_t *point)
{
    return number_at(json_object_get(point, "rate"), "offered_ips");
}

double best_value(const json_t *point)
{
    double offered = offered_of(point);
    return isnan(offered) || point_is_overloaded(point)
               ? number_at(point, "throughput_ips")
               : offered * (1.0 - point_failed_share(point));
}

static double p99_of(const json_t *point)
{
    return number_at(json_object_get(point, "latency_us"), "p99");
}

bool best_is_better(const json_t *a, const json_t *b)
{
    if (best_value(a) != best_value(b))
        return best_value(a) > best_value(b);
    return p99_of(a) < p99_of(b);
}

static double half_of(const json_t *point)
{
    double half = number_at(point, "ci95_rel");
    return isnan(half) || !isnan(offered_of(point)) ? 0.0 : half;
}

double best_low(const json_t *point)
{
    return best_value(point) * (1.0 - half_of(point));
}

double best_high(const json_t *point)
{
    return best_value(point) * (1.0 + half_of(point));
}

/* Whether its interval shows all that was seen, which it does not, however narrow, where a worker
 * stood still, or the throughput changed within the window and did not settle. A settled transient
 * was left out of the window. */
static bool is_steady(const json_t *point)
{
    bool settled = number_at(json_object_get(point, "interval"), "steady_from_s") > 0.0;
    const json_t *warning;
    size_t index;
    json_array_foreach(json_object_get(point, "warnings"), index, warning)
    {
        if (strcmp(text_at(warning, "kind"), "unsteady") == 0 && !settled)
            return false;
    }
    return !json_object_get(point, "stalled");
}

/* An unconverged open loop may not hold its rate. */
static bool surely_does_more(const json_t *point, const json_t *other)
{
    return point_is_closed(point) && is_steady(point) && isfinite(number_at(point, "ci95_rel")) &&
           best_low(point) > best_high(other);
}

json_t *best_of(const json_t *points)
{
    json_t *point, *best = NULL, *above = NULL;
    size_t index;
    json_array_foreach(points, index, point)
    {
        bool first = !best || (best_is_ok(point) && !best_is_ok(best));
        if (first || (best_is_ok(point) == best_is_ok(best) && best_is_better(point, best)))
            best = point;
    }
    if (!best_is_ok(best))
        return best;
    json_array_foreach(points, index, point)
    {
        if (best_is_unconverged(point) && surely_does_more(point, best) &&
            (!above || best_is_better(point, above)))
            above = point;
    }
    return above ? above : best;
}
