#include "statistics/interval.h"

#include <math.h>

#include "statistics/statistics.h"

/* Student's t changes little beyond this number of rounds. */
#define SMALL_SAMPLE 50.0
#define MANY 1e6

/* An interval below this share of the goal needs no second look. */
#define CLEARLY_NARROW 0.7

/* What rounding may add to an interval that is as wide as the goal. */
#define ROUNDED 1e-9

/* The batches of a series: so few that each is long, and more, which are known better. */
static const size_t batch_counts[] = {INTERVAL_LEAST_BATCHES, 2 * INTERVAL_LEAST_BATCHES,
                                      4 * INTERVAL_LEAST_BATCHES};
#define BATCH_COUNTS (sizeof batch_counts / sizeof batch_counts[0])

struct batches {
    double variance; /* of their means */
    double lag1;     /* of neighbours */
};

/* The means of `count` batches of a series, given by its running sums of deviations. What does not
 * fill a batch is left out at the front: what is newest is steadiest. lag1 is von Neumann's ratio
 * as a correlation: the ends, which have one neighbour only, count as if they had a second at the
 * mean. */
static struct batches batch_means(const double *sums, size_t values, size_t count)
{
    struct batches out = {0};
    size_t length = values / count, skipped = values - count * length;
    double n = (double)count, mean = (sums[values] - sums[skipped]) / (double)length / n;
    double squares = 0.0, steps = 0.0, before = 0.0, ends = 0.0;
    for (size_t i = 0; i < count; i++) {
        const double *at = sums + skipped + i * length;
        double deviation = (at[length] - at[0]) / (double)length - mean;
        squares += deviation * deviation;
        steps += i > 0 ? (deviation - before) * (deviation - before) : 0.0;
        ends += i == 0 || i == count - 1 ? deviation * deviation : 0.0;
        before = deviation;
    }
    out.variance = squares / (n - 1.0);
    out.lag1 = squares > 0.0 ? 1.0 - (steps + ends) / (2.0 * squares) + 1.0 / n : 0.0;
    return out;
}

/* Half the width of the interval of the mean of `count` values, were they autoregressive of first
 * order: as of that number of independent ones that shows as much. */
static double autoregressive(const struct batches *values, size_t count)
{
    double n = (double)count;
    /* Short series look less correlated than they are (Kendall's correction). */
    double lag1 = fmax(values->lag1 + 3.0 * values->lag1 / n, 0.0);
    double independent = n * (1.0 - lag1) / (1.0 + lag1);
    if (independent < 2.0)
        return INFINITY;
    return statistics_t975((size_t)independent - 1) * sqrt(values->variance / independent);
}

void interval_of_series(const double *values, size_t count, size_t shortest_batch,
                        struct interval *out)
{
    double sums[INTERVAL_MOST_VALUES + 1];
    double widest = -1.0;
    *out = (struct interval){.half_rel = INFINITY, .mean = statistics_mean(values, count)};
    if (shortest_batch == 0 || count > INTERVAL_MOST_VALUES || !(out->mean > 0.0) ||
        count / shortest_batch < INTERVAL_LEAST_BATCHES)
        return;
    /* Deviations, so that the sums keep their digits. */
    sums[0] = 0.0;
    for (size_t i = 0; i < count; i++)
        sums[i + 1] = sums[i] + (values[i] - out->mean);
    out->method = INTERVAL_BATCH_MEANS;
    for (size_t i = 0; i < BATCH_COUNTS && batch_counts[i] <= count / shortest_batch; i++) {
        struct batches batches = batch_means(sums, count, batch_counts[i]);
        double error = sqrt(batches.variance / (double)batch_counts[i]);
        double half = statistics_t975(batch_counts[i] - 1) * error;
        if (half <= widest)
            continue;
        widest = half;
        out->batches = batch_counts[i];
        out->lag1 = batches.lag1;
    }
    struct batches shortest = batch_means(sums, count, count / shortest_batch);
    double half = autoregressive(&shortest, count / shortest_batch);
    if (half > widest) {
        widest = half;
        out->method = isfinite(half) ? INTERVAL_AUTOREGRESSIVE : INTERVAL_UNKNOWN;
        out->batches = count / shortest_batch;
        out->lag1 = shortest.lag1;
    }
    out->half_rel = widest / out->mean;
}

