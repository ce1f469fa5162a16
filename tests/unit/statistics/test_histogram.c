#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "statistics/histogram.h"
#include "tests/unit/statistics/series.h"

static struct histogram a, b;

static void clear_both(void)
{
    memset(&a, 0, sizeof a);
    memset(&b, 0, sizeof b);
}

static void empty_has_no_values(void **state)
{
    (void)state;
    clear_both();
    assert_true(histogram_quantile_ns(&a, 0.5) == 0.0);
    assert_true(histogram_mean_ns(&a) == 0.0);
}

static void one_value_is_every_quantile(void **state)
{
    (void)state;
    clear_both();
    histogram_record(&a, 123456789);
    for (int i = 0; i <= 10; i++)
        assert_true(histogram_quantile_ns(&a, i / 10.0) == 123456789.0);
    assert_true(histogram_mean_ns(&a) == 123456789.0);
}

/* Each value, reported as its bucket's middle, is within 1/128 of itself. */
static void error_is_bounded(void **state)
{
    (void)state;
    for (uint64_t value = 1; value < UINT64_C(1) << 39; value += value / 37 + 1) {
        clear_both();
        histogram_record(&a, value);
        histogram_record(&a, value);
        histogram_record(&a, UINT64_C(1) << 39); /* keeps max from clamping */
        a.min_ns = 0;                            /* nor min */
        double got = histogram_quantile_ns(&a, 0.5);
        double error = (got > (double)value ? got - (double)value : (double)value - got);
        assert_true(error <= (double)value / 128.0);
    }
}

static void buckets_adjoin_and_never_run_over(void **state)
{
    (void)state;
    unsigned last = 0;
    for (uint64_t value = 0; value < 100000; value++) {
        unsigned bucket = histogram_bucket(value);
        assert_true(bucket == last || bucket == last + 1);
        last = bucket;
    }
    for (unsigned bit = 0; bit < 64; bit++) {
        assert_true(histogram_bucket(UINT64_C(1) << bit) < HISTOGRAM_BUCKETS);
        assert_true(histogram_bucket((UINT64_C(1) << bit) - 1) < HISTOGRAM_BUCKETS);
    }
    assert_int_equal(histogram_bucket(UINT64_MAX), HISTOGRAM_BUCKETS - 1);
    assert_int_equal(histogram_bucket((UINT64_C(1) << HISTOGRAM_MAX_BITS) - 1),
                     HISTOGRAM_BUCKETS - 1);
}

static void quantiles_of_a_known_series(void **state)
{
    (void)state;
    clear_both();
    for (uint64_t i = 1; i <= 100000; i++)
        histogram_record(&a, i * 1000);
    const double shares[] = {0.01, 0.5, 0.9, 0.99, 0.999};
    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++) {
        double exact = shares[i] * 1e8;
        double got = histogram_quantile_ns(&a, shares[i]);
        assert_true(got > exact * 0.992 && got < exact * 1.008);
    }
    assert_true(histogram_quantile_ns(&a, 1.0) == 1e8);
    assert_true(histogram_mean_ns(&a) == 50000500.0);
}

static void merged_is_as_recorded_together(void **state)
{
    (void)state;
    static struct histogram together;
    clear_both();
    memset(&together, 0, sizeof together);
    unsigned seed = 7;
    for (int i = 0; i < 10000; i++) {
        uint64_t value = (uint64_t)rand_r(&seed) * 17;
        histogram_record(i % 3 ? &a : &b, value);
        histogram_record(&together, value);
    }
    histogram_merge(&a, &b);
    assert_memory_equal(&a, &together, sizeof a);
    static const struct histogram empty;
    histogram_merge(&a, &empty);
    assert_memory_equal(&a, &together, sizeof a);
}

/* A worker of short iterations fills one bucket, and the rounds of many workers are added up. */
static void a_bucket_holds_more_than_32_bits(void **state)
{
    (void)state;
    clear_both();
    for (int i = 0; i < 6; i++)
        histogram_record(&a, 65);
    histogram_record(&a, 1000000);
    for (int i = 0; i < 30; i++) {
        b = a;
        histogram_merge(&a, &b);
    }
    assert_true(a.count == UINT64_C(7) << 30);
    assert_true(histogram_quantile_ns(&a, 0.5) == 65.0);
    assert_true(histogram_quantile_ns(&a, 0.9) > 990000.0);
    double share, time_share;
    histogram_above(&a, 1000.0, &share, &time_share);
    assert_true(fabs(share - 1.0 / 7.0) < 1e-9);
}

enum shape { NORMAL, EXPONENTIAL, LOGNORMAL, BIMODAL, UNIFORM, SHAPES };

/* A duration in nanoseconds. */
static uint64_t draw(enum shape shape, uint64_t *seed)
{
    switch (shape) {
    case NORMAL:
        return (uint64_t)fmax(0.0, 5e6 + 1e6 * series_normal(seed));
    case EXPONENTIAL:
        return (uint64_t)(3e5 * series_exponential(seed));
    case LOGNORMAL:
        return (uint64_t)exp(15.0 + 1.5 * series_normal(seed));
    case BIMODAL:
        return (uint64_t)(series_uniform(seed) < 0.97 ? 1e6 + 1e3 * series_uniform(seed)
                                                      : 2e9 * series_uniform(seed));
    default:
        return (uint64_t)(2000.0 * series_uniform(seed));
    }
}

static int by_size(const void *left, const void *right)
{
    uint64_t x = *(const uint64_t *)left, y = *(const uint64_t *)right;
    return (x > y) - (x < y);
}

