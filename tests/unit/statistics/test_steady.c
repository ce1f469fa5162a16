#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "statistics/interval.h"
#include "statistics/steady.h"
#include "tests/unit/statistics/series.h"

#define SEED UINT64_C(88172645463325252)
#define COUNT 1024
#define RUNS 10000
#define SOME 2000

static double values[COUNT];

static const struct {
    const char *name;
    enum series_kind kind;
    double phi, deviation;
} rows[] = {
    {"independent, normal", SERIES_NORMAL, 0.0, 1.0},
    {"independent, exponential", SERIES_EXPONENTIAL, 0.0, 100.0},
    {"autoregressive 0.5", SERIES_AR, 0.5, 1.2},
    {"autoregressive 0.9", SERIES_AR, 0.9, 2.3},
};
#define ROWS (sizeof rows / sizeof rows[0])

/* A stationary series has neither a transient nor a drift, whatever its correlation. */
static void few_false_alarms(void **state)
{
    (void)state;
    for (size_t row = 0; row < ROWS; row++) {
        uint64_t seed = SEED;
        int cut = 0, unsettled = 0, drift = 0;
        for (int run = 0; run < RUNS; run++) {
            struct steady steady;
            series_make(rows[row].kind, rows[row].phi, &seed, values, COUNT);
            steady_find(values, COUNT, 1, &steady);
            cut += steady.start > 0;
            unsettled += !steady.settled;
            drift += steady_drift_rel(values, COUNT, 1) != 0.0;
        }
        print_message("%s: false transients %.2f%%, unsettled %.2f%%, drifts %.2f%%\n",
                      rows[row].name, 100.0 * cut / RUNS, 100.0 * unsettled / RUNS,
                      100.0 * drift / RUNS);
        assert_true(cut < RUNS / 100);
        assert_true(unsettled < RUNS / 200);
        assert_true(drift < RUNS / 100);
    }
}

/* A transient that decays early is found and left out; one that is too long for that stays in, and
 * the interval has room for it. */
static void finds_a_transient(void **state)
{
    (void)state;
    static const double shares[] = {1 / 200.0, 1 / 20.0};
    for (size_t row = 0; row < 2 * ROWS; row++) {
        uint64_t seed = SEED;
        int found = 0, cut = 0, covered = 0;
        double share = shares[row / ROWS], deviation = rows[row % ROWS].deviation;
        for (int run = 0; run < SOME; run++) {
            struct steady steady;
            struct interval interval;
            double truth =
                series_make(rows[row % ROWS].kind, rows[row % ROWS].phi, &seed, values, COUNT);
            for (size_t i = 0; i < COUNT; i++)
                values[i] += 20.0 * deviation * exp(-(double)i / (COUNT * share));
            steady_find(values, COUNT, 1, &steady);
            found += steady.before_rel > 0.0;
            cut += steady.start > 0;
            assert_true(steady.start <= COUNT / STEADY_SHARE);
            assert_true(steady.settled || steady.start == 0);
            interval_of_series(values + steady.start, COUNT - steady.start, 1, &interval);
            covered += fabs(interval.mean - truth) <= interval.half_rel * interval.mean;
        }
        print_message("%s, decays in 1/%g: found %.1f%%, cut off %.1f%%, intervals hold %.1f%%\n",
                      rows[row % ROWS].name, 1 / share, 100.0 * found / SOME, 100.0 * cut / SOME,
                      100.0 * covered / SOME);
        assert_true(row >= ROWS || cut > SOME * 50 / 100);
        assert_true(covered > SOME * 93 / 100);
    }
}

static void step(size_t length, double by, struct steady *steady)
{
    uint64_t seed = SEED;
    series_make(SERIES_NORMAL, 0.0, &seed, values, COUNT);
    for (size_t i = 0; i < length; i++)
        values[i] += by;
    steady_find(values, COUNT, 1, steady);
}

static void finds_a_step_and_its_direction(void **state)
{
    (void)state;
    struct steady steady;
    step(30, -20.0, &steady);
    assert_in_range(steady.start, 30, 50);
    assert_true(steady.before_rel < -0.19 && steady.before_rel > -0.21);
    assert_true(steady.settled);
}

/* What comes later may be one of two levels: nothing is cut off, and it is not called steady. */
static void reports_a_level_that_changes_later(void **state)
{
    (void)state;
    static const size_t lengths[] = {60, 200, COUNT / 2};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        struct steady steady;
        struct interval interval;
        step(lengths[i], -20.0, &steady);
        assert_int_equal(steady.start, 0);
        assert_true(steady.before_rel < -0.17 && steady.before_rel > -0.21);
        assert_false(steady.settled);
        interval_of_series(values, COUNT, 1, &interval);
        assert_true(interval.half_rel > 0.01);
    }
}