void interval_of_rounds(const double *means, const double *halves_rel, size_t rounds,
                        struct interval *out)
{
    double n = (double)rounds, within = 0.0, errors = 0.0;
    *out = (struct interval){.half_rel = INFINITY, .mean = statistics_mean(means, rounds)};
    if (rounds == 0 || !(out->mean > 0.0))
        return;
    for (size_t i = 0; i < rounds; i++) {
        /* Of the common mean: rounds that were all measured to a share are known to it together. */
        double half = halves_rel[i] * out->mean;
        /* Unknown: the scatter of the rounds holds it anyway. */
        if (rounds > 1 && !isfinite(half))
            continue;
        within += half * half;
        errors += half * half / (STATISTICS_NORMAL_975 * STATISTICS_NORMAL_975) / n;
    }
    double own_rel = rounds == 1 ? halves_rel[0] : sqrt(within) / n / out->mean;
    out->half_rel = own_rel;
    out->method = isfinite(own_rel) ? INTERVAL_BATCH_MEANS : INTERVAL_UNKNOWN;
    if (rounds == 1)
        return;
    double scatter_rel = statistics_ci95_rel(means, rounds);
    double deviation = scatter_rel * out->mean / statistics_t975(rounds - 1) * sqrt(n);
    double between = deviation * deviation - errors;
    out->method = INTERVAL_BETWEEN_ROUNDS;
    out->batches = rounds;
    out->own_rel = own_rel;
    out->between_rel = between > 0.0 ? sqrt(between) / out->mean : 0.0;
    if (scatter_rel > own_rel)
        out->half_rel = scatter_rel;
}

double interval_rounds_for(const struct interval *interval, double goal_rel)
{
    double n = (double)interval->batches, own = interval->own_rel / goal_rel;
    double rounds = ceil(n * own * own);
    if (interval->half_rel <= interval->own_rel)
        return rounds;
    double error_rel = interval->half_rel * sqrt(n) / statistics_t975(interval->batches - 1);
    rounds = fmax(rounds, n + 1.0);
    /* From below, so that t is never larger than at the rounds which it leads to. */
    for (;;) {
        double needed = statistics_t975((size_t)fmin(rounds, MANY) - 1) * error_rel / goal_rel;
        if (needed * needed <= rounds)
            return rounds;
        rounds = rounds < SMALL_SAMPLE ? rounds + 1.0 : ceil(needed * needed);
    }
}

bool interval_meets(double half_rel, double goal_rel)
{
    return half_rel <= (1.0 + ROUNDED) * goal_rel || (goal_rel >= 1.0 && isfinite(half_rel));
}

bool interval_reached(double half_rel, double goal_rel, unsigned *narrow)
{
    *narrow = interval_meets(half_rel, goal_rel) ? *narrow + 1 : 0;
    return *narrow > 1 || interval_meets(half_rel, CLEARLY_NARROW * goal_rel) ||
           (*narrow > 0 && goal_rel >= 1.0);
}

double interval_reported(double half_rel, double goal_rel, bool grew)
{
    if (goal_rel >= 1.0 || !interval_meets(half_rel, goal_rel))
        return half_rel;
    return grew || !interval_meets(half_rel, CLEARLY_NARROW * goal_rel) ? goal_rel : half_rel;
}

const char *interval_method_name(enum interval_method method)
{
    switch (method) {
    case INTERVAL_BATCH_MEANS:
        return "batch means";
    case INTERVAL_AUTOREGRESSIVE:
        return "autoregressive";
    case INTERVAL_BETWEEN_ROUNDS:
        return "between rounds";
    default:
        return "unknown";
    }
}
