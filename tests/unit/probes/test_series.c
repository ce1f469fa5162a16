/* What is kept of a round's samples, and what rounds show together. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "probes/series.h"

/* Returns count values evenly from low to high, in another order; owned. */
static struct probe_series evenly(size_t count, double low, double high)
{
    struct probe_series series;
    double *us = malloc(count * sizeof *us);
    assert_non_null(us);
    for (size_t i = 0; i < count; i++)
        us[i] = low + (high - low) * (double)(i * 7919 % count) / (double)(count - 1);
    probe_series_make(us, count, &series);
    return series;
}

static double quantile(const struct probe_series *rounds, unsigned count, double share)
{
    double us;
    assert_int_equal(probe_series_quantile(rounds, count, share, &us), STATUS_OK);
    return us;
}

static void few_samples_are_all_kept(void **unused)
{
    (void)unused;
    double values[] = {5, 1, 4, 2, 3}, even[] = {4, 1, 3, 2};
    struct probe_series odd, four, none;
    probe_series_make(values, 5, &odd);
    probe_series_make(even, 4, &four);
    probe_series_make(NULL, 0, &none);
    assert_true(odd.count == 5 && odd.samples == 5 && odd.scale == 1);
    assert_true(odd.median_us == 3 && odd.mean_us == 3 && odd.longest_us == 5);
    assert_true(four.median_us == 2.5);
    assert_true(isnan(odd.low_us) && isnan(odd.high_us));
    assert_true(quantile(&odd, 1, 0.99) == 5 && quantile(&odd, 1, 0.2) == 1);
    assert_true(quantile(&odd, 1, 0.21) == 2 && quantile(&odd, 1, 1) == 5);
    assert_true(quantile(&odd, 1, 0.5) == 3 && quantile(&four, 1, 0.5) == 2.5);
    assert_true(none.count == 0 && none.us == NULL);
    assert_true(isnan(quantile(&none, 1, 0.5)) && isnan(quantile(&none, 1, 1)));
    const struct probe_series both[] = {none, four};
    assert_true(quantile(both, 2, 0.5) == 2.5);
}

/* What is left out changes no number but quantiles, and those by less than their rank. */
static void of_many_a_thousand_are_kept(void **unused)
{
    (void)unused;
    struct probe_series series = evenly(100001, 0, 1000);
    assert_int_equal(series.samples, 100001);
    assert_int_equal(series.count, PROBE_KEPT);
    assert_true(series.median_us == 500 && series.longest_us == 1000);
    assert_true(fabs(series.mean_us - 500) < 1e-6);
    assert_true(series.low_us > 495 && series.low_us < 500);
    assert_true(series.high_us > 500 && series.high_us < 505);
    for (size_t i = 1; i < series.count; i++)
        assert_true(series.us[i] > series.us[i - 1]);
    for (double share = 0.01; share < 0.995; share += 0.01)
        assert_true(fabs(quantile(&series, 1, share) - 1000 * share) <= 1000.0 / PROBE_KEPT);
    assert_true(quantile(&series, 1, 1) == 1000);
    free(series.us);
}

/* Each round has the weight of its samples, and not of those that were kept. */
static void rounds_count_by_their_samples(void **unused)
{
    (void)unused;
    struct probe_series rounds[] = {evenly(90000, 0, 10), evenly(10000, 20, 30)};
    assert_true(fabs(quantile(rounds, 2, 0.45) - 5) < 0.02);
    assert_true(quantile(rounds, 2, 0.89) < 10 && quantile(rounds, 2, 0.91) > 20);
    assert_true(fabs(quantile(rounds, 2, 0.95) - 25) < 0.05);
    rounds[1].scale = 0.1;
    assert_true(quantile(rounds, 2, 1) == 10);
    rounds[1].scale = 1;
    rounds[0].scale = 10;
    assert_true(quantile(rounds, 2, 1) == 100);
    free(rounds[0].us);
    free(rounds[1].us);
}

static void set_samples(const struct probe_shm *shm, unsigned process, unsigned metric,
                        uint64_t count, uint64_t ns)
{
    struct probe_shm_process *part = probe_shm_process(shm, process);
    for (uint64_t i = 0; i < count && i < PROBE_SAMPLES; i++)
        part->samples_ns[metric][i] = ns;
    atomic_store(&part->counts[metric], count);
}

static void samples_of_all_processes_are_taken_and_what_is_missing_is_counted(void **unused)
{
    (void)unused;
    struct probe_shm shm = PROBE_SHM_NONE;
    struct probe_series series;
    assert_int_equal(probe_shm_create(2, &shm), STATUS_OK);
    set_samples(&shm, 0, 1, 3, 1000);
    set_samples(&shm, 1, 1, 2, 4000);
    assert_int_equal(probe_series_take(&shm, 1, &series), STATUS_OK);
    assert_true(series.samples == 5 && series.dropped == 0 && series.count == 5);
    assert_true(series.median_us == 1 && series.longest_us == 4);
    free(series.us);
    set_samples(&shm, 1, 1, PROBE_SAMPLES + 7, 4000);
    assert_int_equal(probe_series_take(&shm, 1, &series), STATUS_OK);
    assert_true(series.samples == PROBE_SAMPLES + 3 && series.dropped == 7);
    assert_true(series.median_us == 4 && series.count == PROBE_KEPT);
    free(series.us);
    assert_int_equal(probe_series_take(&shm, 0, &series), STATUS_OK);
    assert_true(series.samples == 0 && series.us == NULL);
    probe_shm_release(&shm);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_samples_are_all_kept),
        cmocka_unit_test(of_many_a_thousand_are_kept),
        cmocka_unit_test(rounds_count_by_their_samples),
        cmocka_unit_test(samples_of_all_processes_are_taken_and_what_is_missing_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
