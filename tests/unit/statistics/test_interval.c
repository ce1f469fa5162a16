#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "statistics/interval.h"
#include "statistics/statistics.h"
#include "tests/unit/statistics/series.h"

#define SEED UINT64_C(88172645463325252)
#define MOST 2048
#define RUNS 5000

static double values[MOST];

static bool covers(const struct interval *interval, double truth)
{
    return fabs(interval->mean - truth) <= interval->half_rel * interval->mean;
}

static void print_share(const char *what, size_t count, int good, int runs)
{
    print_message("%s, %zu values: %.1f%%\n", what, count, 100.0 * good / runs);
}

/* Of 10,000 intervals, at least 95% hold the true mean. */
static void covers_the_mean(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum series_kind kind;
        double phi;
        size_t count;
    } rows[] = {
        {"independent, normal", SERIES_NORMAL, 0.0, 1024},
        {"independent, exponential", SERIES_EXPONENTIAL, 0.0, 1024},
        {"autoregressive 0.5", SERIES_AR, 0.5, 1024},
        {"autoregressive 0.9", SERIES_AR, 0.9, 2048},
        {"autoregressive -0.5", SERIES_AR, -0.5, 1024},
        {"M/M/1", SERIES_QUEUE, 0.0, 2048},
    };
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        uint64_t seed = SEED;
        int covered = 0;
        for (int run = 0; run < RUNS; run++) {
            struct interval interval;
            double truth =
                series_make(rows[row].kind, rows[row].phi, &seed, values, rows[row].count);
            interval_of_series(values, rows[row].count, 1, &interval);
            covered += covers(&interval, truth);
        }
        print_share(rows[row].name, rows[row].count, covered, RUNS);
        assert_true(covered >= 95 * RUNS / 100);
    }
}

/* What docs/statistics.md states of skewed and correlated series: they hold less, and not much
 * less.
 */
static void skewed_and_correlated_ones_hold_less(void **state)
{
    (void)state;
    static const size_t counts[] = {64, 128, 256, 512, 1024};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        uint64_t seed = SEED;
        int covered = 0;
        for (int run = 0; run < RUNS; run++) {
            struct interval interval;
            double truth = series_make(SERIES_QUEUE, 0.0, &seed, values, counts[i]);
            interval_of_series(values, counts[i], 1, &interval);
            covered += covers(&interval, truth);
        }
        print_share("M/M/1", counts[i], covered, RUNS);
        assert_in_range(covered, 85 * RUNS / 100, 97 * RUNS / 100);
    }
}

/* Where a series is too short for its correlation, the interval is wide; it holds less only where
 * the series is about as long as it takes to forget itself, 19 values. */
static void short_series_are_not_falsely_narrow(void **state)
{
    (void)state;
    static const size_t counts[] = {32, 64, 128, 256, 512};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        uint64_t seed = SEED;
        int covered = 0;
        for (int run = 0; run < RUNS; run++) {
            struct interval interval;
            double truth = series_make(SERIES_AR, 0.9, &seed, values, counts[i]);
            interval_of_series(values, counts[i], 1, &interval);
            covered += covers(&interval, truth);
        }
        print_share("autoregressive 0.9", counts[i], covered, RUNS);
        assert_true(covered >= (counts[i] < 128 ? 88 : 94) * RUNS / 100);
    }
}

/* The interval of independent values is a half wider than if their independence were known. */
static void independent_values_have_narrow_intervals(void **state)
{
    (void)state;
    uint64_t seed = SEED;
    double sum = 0.0;
    enum { SOME = 1000 };
    for (int run = 0; run < SOME; run++) {
        struct interval interval;
        series_make(SERIES_NORMAL, 0.0, &seed, values, 512);
        interval_of_series(values, 512, 1, &interval);
        sum += interval.half_rel * interval.mean / SOME;
    }
    double known = STATISTICS_NORMAL_975 / sqrt(512.0);
    print_message("independent: %.2f times as wide\n", sum / known);
    assert_true(sum > known);
    assert_true(sum < 1.6 * known);
}

