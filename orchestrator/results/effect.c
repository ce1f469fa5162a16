#include "orchestrator/results/effect.h"

#include <math.h>

#include "statistics/statistics.h"
#include "statistics/student.h"

#define TAIL 0.025 /* on each side of a 95% interval */

const char *effect_verdict_name(enum effect_verdict verdict)
{
    static const char *const names[] = {"worse", "better", "same", "unsure"};
    return names[verdict];
}

struct estimate estimate_from_half_width(double value, double relative, double degrees)
{
    double width = isfinite(relative) && relative >= 0 ? relative : INFINITY;
    return (struct estimate){value, width, width, degrees};
}

struct estimate estimate_from_rounds(const double *values, size_t count)
{
    return estimate_from_half_width(statistics_mean(values, count),
                                    statistics_ci95_rel(values, count),
                                    count > 1 ? (double)(count - 1) : 1);
}

struct estimate estimate_from_bounds(double value, double low, double high, double resolution)
{
    if (!(low > 0) || !(low <= value) || !(value <= high) || !isfinite(high))
        return estimate_from_half_width(value, INFINITY, INFINITY);
    return (struct estimate){value, log(value / low) + resolution, log(high / value) + resolution,
                             INFINITY};
}

/* One end: the interval of each on that side. */
static void combine(double first, double first_degrees, double second, double second_degrees,
                    double *distance, double *degrees)
{
    double first_error = first / student_exceeded(TAIL, first_degrees);
    double second_error = second / student_exceeded(TAIL, second_degrees);
    double a = first_error * first_error;
    double b = second_error * second_error;
    double spread = a * a / first_degrees + b * b / second_degrees;
    double most = 2 * fmin(first_degrees, second_degrees);
    *degrees = spread > 0 && isfinite(spread) ? fmin((a + b) * (a + b) / spread, most) : most;
    *distance = student_exceeded(TAIL, *degrees) * sqrt(a + b);
}

struct effect effect_of(const struct estimate *base, const struct estimate *change)
{
    struct effect effect = {.log_ratio = log(change->value) - log(base->value)};
    combine(change->below, change->degrees, base->above, base->degrees, &effect.below,
            &effect.degrees_below);
    combine(change->above, change->degrees, base->below, base->degrees, &effect.above,
            &effect.degrees_above);
    return effect;
}

double effect_ratio(const struct effect *effect)
{
    return exp(effect->log_ratio);
}

double effect_low(const struct effect *effect)
{
    return exp(effect->log_ratio - effect->below);
}

double effect_high(const struct effect *effect)
{
    return exp(effect->log_ratio + effect->above);
}

enum effect_verdict effect_verdict(const struct effect *effect, double threshold)
{
    double margin = log1p(threshold);
    double low = effect->log_ratio - effect->below;
    double high = effect->log_ratio + effect->above;
    if (!isfinite(low) || !isfinite(high))
        return EFFECT_UNSURE;
    if (high < -margin)
        return EFFECT_WORSE;
    if (low > margin)
        return EFFECT_BETTER;
    return low >= -margin && high <= margin ? EFFECT_SAME : EFFECT_UNSURE;
}

double effect_chance(const struct effect *effect, double threshold, int sign)
{
    /* The end of the interval that faces the threshold is the one that counts. */
    double distance = sign > 0 ? effect->below : effect->above;
    double degrees = sign > 0 ? effect->degrees_below : effect->degrees_above;
    double beyond = sign * effect->log_ratio - log1p(threshold);
    if (!isfinite(distance) || !isfinite(beyond))
        return 1;
    if (distance <= 0)
        return beyond > 0 ? 0 : 1;
    return student_above(beyond / distance * student_exceeded(TAIL, degrees), degrees);
}

void effect_holm(const double *chances, size_t count, double alpha, bool *named)
{
    for (size_t i = 0; i < count; i++)
        named[i] = false;
    for (size_t left = count; left > 0; left--) {
        size_t smallest = count;
        for (size_t i = 0; i < count; i++)
            if (!named[i] && (smallest == count || chances[i] < chances[smallest]))
                smallest = i;
        if (smallest == count || !(chances[smallest] <= alpha / (double)left))
            return;
        named[smallest] = true;
    }
}