/* A pause at the beginning is not a transient, if most of what lies before its end is as usual. */
static void reports_a_level_also_where_the_rest_is_too_short_for_an_interval(void **state)
{
    (void)state;
    struct steady steady;
    for (size_t i = 0; i < 100; i++)
        values[i] = (i < 20 ? 5.0 : 1.0) + 0.01 * (double)(i % 3);
    steady_find(values, 100, 30, &steady);
    assert_int_equal(steady.start, 0);
    assert_false(steady.settled);
    assert_true(steady.before_rel > 3.5 && steady.before_rel < 4.5);
}

/* The remainder is steadiest behind a hiccup that comes long after the change. */
static void finds_a_step_before_a_hiccup(void **state)
{
    (void)state;
    const size_t count = 340, length = 60, hiccup = 150;
    uint64_t seed = SEED;
    struct steady steady;
    series_make(SERIES_NORMAL, 0.0, &seed, values, count);
    for (size_t i = 0; i < count; i++)
        values[i] = 1.0 + 1e-4 * values[i] + (i < length ? 3.6 : 0.0) - (i == hiccup ? 0.5 : 0.0);
    steady_find(values, count, 1, &steady);
    assert_false(steady.settled);
    assert_true(steady.before_rel > 3.5 && steady.before_rel < 3.7);
}

static void a_few_outliers_are_not_a_transient(void **state)
{
    (void)state;
    static const size_t lengths[] = {1, 5, 10, 15};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        uint64_t seed = SEED;
        struct steady steady;
        series_make(SERIES_NORMAL, 0.0, &seed, values, COUNT);
        for (size_t at = 45 - lengths[i]; at < 45; at++)
            values[at] = 0.0;
        steady_find(values, COUNT, 1, &steady);
        assert_int_equal(steady.start, 0);
        assert_true(steady.settled);
    }
}

static void short_series_are_left_alone(void **state)
{
    (void)state;
    struct steady steady;
    for (size_t i = 0; i < 79; i++)
        values[i] = i < 20 ? 50.0 : 100.0 + (double)(i % 3);
    steady_find(values, 79, 1, &steady);
    assert_int_equal(steady.start, 0);
    assert_true(steady.settled);
    steady_find(values, 0, 1, &steady);
    assert_int_equal(steady.start, 0);
}

/* Found, and measured: from the first to the last value. */
static void finds_a_drift(void **state)
{
    (void)state;
    for (size_t row = 0; row < ROWS; row++) {
        uint64_t seed = SEED;
        int found = 0;
        double change = 3.0 * rows[row].deviation, sum = 0.0;
        for (int run = 0; run < SOME; run++) {
            double truth = series_make(rows[row].kind, rows[row].phi, &seed, values, COUNT);
            for (size_t i = 0; i < COUNT; i++)
                values[i] += change * ((double)i / COUNT - 0.5);
            double drift = steady_drift_rel(values, COUNT, 1);
            found += drift > 0.0;
            if (drift != 0.0)
                sum += drift * truth;
        }
        print_message("%s: drifts found %.1f%%, of %.2f%%\n", rows[row].name, 100.0 * found / SOME,
                      sum / found);
        assert_true(found > SOME * 85 / 100);
        assert_true(sum / found > 0.85 * change && sum / found < 1.15 * change);
    }
    for (size_t i = 0; i < COUNT; i++)
        values[i] = 200.0 - (double)i / COUNT;
    assert_true(fabs(steady_drift_rel(values, COUNT, 1) + 0.00470) < 2e-4);
    assert_true(steady_drift_rel(values, COUNT, COUNT / 8) != 0.0);
    assert_true(steady_drift_rel(values, COUNT, COUNT / 7) == 0.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_false_alarms),
        cmocka_unit_test(finds_a_transient),
        cmocka_unit_test(finds_a_step_and_its_direction),
        cmocka_unit_test(reports_a_level_that_changes_later),
        cmocka_unit_test(reports_a_level_also_where_the_rest_is_too_short_for_an_interval),
        cmocka_unit_test(finds_a_step_before_a_hiccup),
        cmocka_unit_test(a_few_outliers_are_not_a_transient),
        cmocka_unit_test(short_series_are_left_alone),
        cmocka_unit_test(finds_a_drift),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
