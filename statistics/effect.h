/*
 * Two measurements of one point: how far apart are they, and is that more than chance? The maths of
 * `mpsweep compare`, without files or text.
 *
 * Everything is on the logarithmic scale, on which a ratio is a difference: swapping the two turns
 * every verdict round. A threshold of 0.02 means the ratios from 1/1.02 to 1.02.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum effect_verdict { EFFECT_WORSE, EFFECT_BETTER, EFFECT_SAME, EFFECT_UNSURE, EFFECT_VERDICTS };

const char *effect_verdict_name(enum effect_verdict verdict);

/* A positive figure and how well it is known: the distances on the logarithmic scale down and up to
 * the ends of its 95% interval, INFINITY where it has none; the interval's degrees of freedom. */
struct estimate {
    double value;
    double below, above;
    double degrees;
};

/* The mean of rounds; of fewer than two there is no interval. */
struct estimate estimate_from_rounds(const double *values, size_t count);

/* From the half width of an interval as a share of the value; INFINITY: none. */
struct estimate estimate_from_half_width(double value, double relative, double degrees);

/* From the interval's ends; resolution is how far apart, as a share, two values may be that count
 * as equal, and widens it. */
struct estimate estimate_from_bounds(double value, double low, double high, double resolution);

/* The ratio of two, on the logarithmic scale, with the distances to the ends of its 95% interval
 * and the degrees of freedom of each. */
struct effect {
    double log_ratio;
    double below, above;
    double degrees_below, degrees_above;
};

/*
 * change / base. Each end of the interval comes from the ends that move the ratio that way: the
 * sum of the squares (MOVER: Zou, Donner 2008), with Welch and Satterthwaite's degrees of freedom;
 * with symmetric intervals this is Welch's. The degrees are at most twice the fewer of the two, as
 * they are where both have as many: more are too many far out in the tails, where Holm looks.
 */
struct effect effect_of(const struct estimate *base, const struct estimate *change);

/* The ratio, and the ends of its 95% interval. */
double effect_ratio(const struct effect *effect);
double effect_low(const struct effect *effect);
double effect_high(const struct effect *effect);

/* The verdict on one point alone: its whole interval below 1 / (1 + threshold) or above 1 +
 * threshold is worse or better (of a figure that is the better the higher it is), all of it between
 * them the same, anything else unsure. */
enum effect_verdict effect_verdict(const struct effect *effect, double threshold);

/* The probability of an effect at least so far above the threshold if there were none beyond it
 * (sign 1), or so far below (sign -1). */
double effect_chance(const struct effect *effect, double threshold, int sign);

/*
 * Which of many chances are small enough, all taken together, that one of those named is false in
 * at most a share alpha of all cases (Holm 1979). Sets named[i].
 */
void effect_holm(const double *chances, size_t count, double alpha, bool *named);

/* Rounds of a measurement that count here; further ones are left out. */
#define EFFECT_MOST_ROUNDS 100

/* The logarithms of a figure in the rounds of two measurements, the better the higher. */
struct effect_rounds {
    const double *values; /* those of the base, then those of the change; the caller's */
    size_t base, change;  /* EFFECT_MOST_ROUNDS at most */
};

/*
 * How often chance gives what was seen, if the rounds of base and change are alike, whatever their
 * distribution: the rounds of all figures together are dealt anew to the two sides, again and
 * again, and Student's t of the deals is compared with that of the rounds as they were (a
 * permutation test; over all figures that of the largest t, Westfall and Young 1993). sign as of
 * effect_chance(). alone: the chance of each figure by itself; together: that any figure looks like
 * this. Few rounds make few deals, and no chance is below 1 in their number.
 */
void effect_deal(const struct effect_rounds *figures, size_t count, int sign, double *alone,
                 double *together);

/* False where the rounds are too few for a verdict of worse or better: their deals allow no chance
 * of 2.5%. Five on each side are enough, and four. */
bool effect_can_be_found(size_t base, size_t change);

/* One figure of one point, to be judged among others. */
struct effect_test {
    struct effect effect; /* the better the higher */
    struct effect_rounds rounds;
    enum effect_verdict verdict; /* what effect_judge() makes of it */
    bool alone;                  /* it is unsure, and would not be if it were the only one */
};

/*
 * The verdicts. Worse and better take three things: the whole interval lies beyond the threshold,
 * which Holm's procedure holds against the number of tests (adjust), and the rounds dealt anew
 * hardly ever look like this. If nothing has changed, any test is worse in at most 2.5% of all
 * cases, whatever the rounds' distribution. One round on a side is unsure. False without memory.
 */
bool effect_judge(struct effect_test *tests, size_t count, double threshold, bool adjust);
