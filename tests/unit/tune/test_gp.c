/* A Gaussian process, against what can be computed by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "orchestrator/tune/search/gp.h"

#define CLOSE 1e-9

static void assert_close(double value, double expected)
{
    if (fabs(value - expected) > CLOSE)
        fail_msg("%.12f is not %.12f", value, expected);
}

/* Two points, one number apart, and a class that is equal. */
static const struct gp_point points[] = {
    {.mean = 1.0, .sd = 0.2, .features = {0.0, 7.0}},
    {.mean = 2.0, .sd = 0.4, .features = {1.0, 7.0}},
};
static const struct gp_hyperparameters hyper = {.numbers = 1,
                                                .features = 2,
                                                .class_step = 1.0,
                                                .interaction_share = 0.07,
                                                .level = 0.3,
                                                .signal_scale = 1.0,
                                                .length_scale = 1.0};

static struct gp *make(const struct gp_hyperparameters *with)
{
    struct gp *gp = NULL;
    assert_int_equal(gp_new(points, 2, with, 4, &gp), STATUS_OK);
    return gp;
}

/* Of unit variance: each feature by itself 0.9, half of it for the number as 1 / (1 + 1); all of
 * them together 0.07 exp(-1). */
static double covariance(void)
{
    double correlation = 0.9 * (0.5 + 1.0) / 2.0 + 0.07 * exp(-1.0);
    return 0.3 * 0.3 + 0.2 * 0.4 * correlation;
}

static void test_before_any_measurement(void **state)
{
    (void)state;
    struct gp *gp = make(&hyper);
    assert_close(gp_mean(gp, 0), 1.0);
    assert_close(gp_sd(gp, 1), hypot(0.3, 0.4));
    double between = 0.3 * 0.3 + 0.2 * 0.2 + 0.3 * 0.3 + 0.4 * 0.4 - 2.0 * covariance();
    assert_close(gp_sd_between(gp, 0, 1), sqrt(between));
    gp_free(gp);
}

/* The conditional of two normal numbers. */
static void test_one_measurement(void **state)
{
    (void)state;
    struct gp *gp = make(&hyper);
    double variance = 0.3 * 0.3 + 0.2 * 0.2, seen = variance + 0.1 * 0.1;
    gp_observe(gp, 0, false, 1.5, 0.1);
    assert_close(gp_mean(gp, 0), 1.0 + variance / seen * 0.5);
    assert_close(gp_sd(gp, 0), sqrt(variance - variance * variance / seen));
    assert_close(gp_mean(gp, 1), 2.0 + covariance() / seen * 0.5);
    assert_close(gp_sd(gp, 1), sqrt(0.3 * 0.3 + 0.4 * 0.4 - covariance() * covariance() / seen));
    assert_close(gp_log_likelihood(gp), -0.5 * 0.25 / seen - 0.5 * log(seen));
    gp_free(gp);
}

/* The mean of two windows of a point, each with its variance, is one window. */
static void test_two_windows_are_one_longer_window(void **state)
{
    (void)state;
    struct gp *two = make(&hyper), *one = make(&hyper);
    gp_observe(two, 0, false, 1.2, 0.1);
    gp_observe(two, 0, false, 1.5, 0.2);
    double a = 1.0 / (0.1 * 0.1), b = 1.0 / (0.2 * 0.2);
    gp_observe(one, 0, false, (1.2 * a + 1.5 * b) / (a + b), sqrt(1.0 / (a + b)));
    for (size_t i = 0; i < 2; i++) {
        assert_close(gp_mean(two, i), gp_mean(one, i));
        assert_close(gp_sd(two, i), gp_sd(one, i));
    }
    gp_free(two);
    gp_free(one);
}

static void test_what_is_supposed_is_taken_back(void **state)
{
    (void)state;
    struct gp *gp = make(&hyper);
    gp_observe(gp, 0, false, 1.2, 0.1);
    double mean = gp_mean(gp, 1), sd = gp_sd(gp, 1), likelihood = gp_log_likelihood(gp);
    size_t rows = gp_rows(gp);
    gp_condition_on_mean(gp, 1, 0.05);
    assert_true(gp_sd(gp, 1) < 0.05);
    assert_close(gp_mean(gp, 1), mean);
    gp_forget(gp, rows);
    assert_close(gp_sd(gp, 1), sd);
    assert_close(gp_log_likelihood(gp), likelihood);
    gp_free(gp);
}

/* Rounds may be off against windows by the same share: only their differences count. */
static void test_shifted_measurements(void **state)
{
    (void)state;
    struct gp_hyperparameters shifted = hyper;
    shifted.shift = 10.0;
    struct gp *gp = make(&shifted);
    gp_observe(gp, 0, false, 1.0, 0.01);
    gp_observe(gp, 0, true, 4.0, 0.01);
    gp_observe(gp, 1, true, 5.0, 0.01);
    assert_true(fabs(gp_mean(gp, 0) - 1.0) < 0.02);
    assert_true(fabs(gp_mean(gp, 1) - 2.0) < 0.03);
    gp_free(gp);
}

static void test_no_row_is_left(void **state)
{
    (void)state;
    struct gp *gp = make(&hyper);
    for (int i = 0; i < 4; i++)
        gp_observe(gp, 0, false, 1.0, 0.1);
    double mean = gp_mean(gp, 0);
    gp_observe(gp, 0, false, 9.0, 0.1);
    assert_close(gp_mean(gp, 0), mean);
    gp_free(gp);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_before_any_measurement),
        cmocka_unit_test(test_one_measurement),
        cmocka_unit_test(test_two_windows_are_one_longer_window),
        cmocka_unit_test(test_what_is_supposed_is_taken_back),
        cmocka_unit_test(test_shifted_measurements),
        cmocka_unit_test(test_no_row_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
