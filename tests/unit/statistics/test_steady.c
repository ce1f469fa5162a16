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

/* A transient that decays is found and left out, and what is left has an honest interval. */
static void finds_a_transient(void **state)
{
    (void)state;
    for (size_t row = 0; row < ROWS; row++) {
        uint64_t seed = SEED;
        int found = 0, covered = 0;
        double where = 0.0;
        for (int run = 0; run < SOME; run++) {
            struct steady steady;
            struct interval interval;
            double truth = series_make(rows[row].kind, rows[row].phi, &seed, values, COUNT);
            for (size_t i = 0; i < COUNT; i++)
                values[i] += 10.0 * rows[row].deviation * exp(-(double)i / (COUNT / 20.0));
            steady_find(values, COUNT, 1, &steady);
            found += steady.start > 0 && steady.before_rel > 0.0;
            assert_true(steady.start <= COUNT / 2);
            where += (double)steady.start / COUNT / SOME;
            interval_of_series(values + steady.start, COUNT - steady.start, 1, &interval);
            covered += fabs(interval.mean - truth) <= interval.half_rel * interval.mean;
        }
        print_message("%s: transients found %.1f%%, at %.0f%%, intervals of the rest hold %.1f%%\n",
                      rows[row].name, 100.0 * found / SOME, 100.0 * where, 100.0 * covered / SOME);
        assert_true(found > SOME * 85 / 100);
        assert_true(where > 0.10 && where < 0.30);
        assert_in_range(covered, 93 * SOME / 100, 97 * SOME / 100);
    }
}

static void finds_a_step_and_its_direction(void **state)
{
    (void)state;
    uint64_t seed = SEED;
    struct steady steady;
    series_make(SERIES_NORMAL, 0.0, &seed, values, COUNT);
    for (size_t i = 0; i < 200; i++)
        values[i] -= 20.0;
    steady_find(values, COUNT, 1, &steady);
    assert_in_range(steady.start, 200, 340);
    assert_true(steady.before_rel < -0.1 && steady.before_rel > -0.21);
    assert_true(steady.settled);
}

/* What has settled just when half is over, or not yet, is not called steady. */
static void says_what_did_not_settle(void **state)
{
    (void)state;
    uint64_t seed = SEED;
    struct steady steady;
    series_make(SERIES_NORMAL, 0.0, &seed, values, COUNT);
    for (size_t i = 0; i < COUNT * 52 / 100; i++)
        values[i] -= 20.0;
    steady_find(values, COUNT, 1, &steady);
    assert_int_equal(steady.start, COUNT / 10 * 5);
    assert_false(steady.settled);
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
        cmocka_unit_test(says_what_did_not_settle),
        cmocka_unit_test(short_series_are_left_alone),
        cmocka_unit_test(finds_a_drift),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
