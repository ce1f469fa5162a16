#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "statistics/statistics.h"
#include "common/text.h"

static void values_are_sorted(void **state)
{
    (void)state;
    double values[] = {3.0, -1.0, INFINITY, 2.5, -1.0, 0.0};
    statistics_sort(values, 6);
    for (size_t i = 1; i < 6; i++)
        assert_true(values[i - 1] <= values[i]);
    assert_true(values[0] == -1.0 && values[4] == 3.0);
    assert_true(statistics_median(values, 6) == 1.25 && statistics_median(values, 5) == 0.0);
}

/* Student's t, 0.975, from printed tables. */
static void t_matches_the_tables(void **state)
{
    (void)state;
    static const struct {
        size_t degrees;
        double value;
    } table[] = {{1, 12.706}, {2, 4.303},  {3, 3.182},  {5, 2.571},  {6, 2.447},   {8, 2.306},
                 {10, 2.228}, {20, 2.086}, {31, 2.040}, {60, 2.000}, {120, 1.980}, {1000, 1.962}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        double got = statistics_t975(table[i].degrees);
        assert_true(fabs(got - table[i].value) < 0.001 * table[i].value);
    }
}

static void interval_of_known_values(void **state)
{
    (void)state;
    const double values[] = {9.0, 10.0, 11.0, 10.0};
    /* s = 0.8165, s / sqrt(4) = 0.40825, t(3) = 3.1824 */
    assert_true(fabs(statistics_ci95_rel(values, 4) - 0.129923) < 1e-4);
    assert_true(isinf(statistics_ci95_rel(values, 1)));
    const double zeros[] = {0.0, 0.0};
    assert_true(isinf(statistics_ci95_rel(zeros, 2)));
}

static double uniform(unsigned *seed)
{
    return (rand_r(seed) + 0.5) / ((double)RAND_MAX + 1.0);
}

/* Of many intervals of independent normal samples, 95% hold the true mean. */
static void interval_covers_the_mean(void **state)
{
    (void)state;
    unsigned seed = 1;
    int covered = 0;
    enum { RUNS = 20000, SAMPLES = 32 };
    for (int run = 0; run < RUNS; run++) {
        double values[SAMPLES];
        for (int i = 0; i < SAMPLES; i++)
            values[i] =
                100.0 + 5.0 * sqrt(-2.0 * log(uniform(&seed))) * cos(2.0 * M_PI * uniform(&seed));
        double mean = statistics_mean(values, SAMPLES);
        covered += fabs(mean - 100.0) <= statistics_ci95_rel(values, SAMPLES) * mean;
    }
    assert_in_range(covered, (int)(0.943 * RUNS), (int)(0.957 * RUNS));
}

/* From tables of the binomial distribution. */
static void ranks_of_known_quantiles(void **state)
{
    (void)state;
    static const struct {
        double share;
        uint64_t count, lower, upper; /* 0: none */
    } rows[] = {
        {0.5, 5, 0, 0},        {0.5, 6, 1, 6},      {0.5, 10, 2, 9},           {0.5, 100, 40, 61},
        {0.9, 35, 0, 0},       {0.9, 36, 29, 36},   {0.1, 36, 1, 8},           {0.99, 367, 0, 0},
        {0.99, 368, 360, 368}, {0.999, 3687, 0, 0}, {0.999, 3688, 3680, 3688}, {0.5, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint64_t lower = 0, upper = 0;
        bool told = statistics_rank_bounds(rows[i].count, rows[i].share, &lower, &upper);
        assert_int_equal(told, rows[i].upper > 0);
        assert_int_equal(lower, rows[i].lower);
        assert_int_equal(upper, rows[i].upper);
    }
    uint64_t lower, upper;
    assert_true(statistics_rank_bounds(1000000000, 0.5, &lower, &upper));
    assert_in_range(500000000 - lower, 30980, 31000);
    assert_in_range(upper - 500000000, 30980, 31000);
}

static void fairness(void **state)
{
    (void)state;
    const double even[] = {3, 3, 3}, one[] = {0, 5, 0, 0}, none[] = {0, 0};
    assert_true(fabs(statistics_jain(even, 3) - 1.0) < 1e-12);
    assert_true(fabs(statistics_jain(one, 4) - 0.25) < 1e-12);
    assert_true(statistics_jain(none, 2) == 0.0);
}

static void text_for_people(void **state)
{
    (void)state;
    char text[32];
    assert_string_equal(text_duration(45.2, text, sizeof text), "45 s");
    assert_string_equal(text_duration(200, text, sizeof text), "3 min 20 s");
    assert_string_equal(text_duration(7500, text, sizeof text), "2 h 5 min");
    assert_string_equal(text_number(19058.4, text, sizeof text), "19058");
    assert_string_equal(text_number(286.44, text, sizeof text), "286.4");
    assert_string_equal(text_number(3.5166, text, sizeof text), "3.517");
    assert_int_equal(text_columns("P×T ±1"), 6);
    assert_string_equal(text_shortened("seven !", text, 8), "seven !");
    assert_string_equal(text_shortened("eightlet", text, 8), "ei...et");
    assert_string_equal(text_shortened("abcdefghijkl", text, 8), "ab...kl");
    assert_string_equal(text_shortened("abcdefghijkl", text, 9), "abc...kl");
    assert_string_equal(text_shortened("\033[1m", text, 16), "?[1m");
    assert_string_equal(text_shortened("\033[1mabcdef\007", text, 8), "?[...f?");
    struct text cut = {.at = text, .size = 4};
    text_append(&cut, "%s", "abcdef");
    text_append(&cut, "%s", "gh");
    assert_string_equal(text, "abc");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_sorted),
        cmocka_unit_test(t_matches_the_tables),
        cmocka_unit_test(interval_of_known_values),
        cmocka_unit_test(interval_covers_the_mean),
        cmocka_unit_test(fairness),
        cmocka_unit_test(ranks_of_known_quantiles),
        cmocka_unit_test(text_for_people),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