/* Looked at while it grows, as a window does, and stopped when narrow enough. */
static void covers_after_stopping(void **state)
{
    (void)state;
    enum { STOPS = 4000 };
    static const struct {
        const char *name;
        enum series_kind kind;
        double phi;
        size_t first, most;
        double goal_rel;
        int least; /* percent */
    } rows[] = {
        {"independent, stopped", SERIES_NORMAL, 0.0, 480, 1920, 0.0008, 93},
        {"independent, stopped early", SERIES_NORMAL, 0.0, 64, 1920, 0.0012, 93},
        {"autoregressive 0.5, stopped", SERIES_AR, 0.5, 480, 1920, 0.0016, 93},
        {"autoregressive 0.5, stopped early", SERIES_AR, 0.5, 64, 1920, 0.0023, 93},
        {"autoregressive 0.9, stopped", SERIES_AR, 0.9, 480, 1920, 0.0070, 93},
        {"autoregressive 0.9, stopped first", SERIES_AR, 0.9, 480, 1920, 0.0150, 93},
        {"autoregressive 0.9, stopped early", SERIES_AR, 0.9, 64, 1920, 0.0100, 88},
        {"M/M/1, stopped", SERIES_QUEUE, 0.0, 512, 1920, 0.0026, 85},
        {"M/M/1, stopped early", SERIES_QUEUE, 0.0, 64, 1920, 0.0050, 75},
    };
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        uint64_t seed = SEED;
        int covered = 0, grown = 0;
        for (int run = 0; run < STOPS; run++) {
            struct interval interval;
            unsigned narrow = 0;
            size_t count = rows[row].first;
            double truth =
                series_make(rows[row].kind, rows[row].phi, &seed, values, rows[row].most);
            for (;;) {
                interval_of_series(values, count, 1, &interval);
                if (interval_reached(interval.half_rel, rows[row].goal_rel, &narrow) ||
                    count == rows[row].most)
                    break;
                grown += count == rows[row].first;
                count += count / 4;
                if (count > rows[row].most)
                    count = rows[row].most;
            }
            covered += covers(&interval, truth);
        }
        print_share(rows[row].name, rows[row].most, covered, STOPS);
        assert_in_range(covered, rows[row].least * STOPS / 100, 99 * STOPS / 100);
        assert_true(grown > STOPS / 100);
    }
}

static void stopping_asks_twice_near_the_goal(void **state)
{
    (void)state;
    unsigned narrow = 0;
    assert_true(interval_reached(0.005, 0.01, &narrow));
    narrow = 0;
    assert_false(interval_reached(0.009, 0.01, &narrow));
    assert_false(interval_reached(0.011, 0.01, &narrow));
    assert_false(interval_reached(0.009, 0.01, &narrow));
    assert_true(interval_reached(0.009, 0.01, &narrow));
    narrow = 0;
    assert_false(interval_reached(INFINITY, 1.0, &narrow));
    assert_false(interval_meets(INFINITY, 1.0));
    assert_false(interval_meets(0.011, 0.01));
    assert_true(interval_meets(0.01, 0.01));
    /* Any, if it is known. */
    assert_true(interval_reached(1.7, 1.0, &narrow));
    assert_true(interval_meets(1.7, 1.0));
    assert_false(interval_meets(1.7, 0.99));
}

