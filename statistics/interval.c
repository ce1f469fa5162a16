#include "statistics/interval.h"

#include <math.h>

#include "statistics/statistics.h"

/* Student's t changes little beyond this number of rounds. */
#define SMALL_SAMPLE 50.0
#define MANY 1e6

/* Enough for Student's t to be near its limit; more would only be correlated and skewed. */
#define MOST_BATCHES 32

/* Fewest batches that correlation may leave: below, Student's t widens faster than correlation
 * falls. */
#define LENGTHENED_LEAST 8

/* The shortest batch in autocorrelation times, as guessed from neighbouring values. */
#define LEAST_TIMES 2.5

/* Correlation between batches that counts as there, in standard errors of an estimate from
 * independent values. Low: to miss one costs coverage, to see one that is not there only batches.
 */
#define SIGNIFICANT 1.0

/* What correlation such a test leaves unseen, in the same unit; counted where neighbouring values
 * are correlated beyond doubt (by NEIGHBOURS standard errors). */
#define UNSEEN 0.3
#define NEIGHBOURS 2.0

/* Correlation between half as long batches from which on the batches are taken for too short,
 * however they look: there are twice as many of the halves, which show more. */
#define TOO_CORRELATED 0.35

/* Batches that stay correlated count like this number of values. */
#define WIDE_VALUES 3

/* An interval below this share of the goal needs no second look. */
#define CLEARLY_NARROW 0.7

struct batches {
    size_t count;
    double means[MOST_BATCHES * 3]; /* room for halves of the shortest odd length, 3 */
    double variance;                /* of the means */
    double lag1;
};

/* Von Neumann's ratio as a correlation: the ends, which have one neighbour only, count as if they
 * had two, or it would lean towards negative values. */
static double lag1_of(const double *values, size_t count, double mean)
{
    double steps = 0.0, squares = 0.0;
    for (size_t i = 0; i < count; i++) {
        squares += (values[i] - mean) * (values[i] - mean);
        if (i > 0)
            steps += (values[i] - values[i - 1]) * (values[i] - values[i - 1]);
    }
    double first = values[0] - mean, last = values[count - 1] - mean;
    if (squares <= 0.0)
        return 0.0;
    return 1.0 - (steps + first * first + last * last) / (2.0 * squares) + 1.0 / (double)count;
}

/* Batches of a series given by its running sums. What does not fill a batch is left out at the
 * front: what is newest is steadiest. */
static void make_batches(const double *sums, size_t count, size_t length, struct batches *out)
{
    size_t batches = count / length, skipped = count - batches * length;
    double mean = 0.0, squares = 0.0;
    for (size_t i = 0; i < batches; i++) {
        const double *at = sums + skipped + i * length;
        out->means[i] = (at[length] - at[0]) / (double)length;
        mean += out->means[i] / (double)batches;
    }
    for (size_t i = 0; i < batches; i++)
        squares += (out->means[i] - mean) * (out->means[i] - mean);
    out->count = batches;
    out->variance = batches > 1 ? squares / (double)(batches - 1) : 0.0;
    out->lag1 = batches > 1 ? lag1_of(out->means, batches, mean) : 0.0;
}

/* How many values it takes until a series has forgotten itself, were it autoregressive of first
 * order. */
static double autocorrelation_time(double lag1, size_t count)
{
    /* Short series look less correlated than they are (Kendall's correction). */
    double corrected = lag1 + 3.0 * lag1 / (double)count;
    return corrected >= 1.0 ? INFINITY : (1.0 + corrected) / (1.0 - corrected);
}

static bool independent(const double *sums, size_t count, size_t length, struct batches *batches)
{
    struct batches halves;
    make_batches(sums, count, length, batches);
    if (batches->lag1 * sqrt((double)batches->count) > SIGNIFICANT)
        return false;
    if (length < 2)
        return true;
    make_batches(sums, count, length / 2, &halves);
    return halves.lag1 < TOO_CORRELATED;
}

