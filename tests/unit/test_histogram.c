#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "common/histogram.h"

static struct histogram a, b;

static void clear_both(void)
{
    histogram_clear(&a);
    histogram_clear(&b);
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
    histogram_clear(&together);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_has_no_values),
        cmocka_unit_test(one_value_is_every_quantile),
        cmocka_unit_test(error_is_bounded),
        cmocka_unit_test(buckets_adjoin_and_never_run_over),
        cmocka_unit_test(quantiles_of_a_known_series),
        cmocka_unit_test(merged_is_as_recorded_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