/* What was stopped for being narrow is known to the goal. */
static void luck_is_not_reported(void **state)
{
    (void)state;
    assert_true(interval_reported(0.004, 0.01, false) == 0.004);
    assert_true(interval_reported(0.009, 0.01, false) == 0.01);
    assert_true(interval_reported(0.004, 0.01, true) == 0.01);
    assert_true(interval_reported(0.02, 0.01, true) == 0.02);
    assert_true(interval_reported(0.3, 1.0, true) == 0.3);
    assert_true(interval_reported(0.004, 0.0, false) == 0.004);
    /* One round keeps it to the last digit. */
    struct interval interval;
    const double mean = 123.456, half = interval_reported(0.009, 0.01, true);
    interval_of_rounds(&mean, &half, 1, &interval);
    assert_true(interval_meets(interval.half_rel, 0.01));
}

/* Rounds that each leave the root of their number times the goal open reach it together, although
 * they differ. */
static void rounds_share_a_goal(void **state)
{
    (void)state;
    struct interval interval;
    for (size_t rounds = 2; rounds <= 9; rounds++) {
        double means[9], halves[9];
        for (size_t i = 0; i < rounds; i++) {
            means[i] = 123.456 * (1.0 + 0.003 * (double)i);
            halves[i] = 0.05 * sqrt((double)rounds);
        }
        interval_of_rounds(means, halves, rounds, &interval);
        assert_true(interval.half_rel > 0.0499);
        assert_true(interval_meets(interval.half_rel, 0.05));
    }
}

/* Series of any length, with the shortest batch that their length allows and others. */
static void any_length_is_taken(void **state)
{
    (void)state;
    uint64_t seed = SEED;
    series_make(SERIES_NORMAL, 0.0, &seed, values, MOST);
    for (size_t count = 0; count <= MOST; count++) {
        struct interval interval;
        interval_of_series(values, count, 1 + count % 7, &interval);
        assert_true(interval.batches <= count);
        assert_true(count < 100 || (interval.half_rel > 0.0 && interval.half_rel < 0.05));
    }
}

static void too_little_is_unknown(void **state)
{
    (void)state;
    struct interval interval;
    uint64_t seed = SEED;
    series_make(SERIES_NORMAL, 0.0, &seed, values, 100);
    interval_of_series(values, 100, 21, &interval);
    assert_true(isinf(interval.half_rel));
    assert_int_equal(interval.method, INTERVAL_UNKNOWN);
    interval_of_series(values, 100, 20, &interval);
    assert_int_equal(interval.batches, 5);
    assert_true(isfinite(interval.half_rel));
    interval_of_series(values, 0, 1, &interval);
    assert_true(isinf(interval.half_rel));
    for (size_t i = 0; i < 100; i++)
        values[i] = 0.0;
    interval_of_series(values, 100, 1, &interval);
    assert_true(isinf(interval.half_rel));
}

static void a_constant_is_known_exactly(void **state)
{
    (void)state;
    struct interval interval;
    for (size_t i = 0; i < 100; i++)
        values[i] = 3.0;
    interval_of_series(values, 100, 1, &interval);
    assert_true(interval.half_rel == 0.0);
    assert_true(interval.mean == 3.0);
}

/* What differs between rounds counts, and so does what one round cannot show. */
static void covers_the_mean_over_rounds(void **state)
{
    (void)state;
    static const size_t rounds[] = {2, 3, 6, 12};
    static const double between[] = {0.0, 1.0, 10.0};
    for (size_t i = 0; i < sizeof rounds / sizeof rounds[0]; i++) {
        for (size_t j = 0; j < sizeof between / sizeof between[0]; j++) {
            uint64_t seed = SEED;
            int covered = 0;
            double found = 0.0;
            for (int run = 0; run < RUNS; run++) {
                double means[12], halves[12];
                struct interval interval;
                for (size_t r = 0; r < rounds[i]; r++) {
                    means[r] = 1000.0 + series_normal(&seed) + between[j] * series_normal(&seed);
                    halves[r] = STATISTICS_NORMAL_975 / means[r]; /* of one round's scatter, 1 */
                }
                interval_of_rounds(means, halves, rounds[i], &interval);
                covered += covers(&interval, 1000.0);
                found += interval.between_rel * interval.mean / RUNS;
                double least = STATISTICS_NORMAL_975 / sqrt((double)rounds[i]) / 1000.0;
                assert_true(interval.half_rel > 0.95 * least);
                assert_int_equal(interval.batches, rounds[i]);
            }
            print_message("%zu rounds, %g between them: %.1f%%, found %.2f\n", rounds[i],
                          between[j], 100.0 * covered / RUNS, found);
            assert_true(covered >= 94 * RUNS / 100);
            /* Never narrower than what one round gives: that is more than 95% where rounds agree.
             */
            assert_true(between[j] == 0.0 || rounds[i] == 2 || covered <= 975 * RUNS / 1000);
            assert_true(rounds[i] < 6 || between[j] < 10.0 || (found > 9.0 && found < 11.0));
        }
    }
}