/* The shortest batches from length on that look independent; false with the longest that leave
 * enough of them if none do. */
static bool choose_batches(const double *sums, size_t count, size_t length, double least_length,
                           struct batches *out)
{
    size_t longest = count / LENGTHENED_LEAST > length ? count / LENGTHENED_LEAST : length;
    if (least_length > (double)longest) {
        make_batches(sums, count, longest, out);
        return false;
    }
    if ((double)length < least_length)
        length = (size_t)ceil(least_length);
    for (;; length += length / 4 + 1) {
        if (independent(sums, count, length, out))
            return true;
        if (length + length / 4 + 1 > longest)
            return false;
    }
}

void interval_of_series(const double *values, size_t count, size_t shortest_batch,
                        struct interval *out)
{
    double sums[INTERVAL_MOST_VALUES + 1];
    struct batches batches;
    *out = (struct interval){.half_rel = INFINITY, .mean = statistics_mean(values, count)};
    size_t length = (count + MOST_BATCHES - 1) / MOST_BATCHES;
    if (length < shortest_batch)
        length = shortest_batch;
    if (count > INTERVAL_MOST_VALUES || !(out->mean > 0.0) || length == 0 ||
        count / length < INTERVAL_LEAST_BATCHES)
        return;
    /* Deviations, so that the sums keep their digits. */
    sums[0] = 0.0;
    for (size_t i = 0; i < count; i++)
        sums[i + 1] = sums[i] + (values[i] - out->mean);
    double lag1 = lag1_of(values, count, out->mean);
    double least = LEAST_TIMES * autocorrelation_time(lag1, count);
    bool good = choose_batches(sums, count, length, least, &batches);
    out->batches = batches.count;
    out->lag1 = batches.lag1;
    double error = sqrt(batches.variance / (double)batches.count);
    if (good) {
        double rest = batches.lag1;
        if (lag1 * sqrt((double)count) > NEIGHBOURS)
            rest += UNSEEN / sqrt((double)batches.count);
        rest = rest > 0.0 ? rest : 0.0;
        out->method = INTERVAL_BATCH_MEANS;
        out->half_rel = statistics_t975(batches.count - 1) * error *
                        sqrt((1.0 + rest) / (1.0 - rest)) / out->mean;
    } else {
        out->method = INTERVAL_WIDE;
        out->half_rel =
            statistics_t975(WIDE_VALUES - 1) * sqrt(batches.variance / WIDE_VALUES) / out->mean;
    }
}

void interval_of_rounds(const double *means, const double *halves_rel, size_t rounds,
                        struct interval *out)
{
    double n = (double)rounds, within = 0.0, errors = 0.0;
    *out = (struct interval){.half_rel = INFINITY, .mean = statistics_mean(means, rounds)};
    if (rounds == 0 || !(out->mean > 0.0))
        return;
    for (size_t i = 0; i < rounds; i++) {
        double half = halves_rel[i] * means[i];
        /* Unknown: the scatter of the rounds holds it anyway. */
        if (rounds > 1 && !isfinite(half))
            continue;
        within += half * half;
        errors += half * half / (STATISTICS_NORMAL_975 * STATISTICS_NORMAL_975) / n;
    }
    double own_rel = sqrt(within) / n / out->mean;
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
    return half_rel <= goal_rel || (goal_rel >= 1.0 && isfinite(half_rel));
}

bool interval_reached(double half_rel, double goal_rel, unsigned *narrow)
{
    *narrow = interval_meets(half_rel, goal_rel) ? *narrow + 1 : 0;
    return *narrow > 1 || interval_meets(half_rel, CLEARLY_NARROW * goal_rel) ||
           (*narrow > 0 && goal_rel >= 1.0);
}

const char *interval_method_name(enum interval_method method)
{
    switch (method) {
    case INTERVAL_BATCH_MEANS:
        return "batch means";
    case INTERVAL_WIDE:
        return "wide";
    case INTERVAL_BETWEEN_ROUNDS:
        return "between rounds";
    default:
        return "unknown";
    }
}