static const double quantiles[] = {0.1, 0.5, 0.9, 0.99, 0.999};
#define QUANTILES (sizeof quantiles / sizeof quantiles[0])

/* Against the exact value: the sorted sample of that rank. */
static void quantiles_are_within_a_128th(void **state)
{
    (void)state;
    enum { SAMPLES = 20000 };
    static uint64_t samples[SAMPLES];
    for (enum shape shape = 0; shape < SHAPES; shape++) {
        uint64_t seed = UINT64_C(88172645463325252);
        clear_both();
        for (size_t i = 0; i < SAMPLES; i++) {
            samples[i] = draw(shape, &seed);
            histogram_record(&a, samples[i]);
        }
        qsort(samples, SAMPLES, sizeof samples[0], by_size);
        for (size_t i = 0; i < QUANTILES; i++) {
            double exact = (double)samples[(size_t)ceil(quantiles[i] * SAMPLES) - 1];
            double got = histogram_quantile_ns(&a, quantiles[i]);
            assert_true(fabs(got - exact) <= exact / 128.0);
        }
    }
}

/* The quantile of the whole distribution, known well, lies within the bounds of 95% of samples. */
static void bounds_cover_the_quantile(void **state)
{
    (void)state;
    enum { RUNS = 2000 };
    static const struct {
        double share;
        unsigned samples;
    } rows[] = {{0.5, 100}, {0.5, 1000}, {0.9, 200}, {0.99, 1000}, {0.999, 5000}};
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        uint64_t seed = UINT64_C(88172645463325252);
        double truth = -log1p(-rows[row].share) * 3e5;
        int covered = 0;
        for (int run = 0; run < RUNS; run++) {
            double low, high;
            memset(&a, 0, sizeof a);
            for (unsigned i = 0; i < rows[row].samples; i++)
                histogram_record(&a, draw(EXPONENTIAL, &seed));
            assert_true(
                histogram_quantile_bounds(&a, rows[row].share, (double)a.count, &low, &high));
            double value = histogram_quantile_ns(&a, rows[row].share);
            assert_true(low <= value && value <= high);
            covered += low <= truth && truth <= high;
        }
        print_message("p%g of %u: %.1f%%\n", 100.0 * rows[row].share, rows[row].samples,
                      100.0 * covered / RUNS);
        /* Ranks are whole numbers and buckets have a width: more than 95%, never less. */
        assert_true(covered >= 94 * RUNS / 100);
        assert_true(covered <= 99 * RUNS / 100);
    }
}

static void no_bounds_without_the_samples(void **state)
{
    (void)state;
    double low = -1.0, high = -1.0;
    clear_both();
    assert_false(histogram_quantile_bounds(&a, 0.5, (double)a.count, &low, &high));
    for (unsigned i = 1; i <= 3687; i++)
        histogram_record(&a, i);
    assert_false(histogram_quantile_bounds(&a, 0.999, (double)a.count, &low, &high));
    assert_true(low == -1.0 && high == -1.0);
    histogram_record(&a, 3688);
    assert_true(histogram_quantile_bounds(&a, 0.999, (double)a.count, &low, &high));
    assert_true(high == 3688.0);
}

static void counts_what_is_far_above(void **state)
{
    (void)state;
    double share, time_share;
    clear_both();
    histogram_above(&a, 5.0, &share, &time_share);
    assert_true(share == 0.0 && time_share == 0.0);
    for (int i = 0; i < 990; i++)
        histogram_record(&a, 1000);
    for (int i = 0; i < 10; i++)
        histogram_record(&a, 100000);
    histogram_above(&a, 5000.0, &share, &time_share);
    assert_true(fabs(share - 0.01) < 1e-9);
    assert_true(fabs(time_share - 1e6 / 1.99e6) < 0.01);
    histogram_above(&a, 200000.0, &share, &time_share);
    assert_true(share == 0.0 && time_share == 0.0);
}

static void what_never_came_is_later_than_all(void **state)
{
    double low, high;
    (void)state;
    clear_both();
    for (uint64_t i = 0; i < 990; i++)
        histogram_record(&a, 1000000 + i);
    histogram_add_never(&a, 10);
    assert_false(histogram_is_never(&a, histogram_quantile_ns(&a, 0.99)));
    assert_true(histogram_quantile_ns(&a, 0.99) < 1010000.0);
    assert_true(histogram_is_never(&a, histogram_quantile_ns(&a, 0.991)));
    assert_true(histogram_quantile_bounds(&a, 0.99, 1000.0, &low, &high));
    assert_false(histogram_is_never(&a, low));
    assert_true(histogram_is_never(&a, high));
    /* One that took so long came. */
    histogram_record(&b, UINT64_C(1) << HISTOGRAM_MAX_BITS);
    assert_false(histogram_is_never(&b, histogram_quantile_ns(&b, 0.5)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_has_no_values),
        cmocka_unit_test(one_value_is_every_quantile),
        cmocka_unit_test(error_is_bounded),
        cmocka_unit_test(buckets_adjoin_and_never_run_over),
        cmocka_unit_test(quantiles_of_a_known_series),
        cmocka_unit_test(merged_is_as_recorded_together),
        cmocka_unit_test(a_bucket_holds_more_than_32_bits),
        cmocka_unit_test(quantiles_are_within_a_128th),
        cmocka_unit_test(bounds_cover_the_quantile),
        cmocka_unit_test(no_bounds_without_the_samples),
        cmocka_unit_test(counts_what_is_far_above),
        cmocka_unit_test(what_never_came_is_later_than_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