static void one_round_has_its_own_interval(void **state)
{
    (void)state;
    struct interval interval;
    const double mean = 10.0, half = 0.02, unknown = INFINITY;
    interval_of_rounds(&mean, &half, 1, &interval);
    assert_true(fabs(interval.half_rel - 0.02) < 1e-12);
    interval_of_rounds(&mean, &unknown, 1, &interval);
    assert_true(isinf(interval.half_rel));
    assert_int_equal(interval.method, INTERVAL_UNKNOWN);
    const double means[] = {10.0, 11.0}, halves[] = {INFINITY, 0.02};
    interval_of_rounds(means, halves, 2, &interval);
    assert_true(fabs(interval.half_rel - 12.7062 * 0.5 / 10.5) < 1e-4);
}

static void predicts_the_rounds_that_it_takes(void **state)
{
    (void)state;
    static const double goals[] = {0.02, 0.01, 0.001, 1e-12};
    const double means[] = {98.0, 102.0, 99.0, 101.0}, narrow[] = {0.001, 0.001, 0.001, 0.001};
    for (size_t rounds = 2; rounds <= 4; rounds += 2)
        for (size_t g = 0; g < sizeof goals / sizeof goals[0]; g++) {
            struct interval interval;
            interval_of_rounds(means, narrow, rounds, &interval);
            double needed = interval_rounds_for(&interval, goals[g]);
            double error = interval.half_rel * sqrt((double)rounds) / statistics_t975(rounds - 1);
            assert_true(interval.half_rel > goals[g] && needed > (double)rounds);
            if (goals[g] < 1e-6)
                continue;
            /* That many do, and clearly fewer do not. */
            double fewer = floor(0.93 * needed);
            assert_true(statistics_t975((size_t)needed - 1) * error / sqrt(needed) <= goals[g]);
            assert_true(statistics_t975((size_t)fewer - 1) * error / sqrt(fewer) > goals[g]);
        }
    /* Rounds that agree, but each of which shows little. */
    const double alike[] = {100.0, 100.0}, wide[] = {0.04, 0.04}; /* 2.83% together */
    struct interval interval;
    interval_of_rounds(alike, wide, 2, &interval);
    assert_true(interval_rounds_for(&interval, 0.0101) == 16.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(covers_the_mean),
        cmocka_unit_test(skewed_and_correlated_ones_hold_less),
        cmocka_unit_test(short_series_are_not_falsely_narrow),
        cmocka_unit_test(independent_values_have_narrow_intervals),
        cmocka_unit_test(covers_after_stopping),
        cmocka_unit_test(stopping_asks_twice_near_the_goal),
        cmocka_unit_test(luck_is_not_reported),
        cmocka_unit_test(rounds_share_a_goal),
        cmocka_unit_test(any_length_is_taken),
        cmocka_unit_test(too_little_is_unknown),
        cmocka_unit_test(a_constant_is_known_exactly),
        cmocka_unit_test(covers_the_mean_over_rounds),
        cmocka_unit_test(one_round_has_its_own_interval),
        cmocka_unit_test(predicts_the_rounds_that_it_takes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
