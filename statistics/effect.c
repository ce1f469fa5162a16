#include "statistics/effect.h"

#include <math.h>
#include <stdlib.h>

#include "common/random.h"
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

/* The deals at most; there are fewer where there are many rounds to add up. */
#define MOST_DEALS 1999
#define LEAST_DEALS 199
#define ADDITIONS 2e8

/* Equal deals must count as equal, however their sums were rounded. */
#define ROUNDING 1e-9

bool effect_can_be_found(size_t base, size_t change)
{
    double deals = 1.0;
    for (size_t i = 1; i <= change; i++)
        deals *= (double)(base + i) / (double)i;
    return base > 0 && change > 0 && 1.0 / deals <= TAIL;
}

/* Student's t of change over base, with is_change for the values of the change. */
static double t_of(const struct effect_rounds *figure, const bool *is_change)
{
    size_t count = figure->base + figure->change;
    double base = (double)figure->base, change = (double)figure->change, n = base + change;
    double sum = 0.0, squares = 0.0, changed = 0.0;
    if (figure->base == 0 || figure->change == 0 || count < 3)
        return 0.0;
    /* Deviations from one of them, so that the squares keep their digits. */
    for (size_t i = 0; i < count; i++) {
        double value = figure->values[i] - figure->values[0];
        sum += value;
        squares += value * value;
        changed += is_change[i] ? value : 0.0;
    }
    double difference = changed / change - (sum - changed) / base;
    double all = squares - sum * sum / n, between = difference * difference * base * change / n;
    double within = fmax(all - between, ROUNDING * all);
    return within > 0.0 ? difference * sqrt(base * change / n * (n - 2.0) / within) : 0.0;
}

/* Deals a figure's rounds: those with the largest keys are the change. The k-th round of every
 * figure has the same key, as rounds that were measured in one pass may be alike. */
static void deal(const struct effect_rounds *figure, const double *base_keys,
                 const double *change_keys, bool *is_change)
{
    size_t count = figure->base + figure->change;
    for (size_t i = 0; i < count; i++) {
        double key = i < figure->base ? base_keys[i] : change_keys[i - figure->base];
        size_t larger = 0;
        for (size_t j = 0; j < count; j++)
            larger += (j < figure->base ? base_keys[j] : change_keys[j - figure->base]) > key;
        is_change[i] = larger < figure->change;
    }
}

static bool same_sizes(const struct effect_rounds *one, const struct effect_rounds *other)
{
    return one->base == other->base && one->change == other->change;
}

void effect_deal(const struct effect_rounds *figures, size_t count, int sign, double *alone,
                 double *together)
{
    double keys[2][EFFECT_MOST_ROUNDS];
    bool is_change[2 * EFFECT_MOST_ROUNDS];
    double values = 1.0, largest;
    uint64_t random = 1;
    for (size_t i = 0; i < count; i++) {
        values += (double)(figures[i].base + figures[i].change);
        alone[i] = together[i] = 1.0;
    }
    unsigned deals = (unsigned)fmax(fmin(ADDITIONS / values, MOST_DEALS), LEAST_DEALS);
    double *seen = calloc(count + 1, sizeof *seen);
    for (unsigned n = 0; seen != NULL && n <= deals; n++) {
        /* The first deal is the one that was. */
        for (size_t i = 0; i < EFFECT_MOST_ROUNDS; i++) {
            keys[0][i] = n > 0 ? (double)random_next(&random) : 0.0;
            keys[1][i] = n > 0 ? (double)random_next(&random) : 1.0;
        }
        largest = -INFINITY;
        for (size_t i = 0; i < count; i++) {
            if (i == 0 || !same_sizes(&figures[i], &figures[i - 1]))
                deal(&figures[i], keys[0], keys[1], is_change);
            double t = sign * t_of(&figures[i], is_change);
            seen[i] = n == 0 ? t - fabs(t) * ROUNDING : seen[i];
            alone[i] += n > 0 && t >= seen[i] ? 1.0 : 0.0;
            largest = fmax(largest, t);
        }
        for (size_t i = 0; n > 0 && i < count; i++)
            together[i] += largest >= seen[i] ? 1.0 : 0.0;
    }
    for (size_t i = 0; seen != NULL && i < count; i++) {
        alone[i] /= deals + 1.0;
        together[i] /= deals + 1.0;
    }
    free(seen);
}

/* What the deals allow: worse or better where they hardly ever look like it. */
static void judge_one(struct effect_test *test, enum effect_verdict own, bool holds, bool alone)
{
    bool single = test->rounds.base < 2 || test->rounds.change < 2;
    if (own == EFFECT_SAME && !single)
        test->verdict = EFFECT_SAME;
    if (own != EFFECT_WORSE && own != EFFECT_BETTER)
        return;
    test->alone = alone && !holds;
    if (holds)
        test->verdict = own;
}

bool effect_judge(struct effect_test *tests, size_t count, double threshold, bool adjust)
{
    double *chances = calloc(count + 1, sizeof *chances);
    double *alone = calloc(count + 1, sizeof *alone);
    double *together = calloc(count + 1, sizeof *together);
    struct effect_rounds *rounds = calloc(count + 1, sizeof *rounds);
    bool *named = calloc(count + 1, sizeof *named);
    bool done = chances && alone && together && rounds && named;
    for (size_t i = 0; done && i < count; i++) {
        rounds[i] = tests[i].rounds;
        tests[i].verdict = EFFECT_UNSURE;
        tests[i].alone = false;
    }
    for (int sign = -1; done && sign <= 1; sign += 2) {
        enum effect_verdict beyond = sign < 0 ? EFFECT_WORSE : EFFECT_BETTER;
        for (size_t i = 0; i < count; i++)
            chances[i] = effect_chance(&tests[i].effect, threshold, sign);
        effect_holm(chances, count, TAIL, named);
        effect_deal(rounds, count, sign, alone, together);
        for (size_t i = 0; i < count; i++) {
            enum effect_verdict own = effect_verdict(&tests[i].effect, threshold);
            bool holds = named[i] && together[i] <= TAIL;
            if (own == beyond || own == EFFECT_SAME)
                judge_one(&tests[i], own, adjust ? holds : alone[i] <= TAIL, alone[i] <= TAIL);
        }
    }
    free(chances);
    free(alone);
    free(together);
    free(rounds);
    free(named);
    return done;
}
